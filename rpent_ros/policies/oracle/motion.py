"""Rows of actions towards a pose, planned a few control steps ahead of feedback.

A delta action moves the goal of a stiff, critically damped controller: in every control step the
goal is the pose at its start plus the commanded offset.  Along each axis that is

    x'' = k (goal - x) - 2 sqrt(k) x',   k = STIFFNESS,

whose solution over one step is exact in closed form, so the pose after each row of a chunk can be
predicted and the next row aimed from there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.specs import ActionSpec
from rpent_ros.geometry import rotation_error, rotation_from_vector
from rpent_ros.primitives.servo import servo_action

Vector = NDArray[np.float64]

# Of robosuite's OSC_POSE configuration [1/s^2].
STIFFNESS = 150.0


def after_step(offset: Vector, velocity: Vector, duration: float) -> tuple[Vector, Vector]:
    """Movement and velocity after one control step.

    Args:
      offset: commanded offset of the goal [m or rad].
      velocity: at the start of the step [per second].
      duration: of the step [s].

    Returns:
      Movement during the step, and velocity at its end.
    """
    rate = math.sqrt(STIFFNESS)
    decay = math.exp(-rate * duration)
    # Error x - goal = (a + b t) exp(-rate t), with error(0) = -offset.
    a = -np.asarray(offset, float)
    b = np.asarray(velocity, float) + rate * a
    error = (a + b * duration) * decay
    return error - a, (b - rate * (a + b * duration)) * decay


class Predictor:
    """Pose and velocity of the tool, a few rows into the future.

    Args:
      spec: meaning of a row.
      position, rotation: (3,) [m], (3, 3) now.
      twist: (6,) linear [m/s] and angular [rad/s] velocity now.
    """

    def __init__(
        self, spec: ActionSpec, position: Vector, rotation: Vector, twist: Vector
    ) -> None:
        self._spec = spec
        self.position = position
        self.rotation = rotation
        self._velocity, self._spin = twist[:3], twist[3:]

    def row(
        self, target: Vector, orientation: Vector, *, gripper: float, speed: float
    ) -> Vector:
        """The next row (D,) towards a target, and take it.

        Args:
          target: (3,) [m].
          orientation: (3, 3).
          gripper: value of the gripper's dimension.
          speed: fraction of full speed.
        """
        action = servo_action(
            self._spec,
            target - self.position,
            rotation_error(orientation, self.rotation),
            gripper=gripper,
            speed=speed,
        )
        duration = 1.0 / self._spec.rate
        offset = action[:6] * self._spec.scale[:6]
        moved, self._velocity = after_step(offset[:3], self._velocity, duration)
        turned, self._spin = after_step(offset[3:], self._spin, duration)
        self.position = self.position + moved
        self.rotation = rotation_from_vector(turned) @ self.rotation
        return action
