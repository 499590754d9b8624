"""Writes to the standard input of a process without ever waiting for it."""

from __future__ import annotations

import contextlib
import os
import selectors
from typing import IO


class InputPipe:
    """What is sent waits here until the process has been started and reads.

    Args:
      selector: tells when the pipe takes more; its loop calls the data of its keys.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._pipe: IO[bytes] | None = None
        self._pending = bytearray()
        self._closing = False
        self._abandoned = False

    def attach(self, pipe: IO[bytes]) -> None:
        """Write to this pipe from now on."""
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._flush()

    def send(self, data: bytes) -> bool:
        """Write when the process reads; False if nobody will ever read it."""
        if self._closing or self._abandoned:
            return False
        self._pending += data
        self._flush()
        return not self._abandoned

    def close(self) -> None:
        """Close the pipe once everything sent has been written."""
        self._closing = True
        self._flush()

    def abandon(self) -> None:
        """The process has ended."""
        self._abandoned = True
        if self._pipe is None:
            return
        self._watch(False)
        # What the reader no longer takes cannot be flushed.
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._pipe = None

    def _flush(self) -> None:
        if self._pipe is None:
            return
        try:
            while self._pending:
                del self._pending[: os.write(self._pipe.fileno(), self._pending)]
        except BlockingIOError:
            self._watch(True)
            return
        except OSError:  # The process has closed its end.
            self.abandon()
            return
        self._watch(False)
        if self._closing:
            self.abandon()

    def _watch(self, wanted: bool) -> None:
        assert self._pipe is not None
        watched = self._pipe in self._selector.get_map()
        if wanted and not watched:
            self._selector.register(self._pipe, selectors.EVENT_WRITE, self._flush)
        elif watched and not wanted:
            self._selector.unregister(self._pipe)
