"""What `./rpent ARGS...` does: set up if needed, then become the command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from bootstrap.environment import build_environment
from bootstrap.errors import SetupError
from bootstrap.layout import Layout
from bootstrap.progress import Progress
from bootstrap.ros import choose_ros, without_own_entries, without_prefixes
from bootstrap.setup_steps import set_up
from bootstrap.state import SetupState

ROOT = Path(__file__).resolve().parent.parent
USAGE = """\
usage: ./rpent demo | run | test | doctor ...   set up if needed, then the command line
       ./rpent setup                            set up only
       ./rpent exec CMD...                      any command inside the environment
       ./rpent env                              the environment as export lines for a shell
"""
EXIT_USAGE = 2
EXIT_FAILED = 3
EXIT_NOT_FOUND = 127
EXIT_INTERRUPTED = 130


def main(argv: list[str]) -> int:
    """Run one command; returns only if it was not replaced by another program."""
    try:
        return _main(argv)
    except SetupError as error:
        print(f'rpent: {error}', file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print('rpent: interrupted; the next call goes on from here', file=sys.stderr)
        return EXIT_INTERRUPTED


def _main(argv: list[str]) -> int:
    environ = without_own_entries(os.environ)
    choice = choose_ros(environ)
    environ = without_prefixes(environ, choice.hidden)
    layout = Layout.of(ROOT, choice.origin, environ)
    state = SetupState.load(layout.state)
    is_ready = state.is_complete(layout, choice.origin)
    if not is_ready and argv in ([], ['-h'], ['--help']):
        print(USAGE, end='')
        return 0 if argv else EXIT_USAGE
    if argv == ['exec']:
        print('rpent: exec: expected a command, e.g. ./rpent exec python', file=sys.stderr)
        return EXIT_USAGE
    progress = Progress(sys.stderr, layout.log)
    if choice.notice:
        progress.note(choice.notice)
    if not is_ready:
        state = set_up(layout, choice.origin, environ, progress)
    env = build_environment(layout, choice.origin, state.mujoco_gl, environ)
    return _become(argv, layout, env)


def _become(argv: list[str], layout: Layout, env: Mapping[str, str]) -> int:
    command = argv[0] if argv else ''
    if command == 'setup':
        print(f'rpent: ready, {layout.venv}', file=sys.stderr)
        return 0
    if command == 'env':
        for name in sorted(env):
            if env[name] != os.environ.get(name):
                print(f'export {name}={shlex.quote(env[name])}')
        return 0
    if command == 'exec':
        try:
            os.execvpe(argv[1], argv[1:], env)
        except OSError as error:
            print(f'rpent: exec: {argv[1]}: {error.strerror}', file=sys.stderr)
            return EXIT_NOT_FOUND
    os.execve(layout.python, [str(layout.python), '-m', 'rpent_ros.cli.main', *argv], env)
