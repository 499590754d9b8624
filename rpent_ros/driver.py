"""What every driver does, whatever the robot: episodes, motions at control rate, safety, stop.

`DriverCore` is called from one thread, the one that owns the robot.  Only `stop`, `resume`,
`state` and `spec` may be used from any thread.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros import frames
from rpent_ros.contracts.motion import (
    ActionChunk,
    Clamp,
    Gripper,
    MotionResult,
    MoveGoal,
    StepResult,
)
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import DriverSpec, SafetyLimits
from rpent_ros.errors import (
    BadAction,
    EpisodeOver,
    ErrorCode,
    InvalidRequest,
    NotReset,
    RobotFailed,
    Stopped,
    UnknownCamera,
)
from rpent_ros.geometry import Pose
from rpent_ros.ports import ShouldStop
from rpent_ros.primitives.servo import Progress, Tolerances, pose_error, servo_action
from rpent_ros.robot import Robot, StepStatus
from rpent_ros.safety import ActionGuard
from rpent_ros.state_log import StateLog

MAX_IMAGE_SIDE = 4096


class Status(enum.IntEnum):
    """Whether the robot moves or may move; the numbers of DriverState.status."""

    UNINITIALISED = 0
    IDLE = 1
    MOVING = 2
    STOPPED = 3
    FAILED = 4


@dataclasses.dataclass(frozen=True)
class DriverState:
    """Where the driver and its episode stand; `reason` says why it is stopped or failed."""

    status: Status
    reason: str = ''
    episode: int = 0
    step: int = 0
    terminated: bool = False
    truncated: bool = False
    success: bool = False


@dataclasses.dataclass(frozen=True)
class MotionProgress:
    """Sent after each control step of a motion; errors [m], [rad] are NaN for chunks."""

    steps: int
    position_error: float = math.nan
    orientation_error: float = math.nan


OnStep = Callable[[MotionProgress], None]


def _never() -> bool:
    return False


def _ignore(_: MotionProgress) -> None:
    pass


class DriverCore:
    """One robot under safety limits, with episodes and motions.

    Args:
      robot: the facade of the robot.
      limits: replace those of the robot's spec, or a function that does, since these may change
        with the scene; None keeps them.
      clock: nanoseconds since the epoch.
      privileged: the driver publishes the simulator's scene.
      frame_prefix: put before every frame name.
      speed: fraction of full speed of motions that do not ask for one.
      tolerances: when a motion has arrived; None: the defaults.
      state_log: where the simulator's states go; None: nowhere.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        limits: SafetyLimits | Callable[[SafetyLimits], SafetyLimits] | None = None,
        clock: Callable[[], int] = time.time_ns,
        privileged: bool = False,
        frame_prefix: str = '',
        speed: float = 1.0,
        tolerances: Tolerances | None = None,
        state_log: StateLog | None = None,
    ) -> None:
        self._robot = robot
        self._limits = limits
        self._privileged = privileged
        self._prefix = frame_prefix
        self._adopt_spec()
        self._clock = clock
        self._speed = speed
        self._tolerances = tolerances or Tolerances()
        self._state_log = state_log
        self._tool_position = getattr(robot, 'tool_position', self._observed_position)
        self._stop = threading.Event()
        self._stop_reason = ''
        self._failure = ''
        self._moving = False
        self._episode = 0
        self._steps = 0
        self._flags = StepStatus()
        self._instruction = ''
        self._gripper = self.spec.action.gripper_open

    # State, from any thread.

    @property
    def state(self) -> DriverState:
        """Where the driver and its episode stand."""
        if self._failure:
            status, reason = Status.FAILED, self._failure
        elif self._stop.is_set():
            status, reason = Status.STOPPED, self._stop_reason
        else:
            reason = ''
            status = Status.MOVING if self._moving else Status.IDLE
            if not self._episode and not self._moving:
                status = Status.UNINITIALISED
        return DriverState(
            status,
            reason,
            episode=self._episode,
            step=self._steps,
            terminated=self._flags.terminated,
            truncated=self._flags.truncated,
            success=self._flags.success,
        )

    def stop(self, reason: str) -> None:
        """Refuse all motion, and end the present one at its next control step, until `resume`."""
        self._stop_reason = reason
        self._stop.set()

    def resume(self) -> None:
        """Allow motion again."""
        self._stop.clear()
        self._stop_reason = ''

    def fail(self, reason: str) -> None:
        """Note that the robot failed; only a reset that succeeds makes it usable again."""
        self._failure = reason

    # Everything below belongs to the robot's thread.

    def reset(
        self, *, suite: str = '', task: int = -1, seed: int = 0
    ) -> tuple[Observation, Mapping[str, Any]]:
        """Start an episode; returns the state and the facts worth storing with results.

        Raises:
          Stopped: the stop is set.
          UnknownTask: the suite or task does not exist.
        """
        self._refuse_if_stopped()
        if self._state_log is not None:
            self._state_log.close()
        self._moving = True
        try:
            info = self._robot.reset(suite=suite, task=task, seed=seed)
        finally:
            self._moving = False
        # A scene of another kind may bring another workspace.
        self._adopt_spec()
        self._failure = ''
        self._episode += 1
        self._steps = 0
        self._flags = StepStatus()
        self._instruction = info.instruction
        # Robots start an episode with an open hand.
        self._gripper = self.spec.action.gripper_open
        facts = {'suite': suite, 'task': task, 'seed': seed, **info.facts}
        self._begin_log(facts)
        return self.observe(), facts

    def step(self, action: Any, *, observe: bool = False, images: bool = False) -> StepResult:
        """Execute one control step.

        Args:
          action: (D,) values as spec.action describes them.
          observe: return the state after the step.
          images: with the images of all cameras at their default size.

        Raises:
          BadAction: wrong shape or not finite; the robot has not moved.
          Stopped, NotReset, EpisodeOver: motion is not allowed.
        """
        self._refuse_motion()
        sent, clamps, status = self._advance(action, 0)
        observation = None
        if images:
            observation = self.observe([camera.name for camera in self.spec.cameras])
        elif observe:
            observation = self.observe()
        return StepResult(
            sent,
            clamps=clamps,
            reward=status.reward,
            terminated=status.terminated,
            truncated=status.truncated,
            success=status.success,
            observation=observation,
        )

    def execute_chunk(
        self,
        chunk: ActionChunk,
        *,
        first: int = 0,
        should_stop: ShouldStop = _never,
        on_step: OnStep = _ignore,
    ) -> MotionResult:
        """Execute the first rows of a chunk (0: all), one per control step.

        Raises:
          BadAction, InvalidRequest: the chunk does not fit the robot; it has not moved.
          Stopped, NotReset, EpisodeOver: motion is not allowed.
        """
        self._refuse_motion()
        rows = self._rows_of(chunk, first)
        with _Motion(self):
            clamps: list[Clamp] = []
            for n, row in enumerate(rows):
                ended = self._interruption(should_stop, n)
                if ended:
                    return self._ended(*ended, steps=n, clamps=clamps)
                _, cut, status = self._advance(row, n)
                clamps.extend(cut)
                on_step(MotionProgress(n + 1))
                if status.terminated or status.truncated:
                    return self._ended(*self._episode_end(), steps=n + 1, clamps=clamps)
            return self._ended(ErrorCode.OK, '', steps=len(rows), clamps=clamps)

    def move_to(
        self, goal: MoveGoal, *, should_stop: ShouldStop = _never, on_step: OnStep = _ignore
    ) -> MotionResult:
        """Move the tool centre point in a straight line and wait until it rests.

        A gripper command is sent with every step; the motion then ends when the fingers rest, too.

        Raises:
          OutOfWorkspace: the target lies outside the box; the robot has not moved.
          Stopped, NotReset, EpisodeOver: motion is not allowed.
        """
        self._refuse_motion()
        observation = self._robot.observe()
        target = _resolve(goal, observation.ee_pose)
        if not goal.keep_position:
            self._guard.check_target(target.position)
        gripper = self._gripper_value(goal.gripper)
        speed = self._speed if goal.speed is None else goal.speed
        progress = Progress(
            self._tolerances,
            observation.ee_pose,
            observation.gripper_width,
            wait_for_fingers=goal.gripper != Gripper.KEEP,
        )
        clamps: list[Clamp] = []
        with _Motion(self):
            n = 0
            while True:
                translation, rotation = pose_error(observation.ee_pose, target)
                left = _Left(float(np.linalg.norm(translation)), float(np.linalg.norm(rotation)))
                if n:
                    on_step(MotionProgress(n, left.position, left.orientation))
                    end = self._motion_end(progress, left, n)
                    if end:
                        settled = end[0] == ErrorCode.OK and not self._flags.terminated
                        return self._ended(
                            *end, steps=n, clamps=clamps, left=left, settled=settled
                        )
                ended = self._interruption(should_stop, n)
                if ended:
                    return self._ended(*ended, steps=n, clamps=clamps, left=left)
                action = servo_action(
                    self.spec.action, translation, rotation, gripper=gripper, speed=speed
                )
                _, cut, _ = self._advance(action, n, observation.ee_pose.position)
                clamps.extend(cut)
                observation = self._robot.observe()
                progress.update(observation.ee_pose, observation.gripper_width)
                n += 1

    def observe(
        self,
        cameras: Sequence[str] = (),
        *,
        width: int = 0,
        height: int = 0,
        depth: bool = False,
    ) -> Observation:
        """The present state, with images of the cameras named; size 0 is the camera's default.

        Raises:
          UnknownCamera: a name is not in the spec.
          InvalidRequest: a size is too large.
          RenderFailed: an image could not be made.
        """
        stamp = self._clock()
        seen = self._robot.observe()
        images = tuple(
            self.render(name, width=width, height=height, depth=depth, stamp=stamp)
            for name in cameras
        )
        return dataclasses.replace(
            seen,
            stamp=seen.stamp or stamp,
            frame_id=self._prefix + seen.frame_id,
            episode=self._episode,
            step=self._steps,
            instruction=self._instruction,
            frames=images,
            terminated=self._flags.terminated,
            truncated=self._flags.truncated,
            success=self._flags.success or seen.success,
        )

    def render(
        self, camera: str, *, width: int = 0, height: int = 0, depth: bool = False, stamp: int = 0
    ) -> CameraFrame:
        """One image of the present state.  Arguments and exceptions as `observe`."""
        spec = next((c for c in self.spec.cameras if c.name == camera), None)
        if spec is None:
            known = ', '.join(c.name for c in self.spec.cameras) or 'none'
            raise UnknownCamera(f'unknown camera {camera!r}; known cameras: {known}')
        width, height = width or spec.width, height or spec.height
        if max(width, height) > MAX_IMAGE_SIDE:
            raise InvalidRequest(
                f'camera {camera}: expected an image of at most {MAX_IMAGE_SIDE} px a side, '
                f'got {width} x {height}'
            )
        frame = self._robot.render(camera, width=width, height=height, depth=depth)
        return dataclasses.replace(
            frame,
            frame_id=self._prefix + frame.frame_id,
            stamp=frame.stamp or stamp or self._clock(),
        )

    def scene(self) -> Scene | None:
        """The simulator's own view, counted and stamped; None on a real robot.  PRIVILEGED."""
        scene = self._robot.scene()
        if scene is None:
            return None
        return dataclasses.replace(
            scene,
            stamp=scene.stamp or self._clock(),
            frame_id=self._prefix + scene.frame_id,
            episode=self._episode,
            step=self._steps,
        )

    def hold(self) -> None:
        """Have the robot stand still."""
        self._robot.hold()

    def close(self) -> None:
        """End the state log and release the robot."""
        if self._state_log is not None:
            self._state_log.close()
        self._robot.close()

    def _adopt_spec(self) -> None:
        spec = self._robot.spec
        limits = self._limits(spec.limits) if callable(self._limits) else self._limits
        spec = dataclasses.replace(
            spec, limits=limits or spec.limits, privileged=self._privileged
        )
        self.spec: DriverSpec = frames.prefix_spec(spec, self._prefix)
        self._guard = ActionGuard(spec.action, spec.limits)

    # Refusals.

    def _refuse_if_stopped(self) -> None:
        if self._stop.is_set():
            raise Stopped(f'the driver is stopped ({self._stop_reason}); call resume first')

    def _refuse_motion(self) -> None:
        self._refuse_if_stopped()
        if self._failure:
            raise RobotFailed(f'{self._failure}; call reset, or restart the driver')
        if not self._episode:
            raise NotReset('there is no episode yet; call reset first')
        if self._flags.terminated or self._flags.truncated:
            how = 'terminated' if self._flags.terminated else 'was truncated'
            raise EpisodeOver(
                f'episode {self._episode} {how} after {self._steps} control steps; call reset'
            )

    def _rows_of(self, chunk: ActionChunk, first: int) -> NDArray[np.float32]:
        if chunk.dim != self.spec.action.dim:
            raise BadAction(
                f'action chunk: expected rows of {self.spec.action.dim} values, got {chunk.dim}; '
                'is the policy made for another robot?'
            )
        if first > chunk.horizon:
            raise InvalidRequest(
                f'execute_chunk first: expected at most the {chunk.horizon} rows of the chunk, '
                f'got {first}'
            )
        rows = chunk.data[: first or chunk.horizon]
        limit = self.spec.limits.max_steps
        if len(rows) > limit:
            raise InvalidRequest(
                f'action chunk: expected at most {limit} rows, got {len(rows)}; '
                'send it in several goals'
            )
        return rows

    # Motion.

    def _advance(
        self, action: Any, n: int, position: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], tuple[Clamp, ...], StepStatus]:
        """One control step: limits, robot, counters, log."""
        if position is None and self._guard.needs_position:
            position = self._tool_position()
        sent, clamps = self._guard.apply(action, position, step=n)
        status = self._robot.step(sent)
        self._steps += 1
        self._flags = status
        if self.spec.action.gripper_index >= 0:
            self._gripper = float(sent[self.spec.action.gripper_index])
        if self._state_log is not None:
            state = self._robot.simulator_state()
            if state is not None:
                self._state_log.append(self._clock(), sent, state)
        return sent, clamps, status

    def _observed_position(self) -> NDArray[np.float64]:
        return self._robot.observe().ee_pose.position

    def _gripper_value(self, gripper: Gripper) -> float:
        """KEEP repeats the last command, so that what is held stays held."""
        if gripper == Gripper.OPEN:
            return self.spec.action.gripper_open
        if gripper == Gripper.CLOSE:
            return self.spec.action.gripper_close
        return self._gripper

    def _interruption(self, should_stop: ShouldStop, n: int) -> tuple[ErrorCode, str] | None:
        """Why a motion must not take its next step; None if it may."""
        if self._stop.is_set():
            return ErrorCode.STOPPED, (
                f'stopped after {n} control steps ({self._stop_reason}); call resume first'
            )
        if should_stop():
            return ErrorCode.CANCELED, f'cancelled after {n} control steps; the robot holds'
        return None

    def _episode_end(self) -> tuple[ErrorCode, str]:
        if self._flags.truncated and not self._flags.terminated:
            return ErrorCode.EPISODE_OVER, (
                f'the step limit ended episode {self._episode} after {self._steps} control steps'
            )
        return ErrorCode.OK, ''

    def _motion_end(
        self, progress: Progress, left: _Left, n: int
    ) -> tuple[ErrorCode, str] | None:
        """How a motion has ended after its n-th step; None if it goes on."""
        if self._flags.terminated or self._flags.truncated:
            return self._episode_end()
        if progress.settled(left.position, left.orientation):
            return ErrorCode.OK, ''
        limit = self.spec.limits.max_steps
        if progress.stalled():
            return ErrorCode.NOT_REACHED, (
                f'the tool came to rest {left} short of the target after {n} control steps; '
                'something is in the way, or the pose cannot be reached'
            )
        if n >= limit:
            return ErrorCode.NOT_REACHED, (
                f'the tool was still {left} short of the target after {limit} control steps, '
                'the longest motion allowed'
            )
        return None

    def _ended(
        self,
        code: ErrorCode,
        message: str,
        *,
        steps: int,
        clamps: Sequence[Clamp],
        left: _Left | None = None,
        settled: bool = False,
    ) -> MotionResult:
        if code != ErrorCode.OK:
            self._robot.hold()
        return MotionResult(
            code,
            message,
            steps=steps,
            observation=self.observe(),
            clamps=tuple(clamps),
            settled=settled,
            position_error=left.position if left else math.nan,
            orientation_error=left.orientation if left else math.nan,
        )

    # Log.

    def _begin_log(self, facts: Mapping[str, Any]) -> None:
        state = self._robot.simulator_state() if self._state_log is not None else None
        if self._state_log is None or state is None:
            return
        action = self.spec.action
        header = {
            'robot': self.spec.robot,
            'episode': self._episode,
            'instruction': self._instruction,
            'rate': action.rate,
            'action_names': list(action.names),
            **facts,
        }
        self._state_log.begin(
            header, stamp=self._clock(), action_size=action.dim, state=state
        )


@dataclasses.dataclass(frozen=True)
class _Left:
    """Distance [m] and angle [rad] left to a target."""

    position: float
    orientation: float

    def __str__(self) -> str:
        return f'{1000 * self.position:.0f} mm and {self.orientation:.2f} rad'


class _Motion:
    """Marks the driver as moving; whatever goes wrong inside leaves the robot holding."""

    def __init__(self, driver: DriverCore) -> None:
        self._driver = driver

    def __enter__(self) -> None:
        self._driver._moving = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._driver._moving = False
        if kind is not None:
            self._driver.hold()


def _resolve(goal: MoveGoal, present: Pose) -> Pose:
    """The target with what is to be kept filled in."""
    return Pose(
        present.position if goal.keep_position else goal.target.position,
        present.quaternion if goal.keep_orientation else goal.target.quaternion,
    )
