"""A process that the supervisor has started: its pipe, its log, and whether it is ready."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO

_READ_BYTES = 1 << 16
_KEPT_LINES = 12


@dataclasses.dataclass(frozen=True)
class Command:
    """One process to run.

    Attributes:
      name: for messages; also the name of its log file.
      argv: program and arguments.
      after: names of processes that must be ready before this one is started.
      announces: it prints a JSON line with "event": "transport_ready" when it is ready.
      ready_timeout: how long that may take [s].
      ends_run: when this process ends, the run has ended.
      patience: how long it may take after a run that ended by itself [s]; 0.0: the usual time.
      stdin: its standard input is a pipe that `Supervisor.send` writes to; False: it is empty.
    """

    name: str
    _: dataclasses.KW_ONLY
    argv: Sequence[str]
    after: tuple[str, ...] = ()
    announces: bool = True
    ready_timeout: float = 120.0
    ends_run: bool = False
    patience: float = 0.0
    stdin: bool = False


class Child:
    """Starts a process and keeps what it prints.

    Args:
      command: what to start.
      log: file for everything that it prints.
      env: its environment.

    Raises:
      OSError: it cannot be started.
    """

    def __init__(self, command: Command, log: pathlib.Path, env: Mapping[str, str]) -> None:
        self.command = command
        self.log_path = log
        self.ready = not command.announces
        self._last_lines: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)
        self._rest = b''
        self._log_failed = False
        self._log: IO[bytes] = open(log, 'wb', buffering=0)  # noqa: SIM115
        self.process = subprocess.Popen(
            list(command.argv),
            stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=dict(env),
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.output: IO[bytes] = self.process.stdout
        self.exit_fd = os.pidfd_open(self.process.pid)
        self.ready_deadline = time.monotonic() + command.ready_timeout

    @property
    def name(self) -> str:
        """Name of its command."""
        return self.command.name

    @property
    def running(self) -> bool:
        """False once it has been waited for."""
        return self.process.returncode is None

    @property
    def last_line(self) -> str:
        """The last line for people that it printed; '' if there was none."""
        lines = [line for line in self._last_lines if line.strip() and not line.startswith('{')]
        return lines[-1] if lines else ''

    @property
    def is_awaited(self) -> bool:
        """Started, but not ready yet."""
        return self.running and not self.ready

    def read(self) -> list[str] | None:
        """Complete lines that have come; None at the end of the output."""
        data = os.read(self.output.fileno(), _READ_BYTES)
        self._keep(data)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b'\n')
        text = [line.decode(errors='replace') for line in lines]
        self._last_lines.extend(text)
        return text

    def _keep(self, data: bytes) -> None:
        """Write to the log; a full disk must not end the watch over the processes."""
        if self._log_failed:
            return
        try:
            self._log.write(data)
        except OSError as error:
            self._log_failed = True
            print(
                f'{self.log_path} cannot be written: {error.strerror or error}; what {self.name} '
                'prints is no longer kept',
                file=sys.stderr,
                flush=True,
            )

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and to what it has started in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def describe_exit(self) -> str:
        """How it ended, and the end of its log."""
        code = self.process.returncode
        how = f'was killed by {signal.Signals(-code).name}' if code < 0 else f'ended with {code}'
        when = '' if self.ready else ' before it was ready'
        return f'{self.name} {how}{when}{self._log_excerpt()}'

    def describe_silence(self) -> str:
        """That it did not become ready, and the end of its log."""
        return (
            f'{self.name} was not ready after {self.command.ready_timeout:g} s'
            f'{self._log_excerpt()}'
        )

    def _log_excerpt(self) -> str:
        lines = [line for line in self._last_lines if line.strip()]
        if not lines:
            return f'; it printed nothing to {self.log_path}'
        return f'; the end of {self.log_path}:' + ''.join(f'\n  | {line}' for line in lines)

    def close(self) -> None:
        """Close its pipe and its log."""
        self.output.close()
        self._log.close()
        os.close(self.exit_fd)


def is_ready_line(line: str) -> bool:
    """True for the line with which a process announces that it serves."""
    if not line.startswith('{'):
        return False
    try:
        return bool(json.loads(line).get('event') == 'transport_ready')
    except ValueError:
        return False
