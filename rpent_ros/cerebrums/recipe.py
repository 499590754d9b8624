"""Recipes: the tool calls that moved a robot, in a file, one JSON object a line.

A recipe that a run wrote starts with a line of facts, `{"recipe": 1, "robot": "libero", ...}`: the
version of the format, and what the calls were made for.  A call is `{"tool": ..., "arguments":
{...}}` with every default filled in, so it means the same to a later version; `turn`, `ok`, `code`
and `steps` say how it went and are ignored when it is played.  A call without `ok` was under way
when the run was cut off.  People may write recipes by hand, with `#` comments and no facts.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Collection, Mapping
from typing import Any

from rpent_ros import files
from rpent_ros.errors import BadRecipe
from rpent_ros.secrets import SECRETS

FORMAT_VERSION = 1
_HEADER = 'recipe'
# Written beside each call by a run and ignored when the recipe is played.
_NOTES = ('code', 'ok', 'steps', 'turn')
_KEYS = ('tool', 'arguments')


@dataclasses.dataclass(frozen=True)
class RecipeCall:
    """One line of a recipe.

    Attributes:
      line: line number in the file, from 1.
      tool: tool to call.
      arguments: its arguments.
      notes: how it went when the recipe was made: turn, ok, code, steps; empty if unknown.
    """

    line: int
    tool: str
    arguments: Mapping[str, Any]
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One recipe file.

    Attributes:
      path: the file.
      calls: the tool calls, in order.
      facts: what the recipe was made for: robot, suite, task, seed, ...; empty if it does not say.
    """

    path: pathlib.Path
    calls: tuple[RecipeCall, ...]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

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


class RecipeWriter:
    """Writes the recipe of a run.

    The file is replaced after each call, so it is whole at any time: no line is ever torn.

    Args:
      path: the file.
      facts: what the recipe is made for.

    Raises:
      OSError: here and in the methods: the file cannot be written; the one before is untouched.
    """

    def __init__(self, path: pathlib.Path, facts: Mapping[str, Any]) -> None:
        self._path = path
        header = {_HEADER: FORMAT_VERSION, **files.plain(dict(facts))}
        self._lines: list[dict[str, Any]] = [header]
        self._write()

    def begin(self, turn: int, tool: str, arguments: Mapping[str, Any]) -> None:
        """Add a call that is about to be made."""
        self._lines.append({
            'turn': turn, 'tool': tool, 'arguments': files.plain(dict(arguments), exact=True)
        })  # fmt: skip
        self._write()

    def end(self, turn: int, *, code: str, steps: int | None) -> None:
        """Note how a call went.

        Args:
          turn: the call.
          code: name of its error code; OK if it did what was asked.
          steps: control steps that it took; None: unknown.
        """
        line = self._line(turn)
        line['ok'] = code == 'OK'
        if code != 'OK':
            line['code'] = code
        if steps is not None:
            line['steps'] = steps
        self._write()

    def drop(self, turn: int) -> None:
        """Forget a call: it was refused and did nothing."""
        self._lines.remove(self._line(turn))
        self._write()

    def _line(self, turn: int) -> dict[str, Any]:
        return next(line for line in reversed(self._lines) if line.get('turn') == turn)

    def _write(self) -> None:
        lines = SECRETS.redact_all(self._lines)
        text = ''.join(json.dumps(line, allow_nan=False) + '\n' for line in lines)
        files.write_bytes(self._path, text.encode())


def load(path: pathlib.Path | str) -> Recipe:
    """Read a recipe.  Empty lines and lines that start with # are skipped.

    Raises:
      BadRecipe: the file cannot be read, a line is not a tool call, or a newer version wrote it;
        the message names the line.
    """
    path = pathlib.Path(path).expanduser()
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise BadRecipe(f'recipe {path} cannot be read: {reason}') from None
    lines = [
        (number, _object(path, number, line))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith('#')
    ]
    facts: Mapping[str, Any] = {}
    if lines and _HEADER in lines[0][1]:
        facts = _facts(path, *lines.pop(0))
    calls = tuple(_call(path, number, value) for number, value in lines)
    if not calls:
        raise BadRecipe(f'recipe {path} holds no tool call; expected one a line')
    return Recipe(path, calls, facts)


def _object(path: pathlib.Path, number: int, line: str) -> dict[str, Any]:
    where = f'recipe {path}, line {number}'
    try:
        value = json.loads(line)
    except ValueError as error:
        raise BadRecipe(f'{where}: expected a JSON object, got {line[:40]!r} ({error})') from None
    if not isinstance(value, dict):
        raise BadRecipe(
            f'{where}: expected {{"tool": "...", "arguments": {{...}}}}, got {line[:60]}'
        )
    return value


def _facts(path: pathlib.Path, number: int, value: dict[str, Any]) -> Mapping[str, Any]:
    version = value.pop(_HEADER)
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise BadRecipe(
            f'recipe {path}, line {number}: expected format version 1 to {FORMAT_VERSION}, got '
            f'{version!r}; a newer rpent_ros wrote it, so upgrade this one'
        )
    return value


def _call(path: pathlib.Path, number: int, value: dict[str, Any]) -> RecipeCall:
    where = f'recipe {path}, line {number}'
    if not isinstance(value.get('tool'), str):
        raise BadRecipe(
            f'{where}: expected {{"tool": "...", "arguments": {{...}}}}, got '
            f'{json.dumps(value)[:60]}'
        )
    unknown = sorted(set(value) - {*_KEYS, *_NOTES})
    if unknown:
        raise BadRecipe(
            f'{where}: unknown key {unknown[0]!r}; known keys: tool, arguments, '
            f'{", ".join(_NOTES)}'
        )
    arguments = value.get('arguments', {})
    if not isinstance(arguments, dict):
        raise BadRecipe(f'{where}: expected arguments as a JSON object, got {arguments!r}')
    notes = {name: value[name] for name in _NOTES if name in value}
    return RecipeCall(number, value['tool'], arguments, notes)
