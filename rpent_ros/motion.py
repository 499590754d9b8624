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
from rpent_ros.geometry import Pose, ToolAngles, quaternion_from_matrix, tool_angles
from rpent_ros.primitives.servo import (
    Progress,
    Tolerances,
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
      index: number of the waypoint that is reached with it; None: a stop on the way.
      gripper: value of the gripper dimension.
      waits_for_fingers: the leg has not ended before the fingers rest.
      stays: the arm is not asked to move; only the fingers are.
      speed: fraction of full speed.
      blend_radius: within this distance the next leg begins [m]; 0.0: come to rest.
    """

    target: Pose
    _: dataclasses.KW_ONLY
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
        self._left = _Left(math.nan, math.nan)
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
        while True:
            translation, rotation = pose_error(self._now.ee_pose, leg.target)
            self._left = _Left(
                float(np.linalg.norm(translation)), float(np.linalg.norm(rotation))
            )
            if self._steps > begun:
                self._on_step(MotionProgress(
                    self._steps, self._left.position, self._left.orientation, self._reached
                ))
            if self._episode.flags.terminated or self._episode.flags.truncated:
                return episode_end(self._episode)
            if self._completed(leg, progress, self._steps - begun):
                return None
            end = self._failed(progress, self._steps - begun) or self._interruption(self._steps)
            if end is not None:
                return end
            self._step(leg, translation, rotation)
            speeds = np.abs(self._now.joint_velocities)
            progress.update(
                self._now.ee_pose, self._now.gripper_width, float(speeds.max(initial=0.0))
            )

    def _step(
        self, leg: Leg, translation: NDArray[np.float64], rotation: NDArray[np.float64]
    ) -> None:
        action = self._episode.spec.action
        row = servo_action(
            action,
            translation,
            rotation,
            gripper=leg.gripper,
            speed=leg.speed,
            longest=smooth_offset(
                self._tolerances,
                math.inf if leg.blend_radius else self._left.position,
                self._steps - self._started,
                action.rate,
            ),
        )
        _, cut, _ = self._episode.advance(row, self._steps, self._now.ee_pose.position)
        self._clamps.extend(cut)
        self._steps += 1
        self._now = self._observe()

    def _completed(self, leg: Leg, progress: Progress, steps: int) -> bool:
        """True if the leg has done what it is there for after `steps` steps."""
        if leg.blend_radius and self._left.position <= leg.blend_radius:
            return True
        if not steps:
            return False
        # Fingers that close on something may push the arm aside a little; that is no failure.
        fingers_only = leg.stays and leg.waits_for_fingers
        return progress.settled(self._left.position, self._left.orientation) or (
            fingers_only and progress.stalled()
        )

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
