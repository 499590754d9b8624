"""One tool: what a model is told about it and what runs when it is called."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from rpent_ros.errors import InvalidRequest
from rpent_ros.tools.result import ToolResult

# Called with the checked arguments as keywords; a mapping counts as the data of an OK result.
Handler = Callable[..., 'ToolResult | Mapping[str, Any]']


@dataclasses.dataclass(frozen=True)
class Tool:
    """One tool of a toolkit.

    Attributes:
      name: what models call it by.
      description: what it does, for models.
      input_schema: JSON Schema of its arguments, see `rpent_ros.tools.schema`.
      handler: runs it.
      reads_only: neither moves the robot nor ends the run, so it may be called at any time.
    """

    name: str
    _: dataclasses.KW_ONLY
    description: str
    input_schema: dict[str, Any]
    handler: Handler
    reads_only: bool = False

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InvalidRequest(f'tool name: expected letters, digits and _, got {self.name!r}')
        if not self.description:
            raise InvalidRequest(f'tool {self.name}: expected a description, got an empty string')
        if self.input_schema.get('type') != 'object':
            raise InvalidRequest(
                f'tool {self.name}: expected an input_schema of type object, '
                f'got {self.input_schema.get("type")!r}'
            )

    def spec(self) -> dict[str, Any]:
        """The definition as language models take it."""
        return {
            'name': self.name,
            'description': self.description,
            'input_schema': self.input_schema,
        }
