"""Things by name, each in a module that is imported only when it is chosen."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from rpent_ros.errors import InvalidRequest


def choose(kind: str, plural: str, table: Mapping[str, tuple[str, str]], name: str) -> Any:
    """The class of that name.

    Args:
      kind: what it is, for the message, e.g. policy.
      plural: the same for several.
      table: name to module and class.
      name: the one that is wanted.

    Raises:
      InvalidRequest: there is none of that name; the message lists the known ones.
    """
    if name not in table:
        raise InvalidRequest(f'unknown {kind} {name!r}; known {plural}: {", ".join(table)}')
    module, cls = table[name]
    return getattr(importlib.import_module(module), cls)
