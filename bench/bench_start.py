"""Time from `./rpent run` to the first tool result, and to the end.

    python3 bench/bench_start.py --turns 3

Robots take turns.  Every run is a whole graph of its own, without video.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The log line of a tool call carries its number, the tool and an arrow.
FIRST_CALL = re.compile(r'^(\S+ \S+) INFO\s+1  \w+ .*->', re.M)


def run_once(robot: str, folder: pathlib.Path) -> tuple[float, float]:
    """Seconds until the first tool call has been answered, and until the command has ended."""
    begun, clock = time.time(), time.monotonic()
    command = [ROOT / 'rpent', 'run', '--env', robot, '--no-video', '--output-dir', folder]
    subprocess.run(command, check=True, capture_output=True)
    ended = time.monotonic() - clock
    found = FIRST_CALL.search((folder / 'run.log').read_text())
    assert found is not None, f'no tool call in {folder}/run.log'
    first = datetime.datetime.strptime(found.group(1), '%Y-%m-%d %H:%M:%S,%f').timestamp()
    return first - begun, ended


def main() -> None:
    """Measure and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robots', default='fake,libero')
    parser.add_argument('--turns', type=int, default=3)
    options = parser.parse_args()
    robots = options.robots.split(',')
    times: dict[str, list[tuple[float, float]]] = {robot: [] for robot in robots}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(options.turns):
            for robot in robots:
                times[robot].append(run_once(robot, pathlib.Path(scratch) / f'{robot}{turn}'))
    for robot, values in times.items():
        first, ended = (statistics.median(column) for column in zip(*values, strict=True))
        print(f'{robot}: first tool result after {first:.1f} s, end after {ended:.1f} s')


if __name__ == '__main__':
    main()
