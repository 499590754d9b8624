"""The command line: `rpent run | demo | replay | render | mcp | check-llm | ...`.

Without a command the options are those of `run`, as in
`python -m rpent_ros.cli.main --env libero --suite libero_object --task 2 --seed 0`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from rpent_ros import exit_codes

# Command: module with `main(argv) -> exit code`, and what it does.
COMMANDS = {
    'run': ('rpent_ros.cli.run', 'run one task through the whole graph'),
    'demo': ('rpent_ros.cli.demo', 'a LIBERO task, solved before your eyes; needs no GPU, no key'),
    'replay': ('rpent_ros.cli.replay', 'play a run again and compare the states, bit for bit'),
    'render': ('rpent_ros.cli.render', "make episode.mp4 from a run's logged states"),
    'test': ('rpent_ros.cli.test', 'run the tests'),
    'mcp': ('rpent_ros.cli.mcp', 'offer the robot to Claude Code, Cursor or any MCP client'),
    'check-llm': ('rpent_ros.cli.check_llm', 'check that a language model can drive the robot'),
    'doctor': ('rpent_ros.cli.doctor', 'check this machine'),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    0 achieved, 1 ran but not achieved, 2 wrong usage, 3 a component failed, 130 Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ('-h', '--help'):
        print(usage())
        return exit_codes.ACHIEVED if arguments else exit_codes.USAGE
    command, rest = arguments[0], arguments[1:]
    if command.startswith('-'):
        command, rest = 'run', arguments
    if command not in COMMANDS:
        known = ', '.join(COMMANDS)
        print(f'rpent: unknown command {command!r}; known commands: {known}', file=sys.stderr)
        return exit_codes.USAGE
    try:
        code: int = importlib.import_module(COMMANDS[command][0]).main(rest)
    except KeyboardInterrupt:
        print(f'rpent {command}: interrupted', file=sys.stderr)
        return exit_codes.INTERRUPTED
    return code


def usage() -> str:
    """What `rpent --help` prints."""
    lines = [f'  {name:9s} {text}' for name, (_, text) in COMMANDS.items()]
    return '\n'.join([
        'usage: rpent COMMAND [OPTIONS], and rpent COMMAND --help',
        '',
        *lines,
        '',
        'Exit codes: 0 achieved, 1 ran but not achieved, 2 wrong usage, 3 a component failed, '
        '130 Ctrl-C.',
    ])


if __name__ == '__main__':
    sys.exit(main())
