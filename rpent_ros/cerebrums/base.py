"""The protocol of planners: one set of prompts and tools for all of them."""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from rpent_ros.session import Limits
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.toolkit import Claim


class Tools(Protocol):
    """The tools of one run, as a planner sees them; fulfilled by `rpent_ros.session.Session`."""

    @property
    def specs(self) -> list[dict[str, Any]]:
        """Name, description and input_schema of each tool."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool.  Raises RpentError when the run is over: let it pass."""

    def say(self, text: str, *, role: str = 'assistant', name: str = '') -> None:
        """Note a message."""


class Steering:
    """Messages from people to a running planner, in order.  Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: collections.deque[str] = collections.deque()

    def push(self, message: str) -> None:
        """Add a message."""
        with self._lock:
            self._messages.append(message)

    def take(self) -> list[str]:
        """Remove and return all messages."""
        with self._lock:
            taken = list(self._messages)
            self._messages.clear()
        return taken


@dataclasses.dataclass(frozen=True)
class CerebrumResult:
    """How a planner ended.

    Attributes:
      finish: what it claimed; None: it never called finish.
      messages: the conversation in the planner's own form; () if the session's transcript has it.
      usage: tokens, cost and the like; empty if nothing was spent.
      stop_reason: finished, or why it stopped without calling finish.
    """

    finish: Claim | None
    _: dataclasses.KW_ONLY
    messages: tuple[Any, ...] = ()
    usage: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    stop_reason: str = 'finished'


class Cerebrum(Protocol):
    """A planner: turns prompts and tool results into tool calls until it calls finish."""

    @property
    def name(self) -> str:
        """How it is chosen, e.g. scripted."""

    def solve(
        self,
        system_prompt: str,
        user_message: str,
        toolkit: Tools,
        limits: Limits,
        steering: Steering,
    ) -> CerebrumResult:
        """Carry out one task.

        Args:
          system_prompt: role, rules, workflow.
          user_message: the task.
          toolkit: the tools; it enforces `limits` by itself.
          limits: what may be spent, for planners that budget ahead.
          steering: messages that people send meanwhile.

        Raises:
          RpentError: as raised by `toolkit.call`.
        """
