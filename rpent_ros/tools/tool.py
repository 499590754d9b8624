"""One tool: its definition and what runs when it is called."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from rpent_ros.tools.definition import ToolDefinition
from rpent_ros.tools.result import ToolResult

# Called with the checked arguments as keywords; a mapping counts as the data of an OK result.
Handler = Callable[..., 'ToolResult | Mapping[str, Any]']


@dataclasses.dataclass(frozen=True)
class Tool:
    """One tool of a toolkit."""

    definition: ToolDefinition
    handler: Handler

    @property
    def name(self) -> str:
        """What models call it by."""
        return self.definition.name

    @property
    def reads_only(self) -> bool:
        """Neither moves the robot nor ends the run, so it may be called at any time."""
        return not self.definition.effect.is_exclusive

    def spec(self) -> dict[str, Any]:
        """The definition as language models take it."""
        return self.definition.spec()
