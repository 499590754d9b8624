"""What a run is asked to do and what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rpent_ros import run_dir
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import ErrorCode
from rpent_ros.limits import Limits
from rpent_ros.tools.options import ToolOptions

# Codes that mean that the request itself was wrong; the robot has not been touched.
_USAGE = frozenset({
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNKNOWN_TASK,
    ErrorCode.BAD_RECIPE,
    ErrorCode.BAD_OUTPUT_DIR,
    ErrorCode.RUN_ACTIVE,
    ErrorCode.LLM_NO_KEY,
    ErrorCode.LLM_NOT_INSTALLED,
    ErrorCode.LLM_UNKNOWN_MODEL,
})
_LLM = frozenset(code for code in ErrorCode if code.name.startswith('LLM_'))
_REASONS = {
    ErrorCode.TURN_LIMIT: 'turn_limit',
    ErrorCode.TIME_LIMIT: 'time_limit',
    ErrorCode.TOKEN_LIMIT: 'token_limit',
    ErrorCode.COST_LIMIT: 'cost_limit',
    ErrorCode.NO_PROGRESS: 'no_progress',
    ErrorCode.CANCELED: 'cancelled',
}


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """What one run is about.

    Attributes:
      robot: robot package, which brings toolkit and prompts.
      suite, task, seed: the episode.
      output_dir: folder for everything that the run writes.
      overwrite: replace an earlier run there.
      run_id: names the run; '' makes one.
      namespace: ROS namespace of the graph; '' for none.
      instruction: sentence for the planner; '' for the task's own.
      cerebrum: planner.
      recipe: recipe for the scripted planner; '' for none.
      llm: the language model, for planners that use one.
      limits: what the planner may spend.
      options: what the tools give to the planner.
    """

    robot: str
    _: dataclasses.KW_ONLY
    suite: str
    task: int
    seed: int
    output_dir: str
    overwrite: bool = False
    run_id: str = ''
    namespace: str = ''
    instruction: str = ''
    cerebrum: str = 'scripted'
    recipe: str = ''
    llm: LlmOptions = dataclasses.field(default_factory=LlmOptions)
    limits: Limits = dataclasses.field(default_factory=Limits)
    options: ToolOptions = dataclasses.field(default_factory=ToolOptions)

    @property
    def tag(self) -> str:
        """Names the task in file names."""
        return run_dir.recipe_tag(self.suite, self.task, self.seed)


@dataclasses.dataclass(frozen=True)
class RunResult:
    """What came of a run: the content of result.json.

    Attributes:
      status: achieved, not_achieved, refused (wrong request) or failed (a component failed).
      reason: why it ended: finished, turn_limit, time_limit, token_limit, cost_limit, no_progress,
        cancelled, interrupted, gave_up, refused, llm_failed or component_failed.
      claimed: status that the planner gave to finish; '' if it never called it.
      achieved: verdict of the task's own predicate, from the driver.
      privileged: a policy with privileged simulator state took part.
      steps: control steps executed.
      seconds: wall-clock time [s].
      code, message: number and sentence of what went wrong; OK and '' if achieved.
      bag: what the recorder says about the bag; None: not recorded.
      details: task, instruction, planner, model, summary, usage, interrupts, times.
    """

    run_id: str
    _: dataclasses.KW_ONLY
    output_dir: str
    status: str
    reason: str
    claimed: str = ''
    achieved: bool = False
    privileged: bool = False
    steps: int = 0
    seconds: float = 0.0
    tool_calls: int = 0
    code: ErrorCode = ErrorCode.OK
    message: str = ''
    bag: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Exit code of a process that exists for this run."""
        if self.reason == 'interrupted':
            return 130
        return {'achieved': 0, 'not_achieved': 1, 'refused': 2, 'failed': 3}[self.status]

    def to_json(self) -> dict[str, Any]:
        """The content of result.json."""
        return {
            'schema_version': run_dir.RESULT_SCHEMA_VERSION,
            'run_id': self.run_id,
            'status': self.status,
            'reason': self.reason,
            'claimed': self.claimed,
            'achieved': self.achieved,
            'privileged': self.privileged,
            'steps': self.steps,
            'seconds': round(self.seconds, 3),
            'tool_calls': self.tool_calls,
            'error_code': int(self.code),
            'error_name': self.code.name,
            'error_msg': self.message,
            'bag': self.bag,
            **self.details,
        }


def reason_of(code: ErrorCode, started: bool, stop_reason: str) -> str:
    """Why a run ended.

    Args:
      code: what was raised; OK if nothing was.
      started: the planner could already move the robot.
      stop_reason: who asked for the end; '' for nobody.
    """
    if code == ErrorCode.OK:
        return 'finished'
    if stop_reason:
        # On Ctrl-C other components end at the same moment; that they do is no news.
        return stop_reason
    if code in _REASONS:
        return _REASONS[code]
    if code == ErrorCode.BAD_RECIPE or (code in _USAGE and not started):
        return 'refused'
    if code in _LLM:
        return 'llm_failed'
    return 'component_failed'
