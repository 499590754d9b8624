"""How far the arm's joints can take the tool along a path: kinematics on the simulator's model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from rpent_ros.geometry import Pose, rotation_error, rotation_from_vector

Vector = NDArray[np.float64]

# Kept free before the joints' stops [rad].
_MARGIN = 0.02
# The Panda is straight where its elbow is at -(atan(0.0825 / 0.316) + atan(0.0825 / 0.384)), from
# the DH parameters that its maker publishes.  Beyond, up to its stop at -0.07, every pull inwards
# stretches it further and the controller cannot bring it back, so it is kept well before [rad].
_ELBOW, _STRAIGHT = 3, -0.467
_LARGEST_ELBOW = _STRAIGHT - 0.5
# The path is followed in strides of this size [m], [rad], then until it gets no nearer.
_STRIDE, _TURN = 0.025, 0.10
_LAST_STRIDES = 12
# A radian of orientation counts as much as this distance [m].
_LEVER = 0.3
# Damping of the least squares: keeps the joints' strides bounded where the arm is nearly singular.
_DAMPING = 0.02
# Share of the way to its resting posture that the arm makes in one stride where the task leaves it
# free; the controller's null space takes about a second.
_RELAXATION = 0.2


class ArmReach:
    """Follows paths as the arm's controller would: without looking ahead, around no obstacle.

    A joint that meets its stop stays there, as in the controller, which knows of no stops.

    Args:
      model: MuJoCo model.
      site: index of the tool's site.
      joints: names of the arm's joints, from the base.
      rest: (J,) posture that the controller drifts to [rad].
    """

    def __init__(self, model: Any, site: int, joints: Sequence[str], rest: Vector) -> None:
        self._model = model
        # A copy of its own: looking for a posture must not touch the simulation.
        self._data = mujoco.MjData(model)
        self._site = site
        self._qpos = np.array([model.joint(name).qposadr[0] for name in joints])
        self._qvel = np.array([model.joint(name).dofadr[0] for name in joints])
        limits = np.array([model.joint(name).range for name in joints])
        self._low, self._high = limits[:, 0] + _MARGIN, limits[:, 1] - _MARGIN
        self._high[_ELBOW] = _LARGEST_ELBOW
        self._rest = np.array(rest)
        self._jacobian = np.zeros((6, model.nv))

    def path_errors(
        self, joints: Vector, path: Sequence[Pose]
    ) -> list[tuple[float, float]] | None:
        """What is left of each pose of a path when the arm has done what it can.

        Args:
          joints: (J,) where the arm starts [rad].
          path: tool poses in the world frame, in order.

        Returns:
          Distance [m] and angle [rad] left, one pair per pose; None for an arm that has been
          overstretched: whatever may free it shall be tried.
        """
        if joints[_ELBOW] > _STRAIGHT:
            return None
        # An arm that is already beyond a margin may stay there, but go no further.
        low, high = np.minimum(self._low, joints), np.maximum(self._high, joints)
        errors = []
        for target in path:
            joints, left = self._follow(np.array(joints), target, low, high)
            errors.append(left)
        return errors

    def _follow(
        self, joints: Vector, target: Pose, low: Vector, high: Vector
    ) -> tuple[Vector, tuple[float, float]]:
        position, rotation = self._tool(joints)
        turn = rotation_error(target.rotation, rotation)
        way = target.position - position
        count = 1 + int(max(np.linalg.norm(way) / _STRIDE, np.linalg.norm(turn) / _TURN))
        for n in range(1, count + _LAST_STRIDES + 1):
            share = min(n / count, 1.0)
            wanted = rotation_from_vector(share * turn) @ rotation
            joints = self._stride(joints, position + share * way, wanted, low, high)
        reached, turned = self._tool(joints)
        return joints, (
            float(np.linalg.norm(target.position - reached)),
            float(np.linalg.norm(rotation_error(target.rotation, turned))),
        )

    def _stride(
        self, joints: Vector, position: Vector, rotation: Vector, low: Vector, high: Vector
    ) -> Vector:
        """One step of damped least squares towards a pose, relaxing in the null space."""
        now, turned = self._tool(joints)
        error = np.concatenate([position - now, _LEVER * rotation_error(rotation, turned)])
        jacobian = self._derivative()
        gram = jacobian @ jacobian.T + _DAMPING**2 * np.eye(6)
        inverse = np.linalg.solve(gram, jacobian).T
        relax = _RELAXATION * (self._rest - joints)
        stride = inverse @ error + relax - inverse @ (jacobian @ relax)
        return np.clip(joints + stride, low, high)

    def _derivative(self) -> Vector:
        """Jacobian (6, J) of the posture that was looked at last, rotations times the lever."""
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_jacSite(
            self._model, self._data, self._jacobian[:3], self._jacobian[3:], self._site
        )
        out = self._jacobian[:, self._qvel].copy()
        out[3:] *= _LEVER
        return out

    def _tool(self, joints: Vector) -> tuple[Vector, Vector]:
        """Position (3,) and rotation (3, 3) of the tool in a posture."""
        self._data.qpos[self._qpos] = joints
        mujoco.mj_kinematics(self._model, self._data)
        return (
            self._data.site_xpos[self._site].copy(),
            self._data.site_xmat[self._site].reshape(3, 3).copy(),
        )
