"""Recipes: tool calls in a file, one JSON object a line."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Collection, Mapping
from typing import Any

from rpent_ros.errors import BadRecipe

# Written beside each call by a run and ignored when the recipe is played.
_NOTES = frozenset({'turn', 'ok'})
_KEYS = frozenset({'tool', 'arguments'})


@dataclasses.dataclass(frozen=True)
class RecipeCall:
    """One line of a recipe."""

    line: int
    tool: str
    arguments: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The tool calls of one recipe file, in order."""

    path: pathlib.Path
    calls: tuple[RecipeCall, ...]

    def check_tools(self, known: Collection[str]) -> None:
        """Refuse a recipe that names a tool that the robot does not have.

        Raises:
          BadRecipe: naming the line and the known tools.
        """
        for call in self.calls:
            if call.tool not in known:
                raise BadRecipe(
                    f'recipe {self.path}, line {call.line}: unknown tool {call.tool!r}; '
                    f'known tools: {", ".join(known)}'
                )


def load(path: pathlib.Path | str) -> Recipe:
    """Read a recipe.  Empty lines and lines that start with # are skipped.

    Raises:
      BadRecipe: the file cannot be read or a line is not a tool call; the message names the line.
    """
    path = pathlib.Path(path).expanduser()
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise BadRecipe(f'recipe {path} cannot be read: {reason}') from None
    calls = tuple(
        _parse(path, number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith('#')
    )
    if not calls:
        raise BadRecipe(f'recipe {path} is empty; expected one tool call a line')
    return Recipe(path, calls)


def _parse(path: pathlib.Path, number: int, line: str) -> RecipeCall:
    where = f'recipe {path}, line {number}'
    try:
        value = json.loads(line)
    except ValueError as error:
        raise BadRecipe(f'{where}: expected a JSON object, got {line[:40]!r} ({error})') from None
    if not isinstance(value, dict) or not isinstance(value.get('tool'), str):
        raise BadRecipe(
            f'{where}: expected {{"tool": "...", "arguments": {{...}}}}, got {line[:60]}'
        )
    unknown = sorted(set(value) - _KEYS - _NOTES)
    if unknown:
        raise BadRecipe(
            f'{where}: unknown key {unknown[0]!r}; known keys: tool, arguments, ok, turn'
        )
    arguments = value.get('arguments', {})
    if not isinstance(arguments, dict):
        raise BadRecipe(f'{where}: expected arguments as a JSON object, got {arguments!r}')
    return RecipeCall(number, value['tool'], arguments)
