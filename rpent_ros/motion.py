"""Runs a motion through waypoints at control rate, whatever the robot."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.motion import Clamp, Gripper, MotionResult, Waypoint
from rpent_ros.contracts.observation import Observation
from rpent_ros.driver_state import MotionProgress
from rpent_ros.episode import Episode
from rpent_ros.errors import ErrorCode
from rpent_ros.geometry import (
    Pose,
    ToolAngles,
    nearest_on_line,
    quaternion_from_matrix,
    tool_angles,
)
from rpent_ros.primitives.servo import (
    Progress,
    Tolerances,
    along_line,
    pose_error,
    servo_action,
    smooth_offset,
)

OnStep = Callable[[MotionProgress], None]
# How something has ended: a code and a sentence.
End = tuple[ErrorCode, str]
# Given the number of steps taken: why the next one must not be taken, None if it may.
Interruption = Callable[[int], 'End | None']
_OK: End = (ErrorCode.OK, '')


@dataclasses.dataclass(frozen=True)
class Leg:
    """A waypoint with everything filled in.

    Attributes:
      target: pose to reach.
      requested: pose of the waypoint; another than the target for a stop on the way to it.
      index: number of the waypoint that is reached with it; None: a stop on the way.
      gripper: value of the gripper dimension.
      waits_for_fingers: the leg has not ended before the fingers rest.
      stays: the arm is not asked to move; only the fingers are.
      speed: fraction of full speed.
      blend_radius: within this distance the next leg begins [m]; 0.0: come to rest.
    """

    target: Pose
    _: dataclasses.KW_ONLY
    requested: Pose
    index: int | None
    gripper: float
    waits_for_fingers: bool
    stays: bool
    speed: float
    blend_radius: float


@dataclasses.dataclass(frozen=True)
class _Left:
    """Distance [m] and angle [rad] left to a target."""

    position: float
    orientation: float

    @classmethod
    def of(cls, now: Pose, target: Pose) -> _Left:
        """What is left to a target from where the tool is."""
        translation, rotation = pose_error(now, target)
        return cls(float(np.linalg.norm(translation)), float(np.linalg.norm(rotation)))

    def __str__(self) -> str:
        return f'{1000 * self.position:.0f} mm and {self.orientation:.2f} rad'


def legs_of(
    waypoints: Sequence[Waypoint],
    commanded: Pose,
    gripper_value: Callable[[Gripper], float],
    default_speed: float,
) -> tuple[Leg, ...]:
    """Fill in what the waypoints leave open.

    Args:
      waypoints: what was asked for.
      commanded: pose that was commanded last: what is kept is kept relative to it.
      gripper_value: value of the gripper dimension for a command; KEEP gives the one in force.
      default_speed: fraction of full speed for waypoints that name none.
    """
    legs = []
    value = gripper_value(Gripper.KEEP)
    for index, waypoint in enumerate(waypoints):
        commanded = resolve(waypoint, commanded)
        if waypoint.gripper != Gripper.KEEP:
            value = gripper_value(waypoint.gripper)
        legs.append(Leg(
            commanded,
            requested=commanded,
            index=index,
            gripper=value,
            waits_for_fingers=waypoint.gripper != Gripper.KEEP,
            stays=waypoint.keep_position and waypoint.keep_orientation,
            speed=default_speed if waypoint.speed is None else waypoint.speed,
            blend_radius=waypoint.blend_radius,
        ))
    return tuple(legs)


def resolve(waypoint: Waypoint, present: Pose) -> Pose:
    """The target of a waypoint with what is to be kept filled in."""
    target = waypoint.target
    position = present.position if waypoint.keep_position else target.position
    if waypoint.keep_orientation:
        return Pose(position, present.quaternion)
    if not waypoint.keep_tilt and not waypoint.keep_yaw:
        return Pose(position, target.quaternion)
    now, then = tool_angles(present.rotation), tool_angles(target.rotation)
    tilt = now if waypoint.keep_tilt else then
    yaw = now.yaw if waypoint.keep_yaw else then.yaw
    rotation = ToolAngles(tilt.pitch, yaw, tilt.lean).rotation
    return Pose(position, quaternion_from_matrix(rotation))


class MotionRun:
    """One motion; made for each goal.

    Args:
      episode: takes the control steps.
      observe: the present state.
      tolerances: when a leg has ended.
      max_steps: longest motion [control steps].
      interruption: asked before each step.
      on_step: told after each step.
    """

    def __init__(
        self,
        episode: Episode,
        observe: Callable[[], Observation],
        tolerances: Tolerances,
        *,
        max_steps: int,
        interruption: Interruption,
        on_step: OnStep,
    ) -> None:
        self._episode = episode
        self._observe = observe
        self._tolerances = tolerances
        self._max_steps = max_steps
        self._interruption = interruption
        self._on_step = on_step
        self._now = observe()
        # To the waypoint, and to where the leg ends, which may be a stop on the way.
        self._left = self._leg_left = _Left(math.nan, math.nan)
        self._line_start = self._now.ee_pose.position
        self._steps = 0
        self._started = 0
        self._reached = 0
        self._clamps: list[Clamp] = []

    def run(self, legs: Sequence[Leg]) -> MotionResult:
        """Go through all legs; the result says how far it came."""
        end: End | None = None
        route: list[NDArray[np.float64]] = []
        for leg in legs:
            end = self._run_leg(leg)
            if end is not None:
                break
            if not leg.blend_radius:
                self._started = self._steps
            if leg.index is None:
                route.append(leg.target.position)
            else:
                self._reached = leg.index + 1
        code, message = end or _OK
        return MotionResult(
            code,
            message,
            steps=self._steps,
            observation=None,
            clamps=tuple(self._clamps),
            reached=self._reached,
            route=tuple(route),
            settled=end is None,
            position_error=self._left.position,
            orientation_error=self._left.orientation,
        )

    def _run_leg(self, leg: Leg) -> End | None:
        """Run one leg; None if it was completed, otherwise how the motion has ended."""
        progress = Progress(
            self._tolerances,
            self._now.ee_pose,
            self._now.gripper_width,
            wait_for_fingers=leg.waits_for_fingers,
        )
        begun = self._steps
        self._line_start = self._now.ee_pose.position
        while True:
            steps = self._steps - begun
            self._left = _Left.of(self._now.ee_pose, leg.requested)
            self._leg_left = _Left.of(self._now.ee_pose, leg.target)
            if steps:
                self._on_step(MotionProgress(
                    self._steps, self._left.position, self._left.orientation, self._reached
                ))
            if self._episode.flags.terminated or self._episode.flags.truncated:
                return episode_end(self._episode)
            end = self._astray(leg) if steps else None
            if end is None and self._completed(leg, progress, steps):
                return None
            end = end or self._failed(progress, steps) or self._interruption(self._steps)
            if end is not None:
                return end
            self._step(leg)
            speeds = np.abs(self._now.joint_velocities)
            progress.update(
                self._now.ee_pose, self._now.gripper_width, float(speeds.max(initial=0.0))
            )

    def _step(self, leg: Leg) -> None:
        action = self._episode.spec.action
        now = self._now.ee_pose
        row = servo_action(
            action,
            along_line(
                now.position, self._line_start, leg.target.position, self._tolerances.lookahead
            ),
            pose_error(now, leg.target)[1],
            gripper=leg.gripper,
            speed=leg.speed,
            longest=smooth_offset(
                self._tolerances,
                math.inf if leg.blend_radius else self._leg_left.position,
                self._steps - self._started,
                action.rate,
            ),
        )
        _, cut, _ = self._episode.advance(row, self._steps, now.position)
        self._clamps.extend(cut)
        self._steps += 1
        self._now = self._observe()

    def _completed(self, leg: Leg, progress: Progress, steps: int) -> bool:
        """True if the leg has done what it is there for after `steps` steps."""
        if leg.blend_radius and self._leg_left.position <= leg.blend_radius:
            return True
        if not steps:
            return False
        # Fingers that close on something may push the arm aside a little; that is no failure.
        fingers_only = leg.stays and leg.waits_for_fingers
        return progress.settled(self._leg_left.position, self._leg_left.orientation) or (
            fingers_only and progress.stalled()
        )

    def _astray(self, leg: Leg) -> End | None:
        """Why the motion must end where the last step has taken the tool; None if it need not."""
        if self._episode.escape:
            return ErrorCode.OUT_OF_WORKSPACE, (
                f'{self._episode.escape}, {self._left} short of the target after {self._steps} '
                'control steps; the robot holds'
            )
        position = self._now.ee_pose.position
        line = nearest_on_line(position, self._line_start, leg.target.position)
        off = float(np.linalg.norm(position - line))
        limit = self._episode.spec.limits.max_deviation
        if off > limit:
            return ErrorCode.NOT_REACHED, (
                f'the tool strayed {1000 * off:.0f} mm off its straight line (at most '
                f'{1000 * limit:.0f}), {self._left} short of the target after {self._steps} '
                'control steps; the robot holds; something pushes it aside, or the arm cannot '
                'follow'
            )
        return None

    def _failed(self, progress: Progress, steps: int) -> End | None:
        """Why a leg cannot be completed any more after `steps` steps; None if it may be."""
        if steps and progress.stalled():
            return ErrorCode.NOT_REACHED, (
                f'the tool came to rest {self._left} short of the target after {self._steps} '
                'control steps; something is in the way, or the pose cannot be reached'
            )
        if self._steps >= self._max_steps:
            return ErrorCode.NOT_REACHED, (
                f'the tool was still {self._left} short of the target after {self._max_steps} '
                'control steps, the longest motion allowed'
            )
        return None


def episode_end(episode: Episode) -> End:
    """How a motion ends that its episode has ended."""
    if episode.flags.truncated and not episode.flags.terminated:
        return ErrorCode.EPISODE_OVER, (
            f'the step limit ended episode {episode.number} after {episode.steps} control steps'
        )
    return _OK
