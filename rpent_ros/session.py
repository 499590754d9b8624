"""One run's tool calls: counted, limited, told to the sink and written down as they happen."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import Any

from rpent_ros import events, files
from rpent_ros.cerebrums.recipe import RecipeWriter
from rpent_ros.errors import (
    BadOutputDir,
    Canceled,
    ErrorCode,
    InvalidRequest,
    RpentError,
    TimeLimit,
    TurnLimit,
    from_code,
)
from rpent_ros.run_dir import RunDir
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.toolkit import Toolkit

# Codes after which no planner can go on: a component is gone or cannot work.
FATAL = frozenset({
    ErrorCode.UNKNOWN,
    ErrorCode.TIMEOUT,
    ErrorCode.UNAVAILABLE,
    ErrorCode.PEER_DIED,
    ErrorCode.RENDER_FAILED,
    ErrorCode.ROBOT_FAILED,
    ErrorCode.MODEL_NOT_LOADED,
    ErrorCode.CONTRACT_MISMATCH,
    ErrorCode.NO_PRIVILEGED_SCENE,
    ErrorCode.BAD_OUTPUT_DIR,
})


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much a planner may spend; 0: no limit.

    Attributes:
      max_tool_calls: tool calls.
      max_seconds: wall-clock time [s]; a running tool is cancelled when it is used up.
    """

    max_tool_calls: int = 100
    max_seconds: float = 1200.0

    def __post_init__(self) -> None:
        for name in ('max_tool_calls', 'max_seconds'):
            if not getattr(self, name) >= 0:
                raise InvalidRequest(f'{name}: expected 0 or above, got {getattr(self, name)}')


