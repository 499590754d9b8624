"""transcript_<tag>.json: everything that was said in a run, whole at any time."""

from __future__ import annotations

import threading
from typing import Any

from rpent_ros import files
from rpent_ros.run_dir import RunDir
from rpent_ros.secrets import SECRETS

SCHEMA_VERSION = 1


class Transcript:
    """Messages of a run; the file is replaced after each.  Safe to use from several threads.

    Secrets are replaced before anything is kept.

    Args:
      run: the run folder.
      run_id: names the run.

    Raises:
      BadOutputDir: here and in the methods: it cannot be written; the one before is intact.
    """

    def __init__(self, run: RunDir, run_id: str) -> None:
        self._run = run
        self._run_id = run_id
        self._lock = threading.Lock()
        self._messages: list[dict[str, Any]] = []
        self._tool_calls = 0
        self._more: dict[str, Any] = {}
        self.write()

    def add(self, role: str, *, tool_calls: int = 0, **content: Any) -> None:
        """Add a message.

        Args:
          role: system, user, assistant, tool, usage or interrupt.
          tool_calls: tool calls of the run so far; 0: as before.
          **content: the message.
        """
        message = SECRETS.redact_all({'role': role, **content})
        with self._lock:
            self._tool_calls = max(self._tool_calls, tool_calls)
            self._messages.append(message)
            self._write()

    def write(self, **more: Any) -> None:
        """Bring the file up to date; `more` is added at its top level and stays there."""
        with self._lock:
            self._more |= SECRETS.redact_all(more)
            self._write()

    def _write(self) -> None:
        path = self._run.transcript
        with files.writing(self._run.path, path.name):
            files.write_json(path, {
                'schema_version': SCHEMA_VERSION,
                'run_id': self._run_id,
                'tool_calls': self._tool_calls,
                **self._more,
                'messages': self._messages,
            })  # fmt: skip
