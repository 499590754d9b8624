"""What every driver does, whatever the robot: episodes, motions at control rate, safety, stop.

`DriverCore` is called from one thread, the one that owns the robot.  Only `stop`, `resume`,
`state` and `spec` may be used from any thread.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.labels import LabelImage
from rpent_ros.contracts.motion import (
    ActionChunk,
    Clamp,
    Gripper,
    MotionResult,
    StepResult,
    Waypoint,
    as_waypoints,
)
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import DriverSpec, SafetyLimits
from rpent_ros.driver_state import DriverState, MotionProgress, Status
from rpent_ros.episode import Episode
from rpent_ros.errors import (
    BadAction,
    EpisodeOver,
    ErrorCode,
    InvalidRequest,
    NotReset,
    OutOfWorkspace,
    RobotFailed,
    Stopped,
)
from rpent_ros.geometry import Pose
from rpent_ros.motion import Leg, MotionRun, OnStep, episode_end, legs_of
from rpent_ros.ports import ShouldStop
from rpent_ros.primitives.servo import Tolerances
from rpent_ros.reach import Reach
from rpent_ros.robot import Robot
from rpent_ros.state_log import StateLog

# Orientation errors up to this leave the commanded orientation in force [rad].
_STILL_MEANT = 0.3


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
        self._episode = Episode(
            robot,
            limits=limits,
            clock=clock,
            privileged=privileged,
            frame_prefix=frame_prefix,
            state_log=state_log,
        )
        self._speed = speed
        self._tolerances = tolerances or Tolerances()
        self._reach = Reach(robot)
        # What was commanded last; None: nothing, or by actions whose target nobody knows.
        self._commanded: Pose | None = None
        self._stop = threading.Event()
        self._stop_reason = ''
        self._failure = ''
        self._moving = False

    # From any thread.

    @property
    def spec(self) -> DriverSpec:
        """What the robot offers, under the driver's limits; a reset may change its workspace."""
        return self._episode.spec

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
            if not self._episode.number and not self._moving:
                status = Status.UNINITIALISED
        return DriverState(
            status,
            reason,
            episode=self._episode.number,
            step=self._episode.steps,
            terminated=self._episode.flags.terminated,
            truncated=self._episode.flags.truncated,
            success=self._episode.flags.success,
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
        self._moving = True
        try:
            answer = self._episode.reset(suite=suite, task=task, seed=seed)
            self._commanded = None
        finally:
            self._moving = False
        self._failure = ''
        return answer

    def step(self, action: Any, *, observe: bool = False, images: bool = False) -> StepResult:
        """Execute one control step.

        Args:
          action: (D,) values as spec.action describes them.
          observe: return the state after the step.
          images: with the images of all cameras at their default size.

        Raises:
          BadAction: wrong shape or not finite; the robot has not moved.
          OutOfWorkspace: the step took the tool out of the box, or further out; the robot holds.
          Stopped, NotReset, EpisodeOver: motion is not allowed.
        """
        self._refuse_motion()
        self._commanded = None
        sent, clamps, status = self._episode.advance(action, 0)
        if self._episode.escape and not (status.terminated or status.truncated):
            self._episode.hold()
            raise OutOfWorkspace(f'{self._episode.escape}; the robot holds; move back inside')
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
                _, cut, status = self._episode.advance(row, n)
                clamps.extend(cut)
                on_step(MotionProgress(n + 1))
                if status.terminated or status.truncated:
                    end = episode_end(self._episode)
                    return self._ended(*end, steps=n + 1, clamps=clamps)
                if self._episode.escape:
                    message = (
                        f'{self._episode.escape}, after {n + 1} control steps; the robot holds; '
                        'move back inside'
                    )
                    return self._ended(
                        ErrorCode.OUT_OF_WORKSPACE, message, steps=n + 1, clamps=clamps
                    )
            return self._ended(ErrorCode.OK, '', steps=len(rows), clamps=clamps)

    def move_to(
        self,
        waypoints: Waypoint | Sequence[Waypoint],
        *,
        should_stop: ShouldStop = _never,
        on_step: OnStep = _ignore,
    ) -> MotionResult:
        """Move the tool centre point through waypoints in straight lines and wait until it rests.

        What a waypoint keeps is what was commanded last.  A gripper command is sent with every
        step; a waypoint with one is reached when the fingers rest, too.  Where the arm cannot
        follow a long line, it goes around by itself.

        Raises:
          OutOfWorkspace, OutOfReach: a target cannot be approached; the robot has not moved.
          Stopped, NotReset, EpisodeOver: motion is not allowed.
        """
        self._refuse_motion()
        asked = as_waypoints(waypoints)
        now = self._robot.observe()
        legs = legs_of(
            asked, self._commanded or now.ee_pose, self._gripper_value, self._speed
        )
        for leg, waypoint in zip(legs, asked, strict=True):
            if not waypoint.keep_position:
                self._episode.guard.check_target(leg.target.position)
        legs = self._reach.plan(now.ee_pose.position, legs, self.spec.limits)
        run = MotionRun(
            self._episode,
            self._robot.observe,
            self._tolerances,
            max_steps=self.spec.limits.max_steps,
            interruption=lambda n: self._interruption(should_stop, n),
            on_step=on_step,
        )
        with _Motion(self):
            result = run.run(legs)
        self._commanded = _commanded_after(result, legs, self._robot.observe().ee_pose)
        return self._finish(result)

    def observe(
        self,
        cameras: Sequence[str] = (),
        *,
        width: int = 0,
        height: int = 0,
        depth: bool = False,
    ) -> Observation:
        """The present state; see `Episode.observe`."""
        return self._episode.observe(cameras, width=width, height=height, depth=depth)

    def render(
        self, camera: str, *, width: int = 0, height: int = 0, depth: bool = False
    ) -> CameraFrame:
        """One image of the present state; see `Episode.render`."""
        return self._episode.render(camera, width=width, height=height, depth=depth)

    def label_image(self, camera: str, *, width: int = 0, height: int = 0) -> LabelImage:
        """Which object each pixel shows; see `Episode.label_image`.  PRIVILEGED."""
        return self._episode.label_image(camera, width=width, height=height)

    def scene(self) -> Scene | None:
        """The simulator's own view; see `Episode.scene`.  PRIVILEGED."""
        return self._episode.scene()

    def hold(self) -> None:
        """Have the robot stand still."""
        self._episode.hold()

    def close(self) -> None:
        """End the state log and release the robot."""
        self._episode.close()
        self._robot.close()

    # Refusals.

    def _refuse_if_stopped(self) -> None:
        if self._stop.is_set():
            raise Stopped(f'the driver is stopped ({self._stop_reason}); call resume first')

    def _refuse_motion(self) -> None:
        self._refuse_if_stopped()
        if self._failure:
            raise RobotFailed(f'{self._failure}; call reset, or restart the driver')
        if not self._episode.number:
            raise NotReset('there is no episode yet; call reset first')
        if self._episode.flags.terminated or self._episode.flags.truncated:
            how = 'terminated' if self._episode.flags.terminated else 'was truncated'
            raise EpisodeOver(
                f'episode {self._episode.number} {how} after {self._episode.steps} control steps; '
                'call reset'
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

    def _gripper_value(self, gripper: Gripper) -> float:
        """KEEP repeats the last command, so that what is held stays held."""
        if gripper == Gripper.OPEN:
            return self.spec.action.gripper_open
        if gripper == Gripper.CLOSE:
            return self.spec.action.gripper_close
        return self._episode.gripper

    def _interruption(self, should_stop: ShouldStop, n: int) -> tuple[ErrorCode, str] | None:
        """Why a motion must not take its next step; None if it may."""
        if self._stop.is_set():
            return ErrorCode.STOPPED, (
                f'stopped after {n} control steps ({self._stop_reason}); call resume first'
            )
        if should_stop():
            return ErrorCode.CANCELED, f'cancelled after {n} control steps; the robot holds'
        return None

    def _ended(
        self, code: ErrorCode, message: str, *, steps: int, clamps: Sequence[Clamp]
    ) -> MotionResult:
        # What a policy commands, nobody knows better than the arm.
        self._commanded = None
        return self._finish(
            MotionResult(code, message, steps=steps, observation=None, clamps=tuple(clamps))
        )

    def _finish(self, result: MotionResult) -> MotionResult:
        """The result with the state at the end; a robot that was interrupted holds."""
        if result.code != ErrorCode.OK:
            self._episode.hold()
        return dataclasses.replace(result, observation=self.observe())


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


def _commanded_after(result: MotionResult, legs: Sequence[Leg], now: Pose) -> Pose:
    """What later motions keep: the target if it was reached, otherwise where the tool is.

    A motion that only kept the orientation keeps it also for the next one: whatever stopped it
    may have turned the tool a little.
    """
    last = legs[-1]
    if result.code == ErrorCode.OK:
        return last.target
    turned = result.orientation_error > _STILL_MEANT
    return Pose(now.position, now.quaternion if turned else last.target.quaternion)
