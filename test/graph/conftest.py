"""A run of the whole graph with the fake robot, as a process that a test can disturb."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from rpent_ros.cli.supervisor import processes_in_sessions

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Far more than anything here takes, even on a machine that is busy [s].
PATIENCE = 120.0

SLOW = """\
/**/driver:
  ros__parameters:
    step_seconds: 0.05
"""


FAKE = ('run', '--env', 'fake', '--suite', 'fake_pick', '--task', '1')


class Run:
    """One `rpent run` of the fake robot, or another command that starts a graph."""

    def __init__(
        self, folder: pathlib.Path, *options: str, command: tuple[str, ...] = FAKE
    ) -> None:
        self.folder = folder
        env = {k: v for k, v in os.environ.items() if k != 'ROS_DOMAIN_ID'}
        self.process = subprocess.Popen(
            [
                sys.executable, '-m', 'rpent_ros.cli.main', *command,
                '--output-dir', str(folder), *options,
            ],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self.children: dict[str, int] = {}
        self._grew = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._grew:
                self.lines.append(line.rstrip('\n'))
                self._grew.notify_all()

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return '\n'.join(self.lines)

    def wait_for_line(self, part: str) -> None:
        """Return when a line that contains `part` has been printed."""
        with self._grew:
            found = self._grew.wait_for(
                lambda: any(part in line for line in self.lines), timeout=PATIENCE
            )
        assert found, f'no line with {part!r} in:\n{self.output}'

    def note_children(self) -> None:
        """Find the ids of the nodes by what they announced in their logs."""
        for log in (self.folder / 'logs').glob('*.log'):
            for line in log.read_text().splitlines():
                if line.startswith('{"event": "transport_ready"'):
                    self.children[log.stem] = json.loads(line)['pid']

    def wait(self) -> tuple[int, float]:
        """Exit code, and the seconds until it came."""
        begun = time.monotonic()
        code = self.process.wait(PATIENCE)
        self._reader.join(10)
        return code, time.monotonic() - begun

    @property
    def result(self) -> dict[str, Any]:
        """result.json."""
        return json.loads((self.folder / 'result.json').read_text())

    def left(self) -> tuple[int, ...]:
        """Processes of the run that still exist."""
        return processes_in_sessions([self.process.pid, *self.children.values()])

    def end(self) -> None:
        """Kill what a failed test left."""
        self.note_children()
        for pid in (self.process.pid, *self.children.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.process.wait(10)


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Any:
    """Starts runs and ends them after the test."""
    runs: list[Run] = []

    def make(
        *options: str,
        slow: bool = False,
        folder: str = 'out',
        command: tuple[str, ...] = FAKE,
    ) -> Run:
        if slow:
            (tmp_path / 'slow.yaml').write_text(SLOW)
            options = (*options, '--params-file', str(tmp_path / 'slow.yaml'))
        runs.append(Run(tmp_path / folder, *options, command=command))
        return runs[-1]

    yield make
    for run in runs:
        run.end()
