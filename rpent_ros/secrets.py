"""Keys and tokens, and keeping them out of everything that is written."""

from __future__ import annotations

import os
import threading
from typing import Any

PLACEHOLDER = '<secret>'
# Variables whose values are keys, whoever asks for them.
_NAMES = (
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CODEX_API_KEY',
    'OPENAI_API_KEY',
)
# Replacing shorter ones would take words out of ordinary sentences.
_SHORTEST = 8


class Secrets:
    """Values that nobody may read.  Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: tuple[str, ...] = ()

    def add(self, value: str | None) -> None:
        """Keep a value secret from now on; None and what is shorter than a key are ignored."""
        value = (value or '').strip()
        if len(value) < _SHORTEST:
            return
        with self._lock:
            # The longest first: one may be the beginning of another.
            self._values = tuple(sorted({*self._values, value}, key=len, reverse=True))

    def add_environment(self) -> None:
        """Keep the keys in this process's environment secret."""
        for name in _NAMES:
            self.add(os.environ.get(name))

    def redact(self, text: str) -> str:
        """The text with every secret replaced."""
        for value in self._values:
            text = text.replace(value, PLACEHOLDER)
        return text

    def redact_all(self, value: Any) -> Any:
        """JSON types with every secret in their texts replaced."""
        if not self._values:
            return value
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact_all(key): self.redact_all(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.redact_all(item) for item in value]
        return value


SECRETS = Secrets()


def add_secret(value: str | None) -> None:
    """Keep a value out of everything that this process writes about its runs."""
    SECRETS.add(value)


def redact(text: str) -> str:
    """The text with every known secret replaced."""
    return SECRETS.redact(text)
