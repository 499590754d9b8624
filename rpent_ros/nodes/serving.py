"""The edge of every service and action: errors become codes and sentences."""

from __future__ import annotations

from typing import Any, TypeVar

from rpent_ros.errors import RpentError

Answer = TypeVar('Answer', bound=Any)


def refused(answer: Answer, error: RpentError) -> Answer:
    """A response or result that says what went wrong."""
    answer.error_code, answer.error_msg = int(error.code), str(error)
    return answer