class StopFlag:
    """Asks a run to end; the first reason given stays."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason = ''

    def __call__(self) -> bool:
        """True once the run is asked to end."""
        return self._event.is_set()

    def set(self, reason: str) -> None:
        """Ask for the end: 'cancelled' or 'interrupted'."""
        if not self._event.is_set():
            self.reason = reason
            self._event.set()


class Session:
    """What a cerebrum works with: the toolkit's tools under this run's limits.

    Args:
      run: the run folder.
      run_id: id in events.
      sink: told what happens.
      limits: what the planner may spend.
      should_stop: asks the run to end.
    """

    def __init__(
        self,
        *,
        run: RunDir,
        run_id: str,
        sink: events.Sink,
        limits: Limits,
        should_stop: StopFlag,
    ) -> None:
        self.limits = limits
        self.turns = 0
        self.control_steps = 0
        self.privileged = False
        self._run = run
        self._run_id = run_id
        self._sink = sink
        self._outer_stop = should_stop
        self._started = time.monotonic()
        self._messages: list[dict[str, Any]] = []
        self._toolkit: Toolkit | None = None
        self._recipe: RecipeWriter | None = None
        self.write_transcript()

    def attach(self, toolkit: Toolkit, facts: Mapping[str, Any]) -> None:
        """Use this toolkit, which was built with `should_stop` of this session.

        Args:
          toolkit: the tools.
          facts: what the run is about, for the recipe.

        Raises:
          BadOutputDir: the recipe cannot be written.
        """
        self._toolkit = toolkit
        with files.writing(self._run.path, self._run.recipe.name):
            self._recipe = RecipeWriter(self._run.recipe, facts)

    @property
    def specs(self) -> list[dict[str, Any]]:
        """Definitions of all tools, as language models take them."""
        return [tool.spec() for tool in self._tools.tools]

    @property
    def seconds(self) -> float:
        """Wall-clock time since the session began [s]."""
        return time.monotonic() - self._started

    @property
    def out_of_time(self) -> bool:
        """True once the time limit is used up."""
        return 0 < self.limits.max_seconds <= self.seconds

    def should_stop(self) -> bool:
        """True if a running tool shall stop: the run was asked to end or is out of time."""
        return self._outer_stop() or self.out_of_time

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool for the planner.

        Raises:
          Canceled, TurnLimit, TimeLimit: the run is over.
          BadOutputDir: the call cannot be written down.
          RpentError: a component failed; see FATAL.
        """
        self._check()
        if 0 < self.limits.max_tool_calls <= self.turns:
            raise TurnLimit(
                f'all {self.limits.max_tool_calls} tool calls of this run are used up; whoever '
                'starts it can allow more with max_tool_calls'
            )
        self.turns += 1
        # Exactly what is executed, so that the recipe repeats it to the last bit.
        given = files.plain(arguments, exact=True)
        in_recipe = self._begin(name, given)
        self._emit(events.TOOL_CALL, name, {'arguments': given})
        begun = time.monotonic()
        result = self._tools.call(name, given)
        shown = result.to_json()
        shown['seconds'] = round(time.monotonic() - begun, 3)
        self.control_steps += int(result.data.get('steps') or 0)
        paths = [str(image.path) for image in result.images]
        self.privileged = self.privileged or bool(result.data.get('privileged'))
        self._emit(events.TOOL_RESULT, name, {**shown, 'image_paths': paths})
        try:
            self._end(name, result, in_recipe, shown, paths)
        except BadOutputDir:
            # What failed first is the cause.
            if result.code not in FATAL:
                raise
        if result.code in FATAL:
            raise from_code(result.code, result.message)
        if not result.ends_run:
            self._check()
        return result

    def say(self, text: str, *, role: str = 'assistant', name: str = '') -> None:
        """Note a message of the planner or to it."""
        self._messages.append({'role': role, 'text': text})
        self.write_transcript()
        self._sink.event(events.Event(
            events.MESSAGE, run_id=self._run_id, name=name or role, data={'text': text}
        ))

    def note(self, role: str, text: str) -> None:
        """Write a message into the transcript without telling it to the sink (prompts)."""
        self._messages.append({'role': role, 'text': text})
        self.write_transcript()

    def warn(self, text: str) -> None:
        """Tell people that something is not as it should be."""
        self._sink.event(events.Event(
            events.WARNING, run_id=self._run_id, turn=self.turns, data={'text': text}
        ))

    def write_transcript(self, **more: Any) -> None:
        """Bring the transcript up to date; `more` is added at its top level.

        Raises:
          BadOutputDir: it cannot be written; the one before is intact.
        """
        with files.writing(self._run.path, self._run.transcript.name):
            files.write_json(
                self._run.transcript,
                {
                    'schema_version': 1,
                    'run_id': self._run_id,
                    'tool_calls': self.turns,
                    **more,
                    'messages': self._messages,
                },
            )

    @property
    def _tools(self) -> Toolkit:
        if self._toolkit is None:
            raise InvalidRequest('no toolkit is attached to this session yet')
        return self._toolkit

    def _check(self) -> None:
        if self._outer_stop():
            raise Canceled(f'the run was {self._outer_stop.reason} after {self.turns} tool calls')
        if self.out_of_time:
            raise TimeLimit(
                f'the run used up its {self.limits.max_seconds:g} s after {self.turns} tool '
                'calls; whoever starts it can allow more with max_seconds'
            )

    def _begin(self, name: str, arguments: Any) -> bool:
        """Write a call down before it is made, so that a run that is killed tells of it.

        Returns:
          True if the call is in the recipe: the tool exists, may move the robot or end the run,
          and accepts the arguments.
        """
        self._messages.append({'role': 'assistant', 'tool': name, 'arguments': arguments})
        self.write_transcript()
        try:
            tool, filled = self._tools.checked(name, arguments)
        except RpentError:
            return False
        # What only looks, or writes notes, has no effect on the robot.
        if tool.reads_only or self._recipe is None:
            return False
        with files.writing(self._run.path, self._run.recipe.name):
            self._recipe.begin(self.turns, name, filled)
        return True

    def _end(
        self,
        name: str,
        result: ToolResult,
        in_recipe: bool,
        shown: Mapping[str, Any],
        paths: list[str],
    ) -> None:
        """Write down how a call went."""
        self._messages.append({'role': 'tool', 'tool': name, 'result': shown, 'images': paths})
        self.write_transcript()
        if not in_recipe or self._recipe is None:
            return
        with files.writing(self._run.path, self._run.recipe.name):
            if result.code == ErrorCode.TOOL_BUSY:
                self._recipe.drop()
            else:
                self._recipe.end(code=result.code.name, steps=result.data.get('steps'))

    def _emit(self, kind: str, name: str, data: Mapping[str, Any]) -> None:
        event = events.Event(
            kind, run_id=self._run_id, turn=self.turns, name=name, data=files.plain(dict(data))
        )
        self._sink.event(event)
