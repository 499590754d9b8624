"""What a run has spent, and whether it may go on."""

from __future__ import annotations

import dataclasses
import time

from rpent_ros import prices
from rpent_ros.errors import CostLimit, TimeLimit, TokenLimit, TurnLimit
from rpent_ros.limits import Limits
from rpent_ros.usage import Usage, UsageTotals

# Part of a limit at which people are told.
_WARN_AT = 0.8


class Budget:
    """Counts against limits; the sentences of its errors name the parameter that allows more.

    Args:
      limits: what may be spent.

    Attributes:
      tool_calls: tool calls so far.
      spent: what language models took.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.tool_calls = 0
        self.spent = UsageTotals()
        self._started = time.monotonic()
        self._warned: set[str] = set()

    @property
    def seconds(self) -> float:
        """Wall-clock time since the beginning [s]."""
        return time.monotonic() - self._started

    @property
    def out_of_time(self) -> bool:
        """True once the time limit is used up."""
        return 0 < self.limits.max_seconds <= self.seconds

    def spend(self, usage: Usage) -> tuple[Usage, list[str]]:
        """Count an answer of a language model.

        Returns:
          The usage with its price, and what people should know by now.
        """
        if usage.usd is None:
            usage = _priced(usage)
        known = self.spent.unpriced
        self.spent.add(usage)
        warnings = []
        if self.spent.unpriced != known:
            warnings.append(
                f'no price is known for the model {usage.model!r}, so its answers count as tokens '
                'only and max_usd cannot stop them; add it to config/prices.yaml'
            )
        warnings += self._near('tokens', self.spent.tokens, self.limits.max_tokens, 'max_tokens')
        warnings += self._near('US dollars', self.spent.usd, self.limits.max_usd, 'max_usd')
        return usage, warnings

    def check_time(self) -> None:
        """Refuse what comes after the time limit.

        Raises:
          TimeLimit
        """
        if self.out_of_time:
            raise TimeLimit(
                f'the run used up its {self.limits.max_seconds:g} s after {self.tool_calls} tool '
                'calls; whoever starts it can allow more with max_seconds'
            )

    def check_call(self) -> None:
        """Refuse a tool call beyond the limit.

        Raises:
          TurnLimit
        """
        if 0 < self.limits.max_tool_calls <= self.tool_calls:
            raise TurnLimit(
                f'all {self.limits.max_tool_calls} tool calls of this run are used up; whoever '
                'starts it can allow more with max_tool_calls'
            )

    def check_model(self, *, asking: bool) -> None:
        """Refuse what comes after the limits of the language model.

        Args:
          asking: another answer is to be asked for; False: a tool call of the last one is checked.

        Raises:
          TurnLimit, TokenLimit, CostLimit
        """
        limits, spent = self.limits, self.spent
        if 0 < limits.max_tokens <= spent.tokens:
            raise TokenLimit(
                f'the run used up its tokens ({spent.tokens} of {limits.max_tokens}) after '
                f'{self.tool_calls} tool calls; whoever starts it can allow more with max_tokens'
            )
        if 0 < limits.max_usd <= spent.usd:
            raise CostLimit(
                f'the run used up its money ({spent.usd:.4g} of {limits.max_usd:g} US dollars) '
                f'after {self.tool_calls} tool calls; whoever starts it can allow more with '
                'max_usd'
            )
        if 0 < limits.max_turns < spent.requests + asking:
            raise TurnLimit(
                f'all {limits.max_turns} answers of the language model are used up; whoever '
                'starts the run can allow more with max_turns'
            )

    def _near(self, what: str, spent: float, limit: float, name: str) -> list[str]:
        if not limit or spent < _WARN_AT * limit or name in self._warned:
            return []
        self._warned.add(name)
        of = f'{spent:.2f} of {limit:.2f}' if name == 'max_usd' else f'{spent:.0f} of {limit:.0f}'
        return [f'{of} {what} are used up ({name})']


def _priced(usage: Usage) -> Usage:
    return dataclasses.replace(usage, usd=prices.known_prices().of(usage))
