"""`rpent test`: linters, types, then the test suite."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from rpent_ros import exit_codes
from rpent_ros.cli.domain import claimed_domain
from rpent_ros.errors import RpentError

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKS = (('ruff', 'check'), ('mypy',))
# pytest's own exit codes.  Everything else means that tests failed, could not be collected or
# were not there.
EXIT_CODES = {0: exit_codes.ACHIEVED, 2: exit_codes.INTERRUPTED, 4: exit_codes.USAGE}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks; 0 if all pass, 1 if one does not."""
    parser = argparse.ArgumentParser(
        prog='rpent test',
        description='Run ruff, mypy and the test suite.',
        epilog='Other arguments go to pytest (paths, -k, -m, -x ...); with any, only pytest runs.',
    )
    parser.add_argument('--unit', action='store_true', help='only the tests that need no ROS')
    options, extra = parser.parse_known_args(argv)
    if not (ROOT / 'test').is_dir():
        parser.error(f'expected a checkout with its tests, got {ROOT}')
    failed = [] if extra else [check[0] for check in CHECKS if not _passes(check)]
    try:
        code = _pytest(['test/unit', *extra] if options.unit else extra)
    except RpentError as error:
        print(f'rpent test: {error}', file=sys.stderr)
        return exit_codes.USAGE
    for name in failed:
        print(f'rpent test: {name} found problems, see above', file=sys.stderr)
    return code or (exit_codes.NOT_ACHIEVED if failed else exit_codes.ACHIEVED)


def _passes(command: Sequence[str]) -> bool:
    print(f'== {" ".join(command)}', flush=True)
    return subprocess.run([sys.executable, '-m', *command], cwd=ROOT).returncode == 0


def _pytest(arguments: Sequence[str]) -> int:
    # Nodes of a test must not meet those of a run on the same machine.
    with claimed_domain() as domain:
        print(f'== pytest {" ".join(arguments)} (ROS domain {domain})', flush=True)
        command = [sys.executable, '-m', 'pytest', *arguments]
        env = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
        code = subprocess.run(command, cwd=ROOT, env=env).returncode
    return EXIT_CODES.get(code, exit_codes.NOT_ACHIEVED)


if __name__ == '__main__':
    sys.exit(main())
