"""Tokens and money that language models take."""

from __future__ import annotations

import dataclasses
from typing import Any

from rpent_ros.errors import InvalidRequest

_COUNTS = ('input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens')


@dataclasses.dataclass(frozen=True)
class Usage:
    """What answers of a language model took.

    Attributes:
      model: the model, by its provider's name.
      requests: answers.
      input_tokens: read and not cached.
      cache_read_tokens: read from the provider's cache.
      cache_write_tokens: read and put into that cache.
      output_tokens: written, thinking included.
      usd: price [US dollars]; None: unknown.
    """

    model: str = ''
    _: dataclasses.KW_ONLY
    requests: int = 1
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None

    def __post_init__(self) -> None:
        for name in ('requests', *_COUNTS):
            if getattr(self, name) < 0:
                raise InvalidRequest(f'{name}: expected 0 or above, got {getattr(self, name)}')

    @property
    def tokens(self) -> int:
        """All tokens."""
        return sum(getattr(self, name) for name in _COUNTS)

    def to_json(self) -> dict[str, Any]:
        """JSON types."""
        out = dataclasses.asdict(self)
        out['usd'] = None if self.usd is None else round(self.usd, 6)
        return out


class UsageTotals:
    """Sum of what a run's answers took.

    Attributes:
      requests: answers.
      tokens: all tokens.
      usd: price of those answers whose price is known [US dollars].
      unpriced: models whose price is not known.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.tokens = 0
        self.usd = 0.0
        self.unpriced: tuple[str, ...] = ()
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._models: list[str] = []
        self._any_price = False

    def add(self, usage: Usage) -> None:
        """Count."""
        self.requests += usage.requests
        self.tokens += usage.tokens
        for name in _COUNTS:
            self._counts[name] += getattr(usage, name)
        if usage.model not in self._models:
            self._models.append(usage.model)
        if usage.usd is not None:
            self.usd += usage.usd
            self._any_price = True
        elif usage.model not in self.unpriced:
            self.unpriced = (*self.unpriced, usage.model)

    def to_json(self) -> dict[str, Any]:
        """JSON types; empty if no model was asked.  `usd` is null if no price is known."""
        if not self.requests:
            return {}
        return {
            'models': list(self._models),
            'requests': self.requests,
            **self._counts,
            'tokens': self.tokens,
            'usd': round(self.usd, 6) if self._any_price else None,
            'unpriced_models': list(self.unpriced),
        }
