"""What `./rpent ARGS...` does: set up if needed, then become the command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from bootstrap.environment import build_environment
from bootstrap.errors import SetupError
from bootstrap.gl import NO_GL, first_working
from bootstrap.layout import Layout
from bootstrap.progress import Progress
from bootstrap.ros import choose_ros, without_own_entries, without_prefixes
from bootstrap.setup_steps import Setup
from bootstrap.state import SetupState

ROOT = Path(__file__).resolve().parent.parent
USAGE = """\
usage: ./rpent demo | run | test | doctor ...   set up if needed, then the command line
       ./rpent setup                            set up only
       ./rpent exec CMD...                      any command inside the environment
       ./rpent env                              the environment as export lines for a shell

Variables: RPENT_PYTHON  interpreter to make the environment from (CPython 3.10 to 3.13)
           RPENT_VENV    folder of the environment (default: .venv in the checkout)
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
    command, *arguments = argv or ['']
    if not is_ready and command in ('', '-h', '--help'):
        print(USAGE, end='')
        return 0 if command else EXIT_USAGE
    if command in ('setup', 'env') and arguments:
        print(f'rpent: {command} takes no arguments, got {shlex.join(arguments)}', file=sys.stderr)
        return EXIT_USAGE
    if command == 'exec' and not arguments:
        print('rpent: exec needs a command, e.g. ./rpent exec python', file=sys.stderr)
        return EXIT_USAGE
    progress = Progress(sys.stderr, layout.log)
    if choice.notice:
        progress.note(choice.notice)
    if not is_ready or command == 'setup':
        setup = Setup(layout, choice.origin, environ, progress)
        state = setup.run(check_all=command == 'setup')
    elif state.mujoco_gl == NO_GL:
        state.mujoco_gl = first_working()
        if state.mujoco_gl == NO_GL:
            progress.note('no OpenGL driver renders here; ./rpent setup says what to install')
        else:
            state.save(layout.state)
    env = build_environment(layout, choice.origin, state.mujoco_gl, environ)
    if command == 'setup':
        progress.note(f'ready: {layout.venv}')
        return 0
    if command == 'env':
        print(export_lines(env, os.environ), end='')
        return 0
    if command == 'exec':
        return _become(arguments, env)
    return _become([str(layout.python), '-m', 'rpent_ros.cli.main', *argv], env)


def export_lines(env: Mapping[str, str], current: Mapping[str, str]) -> str:
    """Return the shell lines that turn one environment into another, sorted by name."""
    unset = [f'unset {name}\n' for name in sorted(current) if name not in env]
    export = [f'export {name}={shlex.quote(env[name])}\n' for name in sorted(env)
              if env[name] != current.get(name)]
    return ''.join(unset + export)


def _become(command: list[str], env: Mapping[str, str]) -> int:
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        print(f'rpent: {command[0]}: {error.strerror}', file=sys.stderr)
        return EXIT_NOT_FOUND
