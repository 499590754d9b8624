"""One run, from the output folder to the result: describe, check, reset, plan, record.

Pure Python against the ports; the agent node supplies ROS clients, tests supply objects.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import textwrap
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rpent_ros import __version__, events, files, prompt_sections, run_dir
from rpent_ros.cerebrums.base import Cerebrum, CerebrumResult, Steering
from rpent_ros.cerebrums.registry import make_cerebrum
from rpent_ros.contracts.compatibility import check_compatible
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import DriverSpec, PolicySpec
from rpent_ros.errors import BadOutputDir, ErrorCode, RpentError
from rpent_ros.ports import EnvClient, SegmenterClient, VlaClient
from rpent_ros.robot import load_robot_package
from rpent_ros.run import RunConfig, RunResult, reason_of
from rpent_ros.secrets import SECRETS
from rpent_ros.session import FATAL, Session, StopFlag
from rpent_ros.tools.build import build_toolkit
from rpent_ros.tools.manipulation import ManipulationToolkit
from rpent_ros.tools.toolkit import Claim

LOG = logging.getLogger('rpent_ros.agent')
# Reasons after which the task's predicate says nothing about the planner.
_STATUS_BY_REASON = {'refused': 'refused', 'component_failed': 'failed', 'llm_failed': 'failed'}


# Longest part of a planner's own words in an error message [characters].
MAX_REASON = 400


class Recorder(Protocol):
    """Records a run to a bag."""

    def start(self, run_id: str, path: str) -> None:
        """Open a new bag in the folder `path`; returns when it records."""

    def stop(self) -> Mapping[str, Any]:
        """Close the bag; returns facts about it, at least its path."""


def run_task(
    config: RunConfig,
    env: EnvClient,
    vla: VlaClient | None,
    sink: events.Sink,
    should_stop: StopFlag,
    *,
    recorder: Recorder | None = None,
    segmenter: SegmenterClient | None = None,
    cerebrum: Cerebrum | None = None,
    steering: Steering | None = None,
    await_components: Callable[[], None] | None = None,
) -> RunResult:
    """Carry out one task and write down everything about it.

    Args:
      config: what to do.
      env: the driver.
      vla: the policy; None: the learned tools are not offered.
      sink: told what happens.
      should_stop: asks the run to end; the robot then holds still.
      recorder: records a bag beside the other files; None: no bag.
      segmenter: finds things in images; None: the tool that needs it is not offered.
      cerebrum: planner to use instead of the one that `config` names.
      steering: messages from people to the planner.
      await_components: called first; returns when driver and policy answer, or raises RpentError.

    Returns:
      The result, also when the run was refused, cut short or failed; never raises RpentError.
    """
    SECRETS.add_environment()
    run_id = config.run_id or run_dir.new_run_id(config.tag)
    with contextlib.ExitStack() as stack:
        try:
            folder = run_dir.create(config.output_dir, config.tag, overwrite=config.overwrite)
            log = events.LogSink(folder.log)
            stack.callback(log.close)
            run = _Run(
                config, run_id, folder, env, vla, events.Fanout([log, sink]), should_stop,
                recorder, segmenter, steering or Steering(), await_components or (lambda: None),
            )  # fmt: skip
        except RpentError as error:
            return RunResult(
                run_id, output_dir=config.output_dir, status='refused', reason='refused',
                code=error.code, message=str(error),
            )  # fmt: skip
        return run.execute(cerebrum)


@dataclasses.dataclass
class _Run:
    """The state of one run, so that every way out can report what is known by then."""

    config: RunConfig
    run_id: str
    folder: run_dir.RunDir
    env: EnvClient
    vla: VlaClient | None
    sink: events.Sink
    stop: StopFlag
    recorder: Recorder | None
    segmenter: SegmenterClient | None
    steering: Steering
    await_components: Callable[[], None]
    _toolkit: ManipulationToolkit | None = None
    _recording: bool = False
    _was_reset: bool = False
    _prompts: tuple[str, str] = ('', '')

    def __post_init__(self) -> None:
        self._started = time.monotonic()
        self._record: dict[str, Any] = {}
        self._instruction = self.config.instruction
        self._session = Session(
            run=self.folder,
            run_id=self.run_id,
            sink=self.sink,
            limits=self.config.limits,
            should_stop=self.stop,
            steering=self.steering,
        )

    def execute(self, cerebrum: Cerebrum | None) -> RunResult:
        """Run and report; foreseen failures become results, others are reported and logged."""
        code, message, outcome = ErrorCode.OK, '', None
        try:
            planner = cerebrum or make_cerebrum(
                self.config.cerebrum,
                instruction=self.config.instruction,
                recipe=self.config.recipe,
                llm=self.config.llm,
                robot=self.config.robot,
                namespace=self.config.namespace,
            )
            self._prepare(planner)
            outcome = self._plan(planner)
        except RpentError as error:
            code, message = error.code, str(error)
        except Exception as error:
            # The edge of the agent: whatever went wrong, the run's files tell of it.
            LOG.exception('run %s failed', self.run_id)
            code, message = ErrorCode.UNKNOWN, f'{type(error).__name__}: {error}'
        except BaseException:
            self.stop.set('interrupted')
            self._close(self._result(ErrorCode.CANCELED, 'the process was interrupted', None))
            raise
        return self._close(self._result(code, message, outcome))

    def _prepare(self, planner: Cerebrum) -> None:
        """Everything before the planner's first move."""
        self._write_down(_facts_of_request(self.config, self.run_id, planner.name))
        package = load_robot_package(self.config.robot)
        self.await_components()
        spec = self.env.describe()
        policy = self.vla.describe() if self.vla is not None else None
        if policy is not None:
            check_compatible(spec, policy)
        self._write_down({'driver': _driver_facts(spec), 'policy': _policy_facts(policy)})
        if self.recorder is not None:
            self.recorder.start(self.run_id, str(self.folder.bag))
            self._recording = True
        self._reset()
        if policy is not None and policy.privileged:
            self._session.warn(
                f'policy {policy.name} uses privileged simulator state that a real robot does '
                'not have'
            )
        self._toolkit = build_toolkit(
            package,
            env=self.env,
            spec=spec,
            vla=self.vla,
            policy=policy,
            segmenter=self.segmenter,
            options=self.config.options,
            output_dir=self.folder.path,
            on_dump=lambda dump: self.sink.step(self.run_id, dump),
            should_stop=self._session.halted,
        )
        self._session.attach(self._toolkit, self._recipe_facts(planner, policy))
        self._prompts = package.get_env_spec().prompts.render(
            prompt_variables(self.config, spec, self._toolkit, self._instruction)
        )

    def _reset(self) -> None:
        """Start the episode: once, by the run and by nobody else."""
        config = self.config
        observation, facts = self.env.reset(suite=config.suite, task=config.task, seed=config.seed)
        self._was_reset = True
        self._instruction = config.instruction or observation.instruction
        self._write_down({'instruction': self._instruction, 'reset': dict(facts)})
        self._session.tell(events.RUN_STARTED, self._record)

    def _write_down(self, facts: Mapping[str, Any]) -> None:
        """Add facts to run.yaml."""
        self._record.update(facts)
        run_dir.write_config(self.folder, SECRETS.redact_all(self._record))

    def _recipe_facts(self, planner: Cerebrum, policy: PolicySpec | None) -> dict[str, Any]:
        """What the recipe was made for, so that it can be understood without its run folder."""
        config = self.config
        return {
            'run_id': self.run_id,
            'robot': config.robot,
            'suite': config.suite,
            'task': config.task,
            'seed': config.seed,
            'instruction': self._instruction,
            'policy': policy.name if policy is not None else None,
            'cerebrum': planner.name,
            'rpent_ros': __version__,
        }

    def _plan(self, planner: Cerebrum) -> CerebrumResult:
        system, user = self._prompts
        self._session.note('system', system)
        self._session.note('user', user)
        return planner.solve(system, user, self._session, self.config.limits, self.steering)

    def _result(
        self, code: ErrorCode, message: str, outcome: CerebrumResult | None
    ) -> RunResult:
        last = self._last_observation(code)
        claim = self._toolkit.claim if self._toolkit is not None else None
        achieved = last is not None and last.success
        reason = reason_of(code, self._was_reset, self.stop.reason)
        if reason in ('cancelled', 'interrupted') and code in FATAL:
            code, message = ErrorCode.CANCELED, f'the run was {reason}; at that moment: {message}'
        if code == ErrorCode.OK and claim is None:
            reason = 'gave_up'
            message = (outcome.stop_reason if outcome else '') or 'the planner called no finish'
        status = 'achieved' if achieved else 'not_achieved'
        status = _STATUS_BY_REASON.get(reason, status)
        if code == ErrorCode.OK and not achieved:
            code = ErrorCode.NOT_ACHIEVED
            message = message or _why_not(claim, last)
        return RunResult(
            self.run_id,
            output_dir=str(self.folder.path),
            status=status,
            reason=reason,
            claimed=claim.status if claim else '',
            achieved=achieved,
            privileged=self._session.privileged,
            # The last state known may be older than the last motion.
            steps=max(last.step if last is not None else 0, self._session.control_steps),
            seconds=time.monotonic() - self._started,
            tool_calls=self._session.turns,
            code=code,
            message=message,
            details={
                'robot': self.config.robot,
                'suite': self.config.suite,
                'task': self.config.task,
                'seed': self.config.seed,
                'instruction': self._instruction,
                'cerebrum': self.config.cerebrum,
                'model': self.config.llm.model,
                'summary': claim.summary if claim else '',
                'usage': self._session.budget.spent.to_json(),
                'turns': self._session.budget.spent.requests,
                'interrupts': list(self._session.interrupts),
                'started': self._record.get('started', ''),
                'ended': run_dir.now(),
            },
        )

    def _last_observation(self, code: ErrorCode) -> Observation | None:
        """The state at the end, from the driver if it still answers."""
        if self._toolkit is None:
            return None
        if code not in FATAL and self.stop.reason != 'interrupted':
            with contextlib.suppress(RpentError):
                return self.env.observe()
        return self._toolkit.last_dump.observation

    def _close(self, result: RunResult) -> RunResult:
        """Tell, stop the recording, write the files; nothing here may lose the result."""
        self._session.close()
        result = dataclasses.replace(
            result,
            message=SECRETS.redact(result.message),
            details=SECRETS.redact_all(dict(result.details)),
        )
        self._session.tell(events.RUN_FINISHED, result.to_json())
        if self._recording and self.recorder is not None:
            try:
                result = dataclasses.replace(result, bag=dict(self.recorder.stop()))
            except RpentError as error:
                self._session.warn(f'the bag is not complete: {error}')
                result = dataclasses.replace(
                    result, bag={'path': str(self.folder.bag), 'error': str(error)}
                )
        if self._toolkit is not None:
            self._toolkit.close()
        try:
            self._session.write_transcript(result=result.to_json())
        except BadOutputDir as error:
            result = _unwritten(result, error)
        try:
            with files.writing(self.folder.path, self.folder.result.name):
                files.write_json(self.folder.result, result.to_json())
        except BadOutputDir as error:
            result = _unwritten(result, error)
        return result


