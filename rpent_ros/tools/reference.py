"""docs/tools.md, made from the definitions: `python -m rpent_ros.tools.reference`."""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rpent_ros import errors
from rpent_ros.errors import ErrorCode
from rpent_ros.tools.definition import ToolDefinition

PATH = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'tools.md'
ROBOT = 'libero'

# Keys that every tool's answer may have, beside its own.
COMMON_RESULTS = {
    'ok': 'true if the tool did what was asked',
    'code': 'name of the code, OK or why not',
    'message': 'one sentence: what was expected, what came, what to do; empty if all is well',
    'seconds': 'wall-clock time of the call [s]',
    'seen': 'in text-only mode, in the place of pictures: things that stand out, as '
    'query_world_map lists them',
    'hint': 'what to try, where the numbers alone do not say it',
    'images': 'pictures that come with the answer: camera, width and height [px]',
}
# Codes that every tool may answer with: the call is wrong, or a component has failed.
COMMON_CODES = (
    ErrorCode.BAD_ARGUMENTS,
    ErrorCode.UNKNOWN_TOOL,
    ErrorCode.TOOL_BUSY,
    ErrorCode.TURN_LIMIT,
    ErrorCode.TIME_LIMIT,
    ErrorCode.TIMEOUT,
    ErrorCode.UNAVAILABLE,
    ErrorCode.PEER_DIED,
    ErrorCode.ROBOT_FAILED,
    ErrorCode.RENDER_FAILED,
    ErrorCode.BAD_OUTPUT_DIR,
    ErrorCode.UNKNOWN,
)
_UNIT = re.compile(r'\s*\[([^\[\],]+)\]')
_INTRODUCTION = """\
# Tools

<!-- Made from rpent_ros/tools/definitions by `python -m rpent_ros.tools.reference`. -->

What a planner can call, shown for the LIBERO robot.  Lengths are metres, angles radians, positions
in the robot's base frame, pixels `[row, column]` from the top left.  Arguments are checked before
anything moves: unknown names, wrong types, wrong lengths, values out of range and numbers that are
not finite are refused with `BAD_ARGUMENTS` and a sentence.  Tolerances, gains, limits and success
criteria are parameters of the robot and of its driver; no argument changes them.

Tools that move or end the run take turns; the others may be called while a motion runs.  A tool
that moves answers when the motion has ended, and its answer holds the new state and one picture
per camera.
"""


def reference(tools: Sequence[ToolDefinition]) -> str:
    """The page as Markdown."""
    parts = [
        _INTRODUCTION,
        _table(('tool', 'effect', 'what it does'), (
            (f'[`{tool.name}`](#{tool.name})', tool.effect.value, _first(tool.description))
            for tool in tools
        )),
        '## Every answer\n',
        _results(COMMON_RESULTS),
        *[part for tool in tools for part in _section(tool)],
        '## Codes\n',
        'Every tool may answer with ' + ', '.join(f'`{code.name}`' for code in COMMON_CODES)
        + '.\n',
        _table(('code', 'number', 'meaning'), (
            (f'`{code.name}`', str(int(code)), _meaning(code)) for code in _codes(tools)
        )),
    ]  # fmt: skip
    return '\n'.join(parts)


def _section(tool: ToolDefinition) -> list[str]:
    out = [f'## {tool.name}\n', f'{_escaped(tool.description)}\n']
    if tool.arguments:
        out.append(_table(('argument', 'type', 'unit', 'range', 'default', 'meaning'), (
            row for name, given in tool.arguments.items() for row in _arguments(name, given)
        )))  # fmt: skip
    else:
        out.append('No arguments.\n')
    if tool.results:
        out.append(_results(tool.results))
    if tool.codes:
        out.append('Codes: ' + ', '.join(f'`{code.name}`' for code in tool.codes) + '.\n')
    return out


def _arguments(name: str, given: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """One row for an argument, and one for each key of an object."""
    text, unit = _split_unit(given.get('description', ''))
    default = _shown(given['default']) if 'default' in given else 'required'
    yield f'`{name}`', _type(given), unit, _range(given), default, text
    for key, inner in given.get('properties', {}).items():
        required = key in given.get('required', ())
        extra = {} if required else {'default': inner.get('default')}
        yield from _arguments(f'{name}.{key}', {**inner, **extra})


def _results(results: Any) -> str:
    return _table(('result', 'unit', 'meaning'), (
        (f'`{key}`', unit, text)
        for key, meaning in results.items()
        for text, unit in (_split_unit(meaning),)
    ))  # fmt: skip


def _split_unit(text: str) -> tuple[str, str]:
    """A description without its unit, and the unit; several units stay where they are."""
    found = _UNIT.findall(text)
    if len(found) != 1:
        return text, ''
    return _UNIT.sub('', text), found[0]


def _type(given: dict[str, Any]) -> str:
    kinds = given['type'] if isinstance(given['type'], list) else [given['type']]
    words = []
    for kind in kinds:
        if kind == 'array':
            low, high = given.get('minItems', 0), given.get('maxItems', 'any')
            count = str(low) if low == high else f'{low} to {high}'
            words.append(f'list of {count} {_type(given["items"])}')
        else:
            words.append(str(kind))
    return ' or '.join(words)


def _range(given: dict[str, Any]) -> str:
    if 'enum' in given:
        return ', '.join(str(option) for option in given['enum'] if option is not None)
    parts = []
    for key, word in (
        ('minimum', 'from'), ('exclusiveMinimum', 'above'), ('maximum', 'to'),
    ):  # fmt: skip
        if key in given:
            parts.append(f'{word} {given[key]:.6g}')
    if 'maxLength' in given:
        low = given.get('minLength', 0)
        parts.append(f'{low} to {given["maxLength"]} characters')
    return ' '.join(parts)


def _codes(tools: Sequence[ToolDefinition]) -> list[ErrorCode]:
    used = {code for tool in tools for code in tool.codes} | set(COMMON_CODES)
    return sorted(used)


def _meaning(code: ErrorCode) -> str:
    """First sentence about a code, from its exception class."""
    return (type(errors.from_code(code, '')).__doc__ or '').split('\n', maxsplit=1)[0]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ['---'] * len(head), *rows]
    return ''.join(
        '| ' + ' | '.join(_escaped(cell) for cell in line) + ' |\n' for line in lines
    )


def _first(text: str) -> str:
    return text.split('.  ', maxsplit=1)[0].rstrip('.')


def _shown(value: Any) -> str:
    return {None: 'null', '': "''"}.get(value, str(value))


def _escaped(text: str) -> str:
    return text.replace('|', '\\|').replace('<', '&lt;') if '`' not in text else text


def main(argv: Sequence[str]) -> int:
    """Write docs/tools.md, or the file named, for the LIBERO robot."""
    tools = importlib.import_module(f'robots.{ROBOT}.toolkit').TOOLS
    path = pathlib.Path(argv[0]) if argv else PATH
    path.write_text(reference(tools), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
