"""Poses and rotations.  Metres, radians, right-handed frames, quaternions x y z w."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.errors import InvalidRequest

Vector = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Pose:
    """Position and orientation of one frame in another.

    Attributes:
      position: (3,) metres.
      quaternion: (4,) x y z w, normalised on construction.
    """

    position: Vector
    quaternion: Vector = dataclasses.field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))

    def __post_init__(self) -> None:
        object.__setattr__(
            self, 'position', checks.array('pose.position', self.position, shape=(3,))
        )
        q = checks.array('pose.quaternion', self.quaternion, shape=(4,))
        norm = float(np.linalg.norm(q))
        if norm < 1e-6:
            raise InvalidRequest('pose.quaternion: expected a rotation, got all zeros')
        object.__setattr__(
            self, 'quaternion', checks.array('pose.quaternion', q / norm, shape=(4,))
        )

    @property
    def rotation(self) -> Vector:
        """Rotation matrix (3, 3); its columns are this frame's axes in the parent frame."""
        return matrix_from_quaternion(self.quaternion)

    def matrix(self) -> Vector:
        """Homogeneous transform (4, 4) from this frame to its parent."""
        out = np.eye(4)
        out[:3, :3] = self.rotation
        out[:3, 3] = self.position
        return out

    def apply(self, points: Any) -> Vector:
        """Express points (N, 3) or (3,) of this frame in the parent frame [m]."""
        return np.asarray(points, float) @ self.rotation.T + self.position

    @classmethod
    def from_matrix(cls, matrix: Any) -> Pose:
        """Make a pose from a homogeneous transform (4, 4)."""
        m = checks.array('pose.matrix', matrix, shape=(4, 4))
        return cls(m[:3, 3], quaternion_from_matrix(m[:3, :3]))


def matrix_from_quaternion(quaternion: Any) -> Vector:
    """Rotation matrix (3, 3) of a unit quaternion x y z w."""
    x, y, z, w = (float(v) for v in quaternion)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])


def quaternion_from_matrix(rotation: Any) -> Vector:
    """Unit quaternion x y z w of a rotation matrix (3, 3), with w >= 0.

    Shepperd's method: divides by the largest of four candidates, so it is exact near 180 degrees.
    """
    m = np.asarray(rotation, float)
    squares = np.array([
        1 + m[0, 0] - m[1, 1] - m[2, 2],
        1 - m[0, 0] + m[1, 1] - m[2, 2],
        1 - m[0, 0] - m[1, 1] + m[2, 2],
        1 + m[0, 0] + m[1, 1] + m[2, 2],
    ])
    k = int(np.argmax(squares))
    r = math.sqrt(max(squares[k], 0.0))
    # Sums and differences of opposite entries, over twice the root.
    xy, xz, yz = (m[i, j] + m[j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    wx, wy, wz = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    rows = ((r * r, xy, xz, wx), (xy, r * r, yz, wy), (xz, yz, r * r, wz), (wx, wy, wz, r * r))
    q = np.array(rows[k]) / (2 * r)
    return q if q[3] >= 0 else -q


def rotation_vector(rotation: Any) -> Vector:
    """Axis times angle (3,) [rad] of a rotation matrix (3, 3); the angle lies in [0, pi]."""
    x, y, z, w = quaternion_from_matrix(rotation)
    vector = np.array([x, y, z])
    sine = float(np.linalg.norm(vector))
    if sine < 1e-12:
        return np.zeros(3)
    return vector / sine * 2.0 * math.atan2(sine, w)


def rotation_from_vector(vector: Any) -> Vector:
    """Rotation matrix (3, 3) of axis times angle (3,) [rad]."""
    v = np.asarray(vector, float)
    angle = float(np.linalg.norm(v))
    if angle < 1e-12:
        return np.eye(3)
    half = angle / 2
    return matrix_from_quaternion([*(v / angle * math.sin(half)), math.cos(half)])


def rotation_error(target: Any, actual: Any) -> Vector:
    """Rotation (3,) [rad] in the parent frame that turns `actual` into `target`, both (3, 3)."""
    return rotation_vector(np.asarray(target, float) @ np.asarray(actual, float).T)


def rotation_about_z(angle: float) -> Vector:
    """Rotation matrix (3, 3) about z by `angle` [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@dataclasses.dataclass(frozen=True)
class ToolAngles:
    """Orientation of a tool in angles that are zero for one that points straight down.

    The tool's z axis is the approach axis.  Its rotation in the parent frame is

        R = Rx(pitch) Ry(lean) Rz(yaw) D,  D = diag(1, -1, -1)

    so that yaw turns the tool about its approach axis, counter-clockwise seen from above; pitch
    tilts the approach axis about the parent's x axis, with +pi/2 pointing along +y; lean tilts it
    towards -x.  Without tilt, yaw is the direction of the tool's x axis in the parent's xy plane.
    Pitch and yaw are in (-pi, pi], lean in [-pi/2, pi/2], where pitch and yaw are ambiguous.

    Attributes:
      pitch, yaw, lean: [rad].
    """

    pitch: float
    yaw: float
    lean: float = 0.0

    @property
    def rotation(self) -> Vector:
        """Rotation matrix (3, 3) of the tool in the parent frame."""
        x, y = [self.pitch, 0.0, 0.0], [0.0, self.lean, 0.0]
        tilt = rotation_from_vector(x) @ rotation_from_vector(y)
        return tilt @ rotation_about_z(self.yaw) @ np.diag([1.0, -1.0, -1.0])


def tool_angles(rotation: Any) -> ToolAngles:
    """Angles of a tool's rotation matrix (3, 3), the inverse of `ToolAngles.rotation`."""
    m = np.asarray(rotation, float)
    pitch = math.atan2(m[1, 2], -m[2, 2])
    lean = math.asin(min(max(-m[0, 2], -1.0), 1.0))
    upright = ToolAngles(pitch, 0.0, lean).rotation.T @ m
    # What is left is D Rz(yaw) D seen from the tool: a turn by -yaw about its approach axis.
    return ToolAngles(pitch, math.atan2(-upright[1, 0], upright[0, 0]), lean)


def yaw_of_tool(rotation: Any) -> float:
    """Yaw [rad] of a tool's rotation matrix (3, 3), see `ToolAngles`."""
    return tool_angles(rotation).yaw


def wrap_angle(angle: float) -> float:
    """The same angle in (-pi, pi] [rad]."""
    return -((-angle + math.pi) % (2 * math.pi) - math.pi)


def nearest_on_line(position: Vector, start: Vector, end: Vector) -> Vector:
    """The place (3,) on the straight way between two others that is nearest to a position (3,)."""
    line = end - start
    square = float(line @ line)
    share = float((position - start) @ line) / square if square else 0.0
    return start + min(max(share, 0.0), 1.0) * line


def nearest_half_turn(yaw: float, reference: float) -> float:
    """The equivalent of a yaw, modulo half a turn, that lies closest to a reference [rad].

    A gripper with two fingers closes the same way after half a turn.
    """
    return reference + (yaw - reference + math.pi / 2) % math.pi - math.pi / 2