def _why_not(claim: Claim | None, last: Observation | None) -> str:
    """Why a run that went through to its end achieved nothing, as far as anybody knows."""
    told = "the task's predicate does not hold; the planner claimed "
    told += claim.status if claim else 'nothing'
    if claim and claim.status != 'success':
        told += ': ' + textwrap.shorten(claim.summary, MAX_REASON, placeholder=' ...')
    if last is not None and last.truncated:
        told = f'the episode ended at its limit of {last.step} control steps; {told}'
    return told


def _unwritten(result: RunResult, error: BadOutputDir) -> RunResult:
    """The result of a run whose files are not complete; what failed first is the cause."""
    if result.status == 'failed':
        return result
    return dataclasses.replace(
        result, status='failed', reason='component_failed', code=error.code, message=str(error)
    )


def prompt_variables(
    config: RunConfig, spec: DriverSpec, toolkit: ManipulationToolkit, instruction: str
) -> dict[str, Any]:
    """Values of the placeholders that prompts may use."""
    limits = spec.limits
    box = [
        f'{axis} {low:.2f} to {high:.2f} m'
        for axis, low, high in zip('xyz', limits.workspace_min, limits.workspace_max, strict=True)
    ]
    return {
        'suite': config.suite,
        'task': config.task,
        'seed': config.seed,
        'recipe_tag': config.tag,
        'output_dir': config.output_dir,
        'instruction': instruction,
        'robot': spec.robot,
        'base_frame': spec.base_frame,
        'cameras': ', '.join(camera.name for camera in spec.cameras),
        'workspace': ', '.join(box),
        'tools': ', '.join(tool.name for tool in toolkit.tools),
        **prompt_sections.sight(toolkit.text_only, toolkit.driver.settings.image_size),
        'max_tool_calls': config.limits.max_tool_calls or 'any number of',
    }


def _facts_of_request(config: RunConfig, run_id: str, planner: str) -> dict[str, Any]:
    """What is known before anything is asked of the robot."""
    return {
        'run_id': run_id,
        'robot': config.robot,
        'suite': config.suite,
        'task': config.task,
        'seed': config.seed,
        'instruction': config.instruction,
        'cerebrum': planner,
        'recipe': config.recipe,
        'llm': dataclasses.asdict(config.llm),
        'limits': dataclasses.asdict(config.limits),
        'options': dataclasses.asdict(config.options),
        'started': run_dir.now(),
        'git_commit': run_dir.git_commit(),
        'versions': run_dir.versions(),
    }


def _driver_facts(spec: DriverSpec) -> dict[str, Any]:
    """What the driver offers, without its list of suites, which may be long."""
    facts = dataclasses.asdict(spec)
    del facts['suites']
    return facts


def _policy_facts(policy: PolicySpec | None) -> dict[str, Any] | None:
    if policy is None:
        return None
    return {'name': policy.name, 'privileged': policy.privileged, 'horizon': policy.horizon}
