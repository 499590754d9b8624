"""One line per step of the set-up, with the seconds it took."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from bootstrap.errors import SetupError

TAIL_LINES = 15
PR_SET_PDEATHSIG = 1


class Progress:
    """Report steps to a stream and run their commands with output going to a log file.

    Args:
        stream: Where the lines go; on a terminal the current one counts its seconds.
        log: Log file; created with the first command.
    """

    def __init__(self, stream: TextIO, log: Path) -> None:
        self._stream = stream
        self._log = log
        self._live = stream.isatty()
        self._title = ''
        self._started = 0.0

    def note(self, text: str) -> None:
        """Print one sentence for the user."""
        self._stream.write(f'rpent: {text}\n')
        self._stream.flush()

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show a step while the block runs; an exception marks it as failed."""
        self._title, self._started = title, time.monotonic()
        self._write('...', end='' if self._live else '\n')
        try:
            yield
        except BaseException:
            self._write('failed')
            raise
        self._write('done')

    def run(self, command: Sequence[str | Path], *, env: Mapping[str, str],
            cwd: Path | None = None, may_fail: bool = False) -> bool:
        """Run a command inside a step.

        Args:
            command: Program and arguments.
            env: Its complete environment.
            cwd: Its working directory, the current one by default.
            may_fail: Return False instead of raising.

        Returns:
            Whether its exit code was 0.

        Raises:
            SetupError: It failed; the message ends with the last lines of its output.
        """
        words = [str(word) for word in command]
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open('ab') as log:
            log.write(f'\n$ {shlex.join(words)}\n'.encode())
            log.flush()
            start = log.tell()
            try:
                process = subprocess.Popen(words, env=dict(env), cwd=cwd, stdout=log, stderr=log,
                                           stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent)
            except OSError as error:
                if may_fail:
                    return False
                raise SetupError(f'{self._title}: cannot start {words[0]}: {error}') from error
            code = self._wait(process)
        if code == 0:
            return True
        if may_fail:
            return False
        raise SetupError(f'{self._title}: {Path(words[0]).name} ended with exit code {code}; '
                         f'the end of {self._log}:\n{self._tail(start)}')

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            while True:
                try:
                    return process.wait(timeout=0.5 if self._live else 20.0)
                except subprocess.TimeoutExpired:
                    self._write('...', end='' if self._live else '\n')
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()

    def _tail(self, start: int) -> str:
        with self._log.open('rb') as log:
            log.seek(start)
            lines = log.read().decode(errors='replace').splitlines()
        return '\n'.join(f'    {line}' for line in lines[-TAIL_LINES:])

    def _write(self, status: str, end: str = '\n') -> None:
        begin = '\r\033[K' if self._live else ''
        seconds = time.monotonic() - self._started
        self._stream.write(f'{begin}rpent: {self._title} {status} {seconds:.1f} s{end}')
        self._stream.flush()


def _die_with_parent() -> None:
    # An installer that outlived a killed set-up would write into the environment that the next
    # set-up makes.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        os._exit(1)
