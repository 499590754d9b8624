"""The driver node: one robot, served over ROS.  Run it with `python -m rpent_ros.nodes.driver`.

Callbacks run on the executor's thread and only hand jobs to the thread that owns the robot, the
process's main thread.  They are coroutines that await the job, so one executor thread serves any
number of them at a time: a stop or a describe is answered while a reset is under way.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import rclpy.callback_groups
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from std_srvs.srv import Trigger

from rpent_msgs.action import ExecuteChunk, MoveTo
from rpent_msgs.srv import DescribeDriver, Observe, ObserveLabels, Reset, Step
from rpent_ros.contracts.motion import MotionResult
from rpent_ros.driver import DriverCore
from rpent_ros.driver_state import MotionProgress
from rpent_ros.errors import Busy, ErrorCode, RobotFailed, RpentError
from rpent_ros.nodes import convert
from rpent_ros.nodes.driver_parameters import DriverParameters
from rpent_ros.nodes.driver_topics import DriverTopics
from rpent_ros.nodes.main_thread import MainThread
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.parameters import declare, others
from rpent_ros.nodes.process import Shutdown, run_node
from rpent_ros.robot import Robot, load_robot_package
from rpent_ros.state_log import StateLog

T = TypeVar('T')

# Results of actions are kept this long for clients that are slow to ask [s].
_RESULT_TIMEOUT_S = 60
_FEEDBACK_PERIOD_S = 0.1
_STATE_PERIOD_S = 1.0
_CLIENT_WATCH_PERIOD_S = 0.25


class DriverNode(Node):
    """Owns one robot: publishes what it senses, executes what it is told.

    Args:
      robot: the robot to drive; None loads the one that the parameters name.
      **kwargs: passed to `Node`, e.g. context, namespace, parameter_overrides.
    """

    def __init__(self, robot: Robot | None = None, **kwargs: Any) -> None:
        super().__init__('driver', automatically_declare_parameters_from_overrides=True, **kwargs)
        self._settings = p = declare(self, DriverParameters)
        robot = robot or load_robot(p, others(self, DriverParameters))
        self.core = DriverCore(
            robot,
            limits=p.limits,
            clock=lambda: self.get_clock().now().nanoseconds,
            privileged=p.privileged,
            frame_prefix=p.frame_prefix,
            speed=p.speed,
            state_log=StateLog(p.state_log_dir) if p.state_log_dir else None,
        )
        self._main = MainThread()
        self._exclusive = _Exclusive()
        self._shutdown = Shutdown()
        self._goal: _Goal | None = None
        # Coroutines that await the robot's thread: any number may be under way at once.
        self._group = rclpy.callback_groups.ReentrantCallbackGroup()
        self._topics = DriverTopics(
            self, self.core, camera_rate=p.camera_rate, privileged=p.privileged
        )
        self._serve(Reset, 'reset', self._on_reset)
        self._serve(Step, 'step', self._on_step)
        self._serve(Observe, 'observe', self._on_observe)
        self._serve(DescribeDriver, 'describe', self._on_describe)
        if p.privileged:
            self._serve(ObserveLabels, 'privileged/observe_labels', self._on_observe_labels)
        for name, callback in (('stop', self._on_stop), ('resume', self._on_resume)):
            self.create_service(Trigger, f'driver/{name}', callback, callback_group=self._group)
        self._serve_action(
            ExecuteChunk,
            'execute_chunk',
            self._on_execute_chunk,
            convert.execute_chunk_result_to_msg,
        )
        self._serve_action(MoveTo, 'move_to', self._on_move_to, convert.move_to_result_to_msg)
        self.create_timer(_STATE_PERIOD_S, self._publish_state, self._group)
        self.create_timer(_CLIENT_WATCH_PERIOD_S, self._watch_client, self._group)

    def main_loop(self, shutdown: Shutdown) -> None:
        """Own the robot on this thread until the process is to end."""
        self._shutdown = shutdown
        shutdown.on_request(self._main.wake)
        if self._settings.reset_on_start:
            self._reset('', -1, self._settings.seed)
        self._main.run(should_stop=shutdown.requested, idle=self._topics.while_idle)

    def destroy_node(self) -> None:
        """Release the robot, on its own thread, then the node."""
        self._main.close()
        self.core.close()
        super().destroy_node()

    # Services.

    async def _on_reset(self, request: Reset.Request, response: Reset.Response) -> None:
        with self._exclusive('reset'):
            observation, facts = await self._on_robot(
                lambda: self._reset(request.suite, request.task, request.seed)
            )
        response.observation = convert.observation_to_msg(observation)
        response.info_json = json.dumps(facts, default=str)

    def _reset(self, suite: str, task: int, seed: int) -> tuple[Any, Mapping[str, Any]]:
        p = self._settings
        result = self.core.reset(
            suite=suite or p.suite, task=p.task if task < 0 else task, seed=seed
        )
        self._topics.after_motion()
        return result

    async def _on_step(self, request: Step.Request, response: Step.Response) -> None:
        with self._exclusive('step'):
            result = await self._on_robot(lambda: self._step(request))
        _copy(convert.step_result_to_msg(result), response)

    def _step(self, request: Step.Request) -> Any:
        result = self.core.step(
            request.action,
            observe=request.observe == Step.Request.OBSERVE_STATE,
            images=request.observe == Step.Request.OBSERVE_IMAGES,
        )
        self._topics.after_step()
        self._topics.after_motion()
        return result

    async def _on_observe(self, request: Observe.Request, response: Observe.Response) -> None:
        observation = await self._on_robot(
            lambda: self.core.observe(
                request.cameras, width=request.width, height=request.height, depth=request.depth
            )
        )
        response.observation = convert.observation_to_msg(observation)

    async def _on_observe_labels(
        self, request: ObserveLabels.Request, response: ObserveLabels.Response
    ) -> None:
        image = await self._on_robot(
            lambda: self.core.label_image(
                request.camera, width=request.width, height=request.height
            )
        )
        _copy(convert.label_image_to_msg(image), response)

    async def _on_describe(
        self, request: DescribeDriver.Request, response: DescribeDriver.Response
    ) -> None:
        response.spec = convert.driver_spec_to_msg(self.core.spec)

    async def _on_stop(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        started = time.monotonic()
        self.core.stop('driver/stop was called')
        self._publish_state()
        response.success = True
        response.message = f'stopped; {self._exclusive.name or "no motion"} was under way'
        # A reset looks at no flag and moves nothing that could be stopped; do not wait for it.
        if self._exclusive.name != 'reset':
            try:
                await self._on_robot(self.core.hold)
            except RpentError as error:
                response.success, response.message = False, str(error)
        self.get_logger().warning(
            f'{response.message}; standing after {1000 * (time.monotonic() - started):.0f} ms'
        )
        return response

    async def _on_resume(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        self.core.resume()
        self._publish_state()
        self.get_logger().info('resumed')
        response.success = True
        return response

    # Actions.

    async def _on_execute_chunk(self, goal: _Goal) -> MotionResult:
        request = goal.handle.request
        chunk = convert.action_chunk_from_msg(request.chunk)

        def feedback(progress: MotionProgress) -> ExecuteChunk.Feedback:
            return ExecuteChunk.Feedback(executed=progress.steps)

        return await self._move(
            goal,
            feedback,
            lambda should_stop, on_step: self.core.execute_chunk(
                chunk, first=request.first, should_stop=should_stop, on_step=on_step
            ),
        )

    async def _on_move_to(self, goal: _Goal) -> MotionResult:
        request = convert.move_to_goal_from_msg(goal.handle.request, self.core.spec.base_frame)

        def feedback(progress: MotionProgress) -> MoveTo.Feedback:
            return MoveTo.Feedback(
                position_error=progress.position_error,
                orientation_error=progress.orientation_error,
                steps=progress.steps,
                reached=progress.reached,
            )

        return await self._move(
            goal,
            feedback,
            lambda should_stop, on_step: self.core.move_to(
                request, should_stop=should_stop, on_step=on_step
            ),
        )

    async def _move(
        self,
        goal: _Goal,
        feedback: Callable[[MotionProgress], Any],
        motion: Callable[..., MotionResult],
    ) -> MotionResult:
        """Run a motion on the robot's thread, serving other requests between its steps."""

        def should_stop() -> bool:
            return goal.stopping or self._shutdown.requested()

        def on_step(progress: MotionProgress) -> None:
            if progress.steps == 1:
                self._publish_state()
            self._main.run_pending()
            self._topics.after_step()
            goal.send_feedback(feedback, progress)

        def job() -> MotionResult:
            try:
                return motion(should_stop, on_step)
            finally:
                self._topics.after_motion()

        with self._exclusive(goal.name):
            self._goal = goal
            try:
                result = await self._on_robot(job)
            finally:
                self._goal = None
        if goal.reason and result.code == ErrorCode.CANCELED:
            result = dataclasses.replace(result, message=f'{result.message} ({goal.reason})')
        goal.log_end(self.get_logger(), result)
        return result

    def _watch_client(self) -> None:
        """Stop a motion whose client is gone: nobody would cancel it any more."""
        goal = self._goal
        if goal is None:
            return
        service = self.resolve_service_name(f'driver/{goal.name}/_action/get_result')
        if not self.count_clients(service):
            goal.stop('its client is gone')

    # Plumbing: every request ends in an answer.

    async def _on_robot(self, job: Callable[[], T]) -> T:
        """Run a job on the robot's thread; whatever it did not foresee is the robot's failure."""
        try:
            return await self._main.awaited(job, self.executor)
        except RpentError:
            raise
        except Exception as error:
            self.get_logger().error(traceback.format_exc())
            reason = f'the robot failed ({type(error).__name__}: {error})'
            self.core.fail(reason)
            self._publish_state()
            raise RobotFailed(
                f"{reason}; see the driver's log, then call reset or restart the driver"
            ) from error

    def _serve(
        self, kind: Any, name: str, callback: Callable[[Any, Any], Awaitable[None]]
    ) -> None:
        async def answer(request: Any, response: Any) -> Any:
            try:
                await callback(request, response)
            except Exception as error:  # The edge: a failure becomes a code and a sentence.
                response.error_code, response.error_msg = self._describe_error(error)
            return response

        full = name if '/' in name else f'driver/{name}'
        self.create_service(kind, full, answer, callback_group=self._group)

    def _serve_action(
        self,
        kind: Any,
        name: str,
        callback: Callable[[_Goal], Awaitable[MotionResult]],
        to_msg: Callable[[MotionResult], Any],
    ) -> None:
        goals: dict[bytes, _Goal] = {}

        async def execute(handle: ServerGoalHandle) -> Any:
            key = bytes(handle.goal_id.uuid)
            goal = goals.setdefault(key, _Goal(name, handle))
            try:
                result = to_msg(await callback(goal))
            except Exception as error:  # The edge, as above; an unset result would read as OK.
                code, message = self._describe_error(error)
                result = to_msg(
                    MotionResult(ErrorCode(code), message, steps=0, observation=None)
                )
            finally:
                del goals[key]
            if result.error_code == ErrorCode.OK:
                handle.succeed()
            elif result.error_code == ErrorCode.CANCELED and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        def cancel(handle: ServerGoalHandle) -> CancelResponse:
            goals.setdefault(bytes(handle.goal_id.uuid), _Goal(name, handle)).stop('')
            return CancelResponse.ACCEPT

        ActionServer(
            self,
            kind,
            f'driver/{name}',
            execute,
            callback_group=self._group,
            # Accepted also while busy: a rejected goal has no result that could say why.
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=cancel,
            result_timeout=_RESULT_TIMEOUT_S,
        )

    def _describe_error(self, error: Exception) -> tuple[int, str]:
        if isinstance(error, RpentError):
            return int(error.code), str(error)
        self.get_logger().error(''.join(traceback.format_exception(error)))
        return int(ErrorCode.UNKNOWN), f"{type(error).__name__}: {error}; see the driver's log"

    def _publish_state(self) -> None:
        self._topics.publish_state(self.core.state)


