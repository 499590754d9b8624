"""Planners by name.  Those that use a language model are imported only when chosen."""

from __future__ import annotations

import importlib
from typing import Any

from rpent_ros.cerebrums.base import Cerebrum
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.cerebrums.recipe import load
from rpent_ros.cerebrums.scripted import ScriptedCerebrum
from rpent_ros.errors import InvalidRequest

SCRIPTED = 'scripted'
# Module and class of each planner that uses a language model.
_LLM = {
    'api': ('rpent_ros.cerebrums.api', 'ApiCerebrum'),
    'mcp': ('rpent_ros.cerebrums.mcp', 'McpCerebrum'),
}


def known_cerebrums() -> tuple[str, ...]:
    """Names that `make_cerebrum` accepts."""
    return (SCRIPTED, *_LLM)


def check_name(name: str) -> None:
    """Refuse a planner that does not exist.

    Raises:
      InvalidRequest: the message lists the known ones.
    """
    if name not in known_cerebrums():
        raise InvalidRequest(
            f'unknown cerebrum {name!r}; known cerebrums: {", ".join(known_cerebrums())}'
        )


def check_ready(name: str, llm: LlmOptions) -> None:
    """Refuse a planner that cannot work here, before anything is started for it.

    Raises:
      InvalidRequest: there is no such planner.
      LlmNoKey, LlmUnknownModel, LlmNotInstalled: what is missing, and how to get it.
    """
    check_name(name)
    if name in _LLM:
        _module(name).check_ready(llm)


def make_cerebrum(
    name: str,
    *,
    instruction: str = '',
    recipe: str = '',
    llm: LlmOptions | None = None,
    robot: str = '',
    namespace: str = '',
) -> Cerebrum:
    """Build a planner.

    Args:
      name: one of `known_cerebrums`.
      instruction: sentence to carry out; '' for the task's own.  Planners that use a language
        model read it in their prompts.
      recipe: recipe file to play; '' for none.
      llm: the language model; None: the planner's default.
      robot: robot package, by which MCP clients find the graph.
      namespace: its ROS namespace, likewise.

    Raises:
      InvalidRequest: unknown name; the message lists the known ones.
      BadRecipe: the recipe cannot be read.
      RpentError: as `check_ready`.
    """
    check_name(name)
    if name == SCRIPTED:
        return ScriptedCerebrum(instruction, load(recipe) if recipe else None)
    llm = llm or LlmOptions()
    module = _module(name)
    module.check_ready(llm)
    where = {'robot': robot, 'namespace': namespace} if name == 'mcp' else {}
    made: Cerebrum = getattr(module, _LLM[name][1])(llm, **where)
    return made


def _module(name: str) -> Any:
    return importlib.import_module(_LLM[name][0])
