"""`rpent test`: linters, types, then the test suite."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
# pytest's own exit codes: 2 interrupted, 4 wrong usage; everything else means that tests failed,
# could not be collected or were not there.
EXIT_CODES = {0: 0, 2: EXIT_INTERRUPTED, 4: EXIT_USAGE}
# Domains above this collide with ports that Linux hands out to clients.
LAST_DOMAIN = 101


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks; 0 if all pass."""
    parser = argparse.ArgumentParser(
        prog='rpent test',
        description='Run ruff, mypy and the test suite.',
        epilog='Other arguments go to pytest (paths, -k, -m, -x ...); with any, only pytest runs.',
    )
    parser.add_argument('--unit', action='store_true', help='only the tests that need no ROS')
    options, extra = parser.parse_known_args(argv)
    if not (ROOT / 'test').is_dir():
        parser.error(f'expected a checkout with its tests, got {ROOT}')
    checks = [] if extra else [['ruff', 'check'], ['mypy']]
    failed = [check[0] for check in checks if not _passes(check)]
    paths = ['test/unit'] if options.unit else []
    code = _pytest([*paths, *extra])
    for name in failed:
        print(f'rpent test: {name} found problems, see above', file=sys.stderr)
    return code or (EXIT_FAILED if failed else 0)


def _passes(command: Sequence[str]) -> bool:
    print(f'== {" ".join(command)}', flush=True)
    return subprocess.run([sys.executable, '-m', *command], cwd=ROOT).returncode == 0


def _pytest(arguments: Sequence[str]) -> int:
    env = dict(os.environ)
    # Nodes of a test must not meet those of a run on the same machine.
    domain = env.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % LAST_DOMAIN))
    print(f'== pytest {" ".join(arguments)} (ROS_DOMAIN_ID {domain})', flush=True)
    command = [sys.executable, '-m', 'pytest', *arguments]
    code = subprocess.run(command, cwd=ROOT, env=env).returncode
    return EXIT_CODES.get(code, EXIT_FAILED)


if __name__ == '__main__':
    sys.exit(main())
