"""What a planner may spend on one run."""

from __future__ import annotations

import dataclasses
import math

from rpent_ros.errors import InvalidRequest


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much a planner may spend, the same for every planner; 0: no limit.

    Attributes:
      max_tool_calls: tool calls.
      max_seconds: wall-clock time [s]; a running tool is cancelled when it is used up.
      max_turns: answers of the language model.
      max_tokens: tokens read, cached and written.
      max_usd: price of these tokens, where it is known [US dollars].
      max_idle_calls: tool calls in a row after which nothing has moved; then the planner is told,
        and after as many again the run ends.
      max_repeats: times that the same call may fail in the same way; likewise.
    """

    max_tool_calls: int = 100
    max_seconds: float = 1200.0
    _: dataclasses.KW_ONLY
    max_turns: int = 200
    max_tokens: int = 5_000_000
    max_usd: float = 5.0
    max_idle_calls: int = 20
    max_repeats: int = 3

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise InvalidRequest(f'{field.name}: expected 0 or above, got {value}')
