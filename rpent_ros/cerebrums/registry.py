"""Planners by name."""

from __future__ import annotations

from collections.abc import Callable

from rpent_ros.cerebrums.base import Cerebrum
from rpent_ros.cerebrums.recipe import load
from rpent_ros.cerebrums.scripted import ScriptedCerebrum
from rpent_ros.errors import InvalidRequest


def _scripted(instruction: str, recipe: str) -> Cerebrum:
    return ScriptedCerebrum(instruction, load(recipe) if recipe else None)


_MAKERS: dict[str, Callable[[str, str], Cerebrum]] = {'scripted': _scripted}


def known_cerebrums() -> tuple[str, ...]:
    """Names that `make_cerebrum` accepts."""
    return tuple(_MAKERS)


def make_cerebrum(name: str, *, instruction: str = '', recipe: str = '') -> Cerebrum:
    """Build a planner.

    Args:
      name: scripted, ...
      instruction: sentence to carry out; '' for the task's own.
      recipe: recipe file to play; '' for none.

    Raises:
      InvalidRequest: unknown name; the message lists the known ones.
      BadRecipe: the recipe cannot be read.
    """
    if name not in _MAKERS:
        raise InvalidRequest(
            f'unknown cerebrum {name!r}; known cerebrums: {", ".join(known_cerebrums())}'
        )
    return _MAKERS[name](instruction, recipe)
