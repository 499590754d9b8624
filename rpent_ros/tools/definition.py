"""What is told about a tool: one definition for models, for checking arguments, for docs."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from rpent_ros.errors import ErrorCode, InvalidRequest
from rpent_ros.tools import schema


class Effect(enum.Enum):
    """What a call changes; tools that move or end take turns, the others may run beside them."""

    READS = 'reads'
    WRITES_FILES = 'writes files'
    MOVES = 'moves the robot'
    ENDS = 'ends the run'

    @property
    def is_exclusive(self) -> bool:
        """True if only one such tool may run at a time."""
        return self in (Effect.MOVES, Effect.ENDS)


@dataclasses.dataclass(frozen=True)
class ToolDefinition:
    """Everything about a tool but the code that runs it.

    Attributes:
      name: what models call it by.
      description: what it does, for models.
      arguments: JSON Schema of each argument, made by `rpent_ros.tools.schema`; those without a
        default are required.
      results: what each key of the result's data means, with the unit in brackets.
      codes: codes that it answers with in foreseen cases, besides those of every tool.
      effect: what a call changes.
    """

    name: str
    _: dataclasses.KW_ONLY
    description: str
    arguments: Mapping[str, schema.Schema] = dataclasses.field(default_factory=dict)
    results: Mapping[str, str] = dataclasses.field(default_factory=dict)
    codes: tuple[ErrorCode, ...] = ()
    effect: Effect = Effect.MOVES

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InvalidRequest(f'tool name: expected letters, digits and _, got {self.name!r}')
        if not self.description:
            raise InvalidRequest(f'tool {self.name}: expected a description, got an empty string')

    @property
    def input_schema(self) -> schema.Schema:
        """JSON Schema of all arguments."""
        return schema.arguments(self.arguments)

    def spec(self) -> dict[str, Any]:
        """The definition as language models take it: name, description, input_schema."""
        return {
            'name': self.name,
            'description': self.description,
            'input_schema': self.input_schema,
        }

    @classmethod
    def of_spec(cls, spec: Mapping[str, Any], effect: Effect) -> ToolDefinition:
        """Make a definition from what language models take.

        Raises:
          InvalidRequest: the spec lacks a key, or its input_schema is not of type object.
        """
        missing = [key for key in ('name', 'description', 'input_schema') if key not in spec]
        if missing:
            raise InvalidRequest(
                f'tool spec: expected name, description and input_schema, {missing[0]} is missing'
            )
        given = spec['input_schema']
        if given.get('type') != 'object':
            raise InvalidRequest(
                f'tool {spec["name"]}: expected an input_schema of type object, '
                f'got {given.get("type")!r}'
            )
        required = given.get('required', ())
        arguments = {
            name: value if name in required else {'default': None, **value}
            for name, value in given.get('properties', {}).items()
        }
        return cls(
            spec['name'], description=spec['description'], arguments=arguments, effect=effect
        )
