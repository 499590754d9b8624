"""The one exception that ends a set-up with a sentence instead of a traceback."""

from __future__ import annotations


class SetupError(Exception):
    """Raised when the environment cannot be made; the message says what was found and the cure."""
