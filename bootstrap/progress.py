"""One line per step of the set-up, with the seconds it took."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from bootstrap.errors import SetupError

TAIL_LINES = 15
PR_SET_PDEATHSIG = 1
# Seconds between two signs of life: on a terminal, and in a log.
LIVE_PERIOD_S = 0.5
QUIET_PERIOD_S = 20.0


class Progress:
    """Report steps to a stream and run their commands with output going to a log file.

    Args:
        stream: Where the lines go; on a terminal the current one counts its seconds.
        log: Log file, made with the first command.
    """

    def __init__(self, stream: TextIO, log: Path) -> None:
        self._stream = stream
        self._log = log
        self._is_live = stream.isatty()
        self._title = ''
        self._started = 0.0

    def note(self, text: str) -> None:
        """Print one sentence for the user."""
        self._write(text + '\n')

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show a step while the block runs; an exception marks it as failed."""
        self._title, self._started = title, time.monotonic()
        self._write(f'{title} ...' + ('' if self._is_live else '\n'))
        try:
            yield
        except BaseException:
            self._write(f'{title}: failed after {self._elapsed():.1f} s\n')
            raise
        self._write(f'{title}: {self._elapsed():.1f} s\n')

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
                                           stdin=subprocess.DEVNULL,
                                           preexec_fn=partial(_die_with, os.getpid()))
            except OSError as error:
                if may_fail:
                    return False
                raise SetupError(f'{self._title}: cannot start {words[0]}: {error}') from error
            code = self._wait(process)
        if code == 0:
            return True
        if may_fail:
            return False
        tail = '\n'.join(f'    {line}' for line in self._output(start)[-TAIL_LINES:])
        raise SetupError(f'{self._title}: {shlex.join(words[:4])} ... ended with exit code '
                         f'{code}; the end of {self._log}:\n{tail}')

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            while True:
                try:
                    return process.wait(LIVE_PERIOD_S if self._is_live else QUIET_PERIOD_S)
                except subprocess.TimeoutExpired:
                    self._show_life()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()

    def _show_life(self) -> None:
        line = f'{self._title} ... {self._elapsed():.0f} s'
        if not self._is_live:
            self._write(line + '\n')
            return
        size = self._log.stat().st_size
        output = [text.strip() for text in self._output(max(0, size - 2000))
                  if text.strip() and not text.startswith('$ ')]
        room = shutil.get_terminal_size().columns - len(f'rpent: {line}  ') - 1
        detail = output[-1][:room] if output and room > 0 else ''
        self._write(f'{line}  {detail}')

    def _output(self, start: int) -> list[str]:
        with self._log.open('rb') as log:
            log.seek(start)
            return log.read().decode(errors='replace').splitlines()

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _write(self, text: str) -> None:
        self._stream.write(('\r\033[K' if self._is_live else '') + f'rpent: {text}')
        self._stream.flush()


def _die_with(parent: int) -> None:
    # An installer that outlived a killed set-up would write into the environment that the next
    # set-up makes.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
