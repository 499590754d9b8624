"""Straight-line motion of a tool with delta actions: the next action, arrival, and stalling.

Used by the driver's move_to and by scripted policies, so that both move alike.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.specs import ActionSpec
from rpent_ros.geometry import Pose, nearest_on_line, rotation_error

Vector = NDArray[np.float64]

# The controller behind a delta action covers only part of the offset in one step, so asking for
# more than the distance left gets there sooner without overshooting.
POSITION_GAIN = 1.5


def pose_error(actual: Pose, target: Pose) -> tuple[Vector, Vector]:
    """What is left: translation (3,) [m] and rotation (3,) [rad], both in the base frame."""
    return target.position - actual.position, rotation_error(target.rotation, actual.rotation)


def servo_action(
    spec: ActionSpec,
    translation: Vector,
    rotation: Vector,
    *,
    gripper: float,
    speed: float = 1.0,
    longest: float = math.inf,
) -> Vector:
    """The action (D,) that moves the tool towards a target.

    Translation and rotation each keep their direction when they are scaled down to the bounds.
    The whole rotation left is sent in every step: some controllers re-base on the actual
    orientation at every non-zero rotation, so sending less would let it drift.

    Args:
      spec: x y z roll pitch yaw and a gripper, in this order.
      translation: what is left, (3,) [m], in spec.frame_id.
      rotation: what is left, (3,) [rad], in spec.frame_id.
      gripper: value of the gripper dimension.
      speed: fraction of full speed for the translation.
      longest: longest translation to ask for [m], see `smooth_offset`.
    """
    action = np.empty(spec.dim)
    xyz, rpy = slice(0, 3), slice(3, 6)
    wanted = POSITION_GAIN * translation
    length = float(np.linalg.norm(wanted))
    if length > longest:
        wanted = wanted * (longest / length)
    wanted = wanted / spec.scale[xyz]
    action[xyz] = _within(wanted, speed * spec.low[xyz], speed * spec.high[xyz])
    action[rpy] = _within(rotation / spec.scale[rpy], spec.low[rpy], spec.high[rpy])
    if spec.gripper_index >= 0:
        action[spec.gripper_index] = gripper
    return action


def along_line(position: Vector, start: Vector, end: Vector, lookahead: float) -> Vector:
    """The translation (3,) left, turned so that a tool beside its line comes back to it [m].

    It heads for a place on the line a little further on ("pure pursuit", R. C. Coulter, 1992).

    Args:
      position: (3,) of the tool [m].
      start: (3,) where the line begins [m].
      end: (3,) where it ends [m].
      lookahead: how far ahead that place lies [m].
    """
    left = end - position
    foot = nearest_on_line(position, start, end)
    rest = float(np.linalg.norm(end - foot))
    if rest <= lookahead:
        return left
    heading = foot + (end - foot) * (lookahead / rest) - position
    return heading * float(np.linalg.norm(left) / np.linalg.norm(heading))


def _within(values: Vector, low: Vector, high: Vector) -> Vector:
    """Values scaled down until all lie between their bounds, which are on both sides of zero."""
    bounds = np.where(values > 0.0, high, -low)
    ratios = np.divide(bounds, np.abs(values), out=np.full(3, np.inf), where=values != 0.0)
    smallest = float(ratios.min())
    return values * smallest if smallest < 1.0 else values


def smooth_offset(tolerances: Tolerances, distance: float, steps: int, rate: float) -> float:
    """Longest translation to ask for in one step for a smooth start and a smooth halt [m].

    At a distance d and a deceleration a the speed may be sqrt(2 a d).  A tool that arrives faster
    swings: an arm's elbow moves on when the tool has been stopped, and it takes seconds to settle.

    Args:
      tolerances: the accelerations, and what the controller makes of a request.
      distance: to the place to halt at [m]; infinite: there is none.
      steps: steps taken since the tool stood still.
      rate: control rate [Hz].
    """
    gained = tolerances.acceleration * (steps + 1) / rate
    allowed = math.sqrt(2.0 * tolerances.deceleration * distance)
    return min(gained, allowed) / (rate * tolerances.response)


@dataclasses.dataclass(frozen=True)
class Tolerances:
    """When a motion has arrived, is at rest, or is stuck, and how it brakes.

    The values suit operational space control of a Panda; they were chosen by measurement, see
    docs/motion.md.

    Attributes:
      position, orientation: what may be left on arrival [m], [rad].
      acceleration, deceleration: of the tool after a start and before a halt [m/s^2].
      lookahead: how far ahead on its line the tool heads for [m].
      response: share of a requested translation that the controller covers in one step.
      settle_steps: steps at rest on arrival.
      rest_translation, rest_rotation: movement per step of a tool at rest [m], [rad].
      rest_joints: largest speed of a joint at rest [rad/s]: an elbow that swings moves the tool
        very little and comes back.
      rest_width: change of the finger distance per step of fingers at rest [m].
      stall_steps: steps at rest short of the target after which a motion is stuck.
      start_steps: steps that a motion has to get going before it can be stuck.
      finger_steps: steps at rest after which commanded fingers have finished.
      finger_start_steps: steps that commanded fingers have to get going: those that squeeze
        something stand still until the squeeze has been taken back.
    """

    position: float = 0.003
    orientation: float = 0.015
    acceleration: float = 0.5
    deceleration: float = 0.12
    lookahead: float = 0.05
    response: float = 0.25
    settle_steps: int = 2
    rest_translation: float = 0.0004
    rest_rotation: float = 0.003
    rest_joints: float = 0.02
    rest_width: float = 0.0003
    stall_steps: int = 15
    start_steps: int = 8
    finger_steps: int = 3
    finger_start_steps: int = 8


class Progress:
    """Follows one motion from step to step.

    Args:
      tolerances: see there.
      start: pose of the tool before the first step.
      width: distance between the fingers then [m]; NaN: not measured.
      wait_for_fingers: the motion has not ended before the fingers rest.
    """

    def __init__(
        self, tolerances: Tolerances, start: Pose, width: float, *, wait_for_fingers: bool
    ) -> None:
        self._tolerances = tolerances
        self._pose = start
        self._width = width
        self._wait_for_fingers = wait_for_fingers
        self._steps = 0
        self._still_steps = 0
        self._stuck_steps = 0
        self._finger_steps = 0

    def update(self, pose: Pose, width: float, joint_speed: float = 0.0) -> None:
        """Take in the state after one control step.

        Args:
          pose: of the tool.
          width: distance between the fingers [m]; NaN: not measured.
          joint_speed: of the fastest joint [rad/s].
        """
        t = self._tolerances
        moved, turned = pose_error(self._pose, pose)
        still = np.linalg.norm(moved) < t.rest_translation
        still = still and np.linalg.norm(turned) < t.rest_rotation
        swinging = joint_speed > t.rest_joints
        # A NaN width never compares as moved: unmeasured fingers are not waited for.
        fingers_moved = abs(width - self._width) > t.rest_width
        self._pose, self._width = pose, width
        self._steps += 1
        self._still_steps = self._still_steps + 1 if still else 0
        self._stuck_steps = self._stuck_steps + 1 if still and not swinging else 0
        self._finger_steps = 0 if fingers_moved else self._finger_steps + 1

    @property
    def fingers_done(self) -> bool:
        """True if nothing is left to wait for at the fingers."""
        t = self._tolerances
        at_rest = self._steps >= t.finger_start_steps and self._finger_steps >= t.finger_steps
        return not self._wait_for_fingers or at_rest

    def settled(self, position_error: float, orientation_error: float) -> bool:
        """True if the tool is where it should be and at rest, and the fingers have finished."""
        t = self._tolerances
        arrived = position_error <= t.position and orientation_error <= t.orientation
        # Before the first step nothing is known about speed: the caller takes one step at least.
        return arrived and self._still_steps >= t.settle_steps and self.fingers_done

    def stalled(self) -> bool:
        """True if the tool has stopped moving, wherever it is, and the fingers have finished."""
        t = self._tolerances
        return (
            self._steps >= t.start_steps
            and self._stuck_steps >= t.stall_steps
            and self.fingers_done
        )
