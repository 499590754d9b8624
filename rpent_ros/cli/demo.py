"""`rpent demo`: a LIBERO task through the whole graph, with no GPU, no weights and no key."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rpent_ros import exit_codes
from rpent_ros.cli import run
from rpent_ros.errors import RpentError

_DEFAULTS = {'robot': 'libero', 'suite': 'libero_object', 'task': 0, 'seed': 0}


def main(argv: Sequence[str]) -> int:
    """Run the demo; returns the exit code.  Takes the options of `rpent run`."""
    parser = run.parser('rpent demo')
    parser.description = (
        'Pick and place in LIBERO: driver, policy and agent node, planned by a script, moved by '
        'the oracle policy, which reads the simulator. Takes all options of rpent run.'
    )
    parser.set_defaults(**_DEFAULTS)
    try:
        return run.run(parser.parse_args(argv))
    except RpentError as error:
        print(f'rpent demo: {error}', file=sys.stderr)
        return exit_codes.USAGE
