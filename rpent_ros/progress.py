"""Notices planners that go round in circles, tells them, and then ends their run."""

from __future__ import annotations

import collections
import json
from typing import Any

from rpent_ros.errors import ErrorCode
from rpent_ros.limits import Limits
from rpent_ros.tools.result import ToolResult

# Not the planner's doing: somebody else's motion, or a person who stopped this one.
_NOT_COUNTED = frozenset({ErrorCode.TOOL_BUSY, ErrorCode.CANCELED})


class ProgressWatch:
    """Counts calls that lead nowhere.

    A planner is told at a limit, and its run ends at twice the limit.

    Args:
      limits: max_idle_calls and max_repeats are used.
    """

    def __init__(self, limits: Limits) -> None:
        self._idle_limit = limits.max_idle_calls
        self._repeat_limit = limits.max_repeats
        self._idle = 0
        self._failures: collections.Counter[tuple[str, str]] = collections.Counter()
        self.hint = ''
        self.verdict = ''

    def note(self, name: str, arguments: Any, result: ToolResult) -> None:
        """Count a call; afterwards `hint` and `verdict` hold sentences, '' if all is well."""
        self.hint = ''
        if result.ends_run:
            return
        self._note_idle(result)
        self._note_failure(name, arguments, result)

    def _note_idle(self, result: ToolResult) -> None:
        if result.data.get('steps'):
            self._idle = 0
            return
        self._idle += 1
        if not self._idle_limit:
            return
        if self._idle == self._idle_limit:
            self.hint = (
                f'nothing has moved in the last {self._idle} calls: act, or call finish and say '
                'what keeps you; the run ends if it goes on like this'
            )
        elif self._idle >= 2 * self._idle_limit:
            self.verdict = (
                f'nothing moved in {self._idle} tool calls; whoever starts the run can allow more '
                'with max_idle_calls'
            )

    def _note_failure(self, name: str, arguments: Any, result: ToolResult) -> None:
        call = f'{name} {json.dumps(arguments, sort_keys=True, default=str)}'
        if result.ok:
            for key in [key for key in self._failures if key[0] == call]:
                del self._failures[key]
            return
        if result.code in _NOT_COUNTED or not self._repeat_limit:
            return
        key = (call, result.code.name)
        self._failures[key] += 1
        times = self._failures[key]
        if times == self._repeat_limit:
            self.hint = (
                f'this call has failed with {result.code.name} {times} times: do something else; '
                f'the run ends when it has failed {2 * self._repeat_limit} times'
            )
        elif times >= 2 * self._repeat_limit:
            self.verdict = (
                f'{name} failed {times} times with {result.code.name} for the same arguments; '
                'whoever starts the run can allow more with max_repeats'
            )
