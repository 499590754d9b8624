"""One run's tool calls: counted, limited, told to the sink and written down as they happen."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import threading
import time
from collections.abc import Mapping
from typing import Any

from rpent_ros import events, files
from rpent_ros.budget import Budget
from rpent_ros.cerebrums.recipe import RecipeWriter
from rpent_ros.errors import (
    BadOutputDir,
    Canceled,
    ErrorCode,
    InvalidRequest,
    NoProgress,
    RpentError,
    from_code,
)
from rpent_ros.limits import Limits
from rpent_ros.progress import ProgressWatch
from rpent_ros.run_dir import RunDir
from rpent_ros.secrets import SECRETS
from rpent_ros.steering import Interrupt, Steering
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.toolkit import Toolkit
from rpent_ros.transcript import Transcript
from rpent_ros.usage import Usage

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

    Safe to use from several threads; the toolkit sees to it that only one motion is under way.

    Args:
      run: the run folder.
      run_id: id in events.
      sink: told what happens.
      limits: what the planner may spend.
      should_stop: asks the run to end.
      steering: people's interrupts stop the tool that is running.
    """

    def __init__(
        self,
        *,
        run: RunDir,
        run_id: str,
        sink: events.Sink,
        limits: Limits,
        should_stop: StopFlag,
        steering: Steering | None = None,
    ) -> None:
        self.budget = Budget(limits)
        self.control_steps = 0
        self.privileged = False
        self.interrupts: list[dict[str, Any]] = []
        self._run = run
        self._run_id = run_id
        self._sink = sink
        self._outer_stop = should_stop
        self._steering = steering or Steering()
        self._forget = self._steering.on_interrupt(self._on_interrupt)
        self._lock = threading.RLock()
        self._progress = ProgressWatch(limits)
        self._verdict = ''
        self._moving: dict[int, str] = {}
        self._halting: list[Interrupt] = []
        self._toolkit: Toolkit | None = None
        self._recipe: RecipeWriter | None = None
        self._transcript = Transcript(run, run_id)

    def attach(self, toolkit: Toolkit, facts: Mapping[str, Any]) -> None:
        """Use this toolkit, which was built with `halted` of this session.

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
    def run_dir(self) -> pathlib.Path:
        """The run's folder."""
        return self._run.path

    @property
    def turns(self) -> int:
        """Tool calls so far."""
        return self.budget.tool_calls

    def reads_only(self, name: str) -> bool:
        """True if a tool neither moves the robot nor ends the run; False for unknown ones."""
        return any(tool.name == name and tool.reads_only for tool in self._tools.tools)

    def should_stop(self) -> bool:
        """True if the planner shall end: the run was asked to, or is out of time."""
        return self._outer_stop() or self.budget.out_of_time

    def halted(self) -> bool:
        """True if a running tool shall stop: the run shall end, or somebody interrupted."""
        return bool(self._halting) or self._steering.interrupted or self.should_stop()

    def cancel(self) -> None:
        """Stop the tool that is running; returns at once."""
        if self._toolkit is not None:
            self._toolkit.cancel()

    def check(self) -> None:
        """Return if the planner may ask its model for another answer.

        Raises:
          Canceled, TimeLimit, TurnLimit, TokenLimit, CostLimit, NoProgress: the run is over.
        """
        self._check_end()
        self.budget.check_model(asking=True)

    def call(self, name: str, arguments: Any) -> ToolResult:
        """Run a tool for the planner.

        Args:
          name: the tool.
          arguments: its arguments, a mapping; anything else is refused as a result.

        Raises:
          Canceled, TurnLimit, TimeLimit, TokenLimit, CostLimit, NoProgress: the run is over.
          BadOutputDir: the call cannot be written down.
          RpentError: a component failed; see FATAL.
        """
        # Exactly what is executed, so that the recipe repeats it to the last bit.
        given = files.plain(arguments, exact=True)
        turn, in_recipe = self._begin(name, given)
        begun = time.monotonic()
        try:
            result = self._execute(turn, name, given)
        finally:
            self._settle(turn, name)
        return self._end(turn, name, given, result, in_recipe, time.monotonic() - begun)

    def tell(
        self, kind: str, data: Mapping[str, Any], *, name: str = '', turn: int = 0
    ) -> None:
        """Let the sink know that something happened; secrets are replaced."""
        self._sink.event(events.Event(
            kind, run_id=self._run_id, turn=turn, name=SECRETS.redact(name),
            data=SECRETS.redact_all(files.plain(dict(data))),
        ))  # fmt: skip

    def say(self, text: str, *, role: str = 'assistant', name: str = '') -> None:
        """Note a message of the planner or to it."""
        self._transcript.add(role, text=text)
        self.tell(events.MESSAGE, {'text': text}, name=name or role)

    def note(self, role: str, text: str) -> None:
        """Write a message into the transcript without telling it to the sink (prompts)."""
        self._transcript.add(role, text=text)

    def warn(self, text: str) -> None:
        """Tell people that something is not as it should be."""
        with contextlib.suppress(BadOutputDir):
            self._transcript.add('warning', text=text)
        self.tell(events.WARNING, {'text': text}, turn=self.turns)

    def spend(self, usage: Usage) -> None:
        """Count an answer of a language model.  Limits are checked by `check` and `call`."""
        with self._lock:
            usage, warnings = self.budget.spend(usage)
            total = self.budget.spent.to_json()
        facts = usage.to_json()
        self._transcript.add('usage', **facts)
        self.tell(events.USAGE, {**facts, 'total': total}, name=usage.model, turn=self.turns)
        for text in warnings:
            self.warn(text)

    def write_transcript(self, **more: Any) -> None:
        """Bring the transcript up to date; `more` is added at its top level.

        Raises:
          BadOutputDir: it cannot be written; the one before is intact.
        """
        self._transcript.write(**more)

    def close(self) -> None:
        """The planner has ended: interrupts find nothing to stop any more."""
        self._forget()

    @property
    def _tools(self) -> Toolkit:
        if self._toolkit is None:
            raise InvalidRequest('no toolkit is attached to this session yet')
        return self._toolkit

    def _check_end(self) -> None:
        if self._outer_stop():
            raise Canceled(f'the run was {self._outer_stop.reason} after {self.turns} tool calls')
        self.budget.check_time()
        if self._verdict:
            raise NoProgress(self._verdict)

    def _begin(self, name: str, given: Any) -> tuple[int, bool]:
        """Count a call and write it down before it is made, so that a killed run tells of it.

        Returns:
          Its number from 1, and True if it is in the recipe: the tool exists, may move the robot
          or end the run, and accepts the arguments.
        """
        with self._lock:
            self._check_end()
            self.budget.check_call()
            if name != 'finish':
                # What an answer beyond the limits says about the task is still heard.
                self.budget.check_model(asking=False)
            self.budget.tool_calls += 1
            turn = self.turns
            self._transcript.add(
                'assistant', tool_calls=turn, call=turn, tool=name, arguments=given
            )
            in_recipe = self._begin_recipe(turn, name, given)
            if in_recipe:
                self._moving[turn] = name
        self.tell(events.TOOL_CALL, {'arguments': given}, name=name, turn=turn)
        return turn, in_recipe

    def _begin_recipe(self, turn: int, name: str, arguments: Any) -> bool:
        try:
            tool, filled = self._tools.checked(name, arguments)
        except RpentError:
            return False
        # What only looks, or writes notes, has no effect on the robot.
        if tool.reads_only or self._recipe is None:
            return False
        with files.writing(self._run.path, self._run.recipe.name):
            self._recipe.begin(turn, name, filled)
        return True

    def _execute(self, turn: int, name: str, given: Any) -> ToolResult:
        if turn in self._moving and self._steering.interrupted:
            return ToolResult.refused(Canceled(
                f'{name}: not executed, the operator interrupted; a message tells you why'
            ))  # fmt: skip
        return self._tools.call(name, given)

    def _end(
        self, turn: int, name: str, given: Any, result: ToolResult, in_recipe: bool, seconds: float
    ) -> ToolResult:
        """Write down how a call went, and decide whether the run goes on."""
        with self._lock:
            self.control_steps += int(result.data.get('steps') or 0)
            self.privileged = self.privileged or bool(result.data.get('privileged'))
            self._progress.note(name, given, result)
            self._verdict = self._verdict or self._progress.verdict
            if self._progress.hint:
                hints = [result.data.get('hint'), self._progress.hint]
                hint = '; '.join(hint for hint in hints if hint)
                result = dataclasses.replace(result, data={**result.data, 'hint': hint})
        shown = {**result.to_json(), 'seconds': round(seconds, 3)}
        paths = [str(image.path) for image in result.images]
        self.tell(events.TOOL_RESULT, {**shown, 'image_paths': paths}, name=name, turn=turn)
        try:
            self._transcript.add('tool', call=turn, tool=name, result=shown, images=paths)
            if in_recipe:
                self._end_recipe(turn, result)
        except BadOutputDir:
            # What failed first is the cause.
            if result.code not in FATAL:
                raise
        if result.code in FATAL:
            raise from_code(result.code, result.message)
        if not result.ends_run:
            self._check_end()
        return result

    def _end_recipe(self, turn: int, result: ToolResult) -> None:
        assert self._recipe is not None
        with self._lock, files.writing(self._run.path, self._run.recipe.name):
            if result.code == ErrorCode.TOOL_BUSY:
                self._recipe.drop(turn)
            else:
                self._recipe.end(turn, code=result.code.name, steps=result.data.get('steps'))

    def _on_interrupt(self, interrupt: Interrupt) -> None:
        """Have the tool that moves the robot stop; what only looks may end as it likes."""
        with self._lock:
            if self._moving:
                self._halting.append(interrupt)
                return
        self._report(interrupt, '')

    def _settle(self, turn: int, name: str) -> None:
        """A call has ended; if it was the last that moved, the robot holds still."""
        with self._lock:
            self._moving.pop(turn, None)
            if self._moving:
                return
            settled, self._halting = self._halting, []
        for interrupt in settled:
            self._report(interrupt, name)

    def _report(self, interrupt: Interrupt, tool: str) -> None:
        interrupt.settle(tool)
        facts: dict[str, Any] = {
            'message': SECRETS.redact(interrupt.message),
            'tool': interrupt.tool,
            'standstill_s': round(interrupt.standstill_s or 0.0, 4),
        }
        self.interrupts.append(facts)
        # Whoever interrupts is not the one to hear of a full disk; the planner's next call is.
        with contextlib.suppress(BadOutputDir):
            self._transcript.add('interrupt', **facts)
        self.tell(events.INTERRUPT, facts, name='user', turn=self.turns)
