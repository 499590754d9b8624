"""The tools of one robot behind one door: checked arguments, one motion at a time, one result."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import Any

from rpent_ros.errors import InvalidRequest, RpentError, ToolBusy, UnknownTool
from rpent_ros.ports import ShouldStop
from rpent_ros.tools import schema
from rpent_ros.tools.definition import Effect, ToolDefinition
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.tool import Handler, Tool


@dataclasses.dataclass(frozen=True)
class Claim:
    """What the planner says about the task: 'success', 'failure' or 'stuck', and why.

    The verdict is not here: it comes from the driver's predicate.
    """

    status: str
    summary: str


class Toolkit:
    """Base of every robot's toolkit.

    A subclass registers its tools with `add_tool`.  Tools that only read are bound to functions;
    tools that move go through `_step`, which runs the primitive of the same name and then records
    the state that the caller gets back.

    Args:
      driver: object with one method per moving tool, see `rpent_ros.primitives`.
      should_stop: asked between control steps, in addition to `cancel`.
    """

    def __init__(self, driver: Any = None, *, should_stop: ShouldStop | None = None) -> None:
        self._driver = driver
        self._outer_stop = should_stop or (lambda: False)
        self._tools: dict[str, Tool] = {}
        self._exclusive = threading.Lock()
        self._active = ''
        self._cancelled = threading.Event()
        self.motions = 0
        self.claim: Claim | None = None

    def add_tool(
        self,
        name: str,
        spec: ToolDefinition | Mapping[str, Any],
        handler: Handler,
        *,
        reads_only: bool = False,
    ) -> None:
        """Register a tool.

        Args:
          name: what models call it by; equal to the name in its spec.
          spec: a definition, or name, description and input_schema as language models take them.
          handler: called with the checked arguments as keywords.
          reads_only: neither moves the robot nor ends the run; a definition says so itself.

        Raises:
          InvalidRequest: the name is taken or the spec is malformed.
        """
        if not isinstance(spec, ToolDefinition):
            spec = ToolDefinition.of_spec(spec, Effect.READS if reads_only else Effect.MOVES)
        if name in self._tools:
            raise InvalidRequest(f'tool {name!r} is registered twice')
        if spec.name != name:
            raise InvalidRequest(
                f'tool {name!r}: expected the same name in its spec, got {spec.name!r}'
            )
        self._tools[name] = Tool(spec, handler)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, in the order in which models see them."""
        return tuple(self._tools.values())

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
          UnknownTool: there is none; the message lists the known ones.
        """
        if name not in self._tools:
            known = ', '.join(self._tools) or 'none'
            raise UnknownTool(f'unknown tool {name!r}; known tools: {known}')
        return self._tools[name]

    def checked(self, name: str, arguments: Any) -> tuple[Tool, dict[str, Any]]:
        """The tool of that name and its arguments, with defaults filled in.

        Raises:
          UnknownTool: there is none.
          BadArguments: the arguments do not fit.
        """
        tool = self.tool(name)
        return tool, schema.check(name, tool.definition.input_schema, arguments)

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool.  Whatever goes wrong in a foreseen way is a result with a code.

        Only one tool that moves or ends the run is active at a time; readers may run beside it.
        """
        try:
            tool, checked = self.checked(name, arguments)
            if tool.reads_only:
                return self._present(ToolResult.of(tool.handler(**checked)))
            return self._present(self._call_alone(tool, checked))
        except RpentError as error:
            return ToolResult.refused(error)

    def cancel(self) -> None:
        """Ask the tool that is running to stop; returns at once.  Nothing happens if none runs."""
        if self._active:
            self._cancelled.set()

    def should_stop(self) -> bool:
        """True while the running tool is asked to stop."""
        return self._cancelled.is_set() or self._outer_stop()

    def close(self) -> None:
        """Release what the toolkit holds; the base holds nothing."""

    def _call_alone(self, tool: Tool, checked: Mapping[str, Any]) -> ToolResult:
        if not self._exclusive.acquire(blocking=False):
            raise ToolBusy(
                f'{tool.name}: {self._active or "another tool"} is still running; '
                'wait for its result or cancel it'
            )
        try:
            self._active = tool.name
            self._cancelled.clear()
            return ToolResult.of(tool.handler(**checked))
        finally:
            self._active = ''
            self._exclusive.release()

    def _step(self, name: str, **kwargs: Any) -> ToolResult:
        """Run the driver's primitive `name` and record the state it led to."""
        started = time.monotonic()
        try:
            outcome = ToolResult.of(getattr(self._driver, name)(**kwargs))
        except RpentError as error:
            outcome = ToolResult.refused(error)
        return self._record(name, kwargs, outcome, time.monotonic() - started)

    def _present(self, result: ToolResult) -> ToolResult:
        """Hook: turn a result into what the planner gets."""
        return result

    def _record(
        self, name: str, arguments: Mapping[str, Any], outcome: ToolResult, seconds: float
    ) -> ToolResult:
        """Hook: store the state after a primitive and return the result with that state in it."""
        return outcome