class _Exclusive:
    """Lets one thing that moves the robot happen at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.name = ''

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        with self._lock:
            if self.name:
                raise Busy(
                    f'{name}: the driver is busy with {self.name}; wait for it or cancel it'
                )
            self.name = name
        try:
            yield
        finally:
            self.name = ''


class _Goal:
    """A goal under way; `stop` may be called from any thread."""

    def __init__(self, name: str, handle: ServerGoalHandle) -> None:
        self.name = name
        self.handle = handle
        self.reason = ''
        self._stopped_at: float | None = None
        self._feedback_due = 0.0

    @property
    def stopping(self) -> bool:
        """True once the motion is to end."""
        return self._stopped_at is not None

    def stop(self, reason: str) -> None:
        """Have the motion end at its next control step."""
        if self._stopped_at is None:
            self.reason = reason
            self._stopped_at = time.monotonic()

    def send_feedback(
        self, make: Callable[[MotionProgress], Any], progress: MotionProgress
    ) -> None:
        """Send feedback unless some was sent a moment ago."""
        now = time.monotonic()
        if now >= self._feedback_due:
            self._feedback_due = now + _FEEDBACK_PERIOD_S
            self.handle.publish_feedback(make(progress))

    def log_end(self, logger: Any, result: MotionResult) -> None:
        """Log what was cut off, and how long a stop took."""
        if result.clamps:
            first = result.clamps[0]
            logger.warning(
                f'{self.name}: {len(result.clamps)} values clamped, first {first.limit} at step '
                f'{first.step}: asked {first.asked:.4f}, sent {first.sent:.4f}'
            )
        if self._stopped_at is not None:
            elapsed = 1000 * (time.monotonic() - self._stopped_at)
            logger.info(f'{self.name}: {result.message}; standing after {elapsed:.0f} ms')


def load_robot(p: DriverParameters, extra: Mapping[str, Any]) -> Robot:
    """Make the robot that the parameters name; `extra` are its own parameters.

    Raises:
      RpentError: unknown robot, or the robot refuses its parameters.
    """
    spec = load_robot_package(p.robot).get_env_spec()
    common = {'suite': p.suite, 'task': p.task, 'seed': p.seed, 'privileged': p.privileged}
    return spec.make_robot({**common, **extra})


def _copy(source: Any, target: Any) -> None:
    """Copy all fields of a message but its error code and sentence."""
    for name in source.get_fields_and_field_types():
        if not name.startswith('error_'):
            setattr(target, name, getattr(source, name))


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a robot until SIGINT or SIGTERM."""
    return run_node('driver', DriverNode, argv, main_loop=DriverNode.main_loop)


if __name__ == '__main__':
    sys.exit(main())
