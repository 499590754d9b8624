"""Serves LIBERO's default policy as the vla node."""

from __future__ import annotations

import sys


def main() -> int:
    """Serve the policy that the parameters name."""
    from rpent_ros.nodes.vla import main as serve

    return serve([*sys.argv, '--ros-args', '-p', 'robot:=libero'])


if __name__ == '__main__':
    sys.exit(main())
