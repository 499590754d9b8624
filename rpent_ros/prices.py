"""Prices of language models, from config/prices.yaml."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import yaml

from rpent_ros.errors import InvalidRequest
from rpent_ros.parameter_files import config_dir
from rpent_ros.usage import Usage

_MILLION = 1e6
_KINDS = ('input', 'cache_read', 'cache_write', 'output')
# Versions of a model cost the same: claude-haiku-4-5-20251001, gpt-5.5-2026-04-23.
_DATE = re.compile(r'[-@](\d{8}|\d{4}-\d{2}-\d{2})$')
# Providers and regions before the name of a model: anthropic:, openai/, us.anthropic.
_PREFIX = re.compile(r'^.*[:/]|^(\w+\.)?anthropic\.')
# Claude Code's mark of a long context.
_SUFFIX = re.compile(r'\[\w+\]$|-latest$|-v\d+:\d+$')


@dataclasses.dataclass(frozen=True)
class Prices:
    """What models cost [US dollars per million tokens].

    Attributes:
      by_model: prices of input, cache_read, cache_write and output, and of `long` requests.
    """

    by_model: Mapping[str, Mapping[str, Any]]

    @classmethod
    def load(cls, path: pathlib.Path) -> Prices:
        """Read a price file.

        Raises:
          InvalidRequest: it is not one; the message names the model.
        """
        try:
            models = yaml.safe_load(path.read_text())['models']
            items = dict(models).items()
        except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
            raise InvalidRequest(
                f'price file {path}: expected models with their prices, got {error!r}'
            ) from None
        for name, prices in items:
            _check(path, name, prices, {*_KINDS, 'long'})
            if 'long' in prices:
                _check(path, f'{name}, long', prices['long'], {*_KINDS, 'above'}, 'above')
        return cls(models)

    def of(self, usage: Usage) -> float | None:
        """Price of an answer [US dollars]; None: the model is not listed."""
        found = self.by_model.get(plain_name(usage.model))
        if found is None:
            return None
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        long: Mapping[str, float] = found.get('long', {})
        prices = {**found, **long} if long and read > long['above'] else found
        reading = prices['input']
        return (
            usage.input_tokens * reading
            + usage.cache_read_tokens * prices.get('cache_read', reading)
            + usage.cache_write_tokens * prices.get('cache_write', reading)
            + usage.output_tokens * prices['output']
        ) / _MILLION


def plain_name(model: str) -> str:
    """Name of a model without its provider, its date and the like."""
    name = model
    for pattern in (_SUFFIX, _PREFIX, _DATE):
        name = pattern.sub('', name)
    return name


@functools.cache
def known_prices() -> Prices:
    """The prices of config/prices.yaml.

    Raises:
      InvalidRequest: the file is malformed or missing.
    """
    return Prices.load(config_dir() / 'prices.yaml')


def _check(path: pathlib.Path, name: str, prices: Any, known: set[str], *needed: str) -> None:
    if not isinstance(prices, Mapping):
        raise InvalidRequest(f'price file {path}: {name}: expected prices, got {prices!r}')
    for key in (*needed, 'input', 'output'):
        if key not in prices:
            raise InvalidRequest(f'price file {path}: {name}: expected a price for {key}')
    for key, value in prices.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key not in known or (key != 'long' and not (number and value >= 0)):
            raise InvalidRequest(
                f'price file {path}: {name}: expected numbers for {", ".join(sorted(known))}, '
                f'got {key}: {value!r}'
            )
