"""The protocol of planners: one set of prompts and tools for all of them."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any, Protocol

from rpent_ros.limits import Limits
from rpent_ros.steering import Interrupt, Notice, Steering
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.toolkit import Claim
from rpent_ros.usage import Usage

__all__ = [
    'Cerebrum', 'CerebrumResult', 'Claim', 'Interrupt', 'Limits', 'Notice', 'Steering', 'Tools',
    'Usage',
]  # fmt: skip


class Tools(Protocol):
    """The tools of one run, as a planner sees them; fulfilled by `rpent_ros.session.Session`.

    Safe to use from several threads.
    """

    @property
    def specs(self) -> list[dict[str, Any]]:
        """Name, description and input_schema of each tool."""

    @property
    def run_dir(self) -> pathlib.Path:
        """The run's folder."""

    def reads_only(self, name: str) -> bool:
        """True if a tool neither moves the robot nor ends the run; False for unknown ones."""

    def should_stop(self) -> bool:
        """True if the planner shall end: the run was asked to, or is out of time."""

    def check(self) -> None:
        """Return if the model may be asked for another answer; call it before each request.

        Raises:
          RpentError: the run is over: let it pass.
        """

    def call(self, name: str, arguments: Any) -> ToolResult:
        """Run a tool.  Arguments that are no mapping are refused as a result.

        Raises:
          RpentError: the run is over: let it pass.
        """

    def cancel(self) -> None:
        """Stop the tool that is running; returns at once."""

    def say(self, text: str, *, role: str = 'assistant', name: str = '') -> None:
        """Note a message."""

    def warn(self, text: str) -> None:
        """Tell people that something is not as it should be."""

    def spend(self, usage: Usage) -> None:
        """Count an answer of the model; its price is looked up if it has none."""


@dataclasses.dataclass(frozen=True)
class CerebrumResult:
    """How a planner ended.  What it spent, the session knows.

    Attributes:
      finish: what it claimed; None: it never called finish.
      messages: the conversation in the planner's own form; () if the session's transcript has it.
      stop_reason: finished, or why it stopped without calling finish.
    """

    finish: Claim | None
    _: dataclasses.KW_ONLY
    messages: tuple[Any, ...] = ()
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

        An interrupt stops the running tool by itself; the planner reads `steering.acknowledge()`
        and until then no tool moves the robot.

        Args:
          system_prompt: role, rules, workflow.
          user_message: the task.
          toolkit: the tools; they enforce `limits` by themselves.
          limits: what may be spent, for planners that budget ahead.
          steering: messages and interrupts that people send meanwhile.

        Raises:
          RpentError: as raised by `toolkit.call` and `toolkit.check`.
        """
