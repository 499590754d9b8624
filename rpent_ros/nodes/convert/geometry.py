"""Stamps, headers, vectors and poses."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Twist, Vector3
from geometry_msgs.msg import Pose as PoseMsg
from numpy.typing import NDArray
from std_msgs.msg import Header

from rpent_ros.geometry import Pose

_NANOSECONDS = 1_000_000_000


def stamp_to_msg(stamp: int) -> Time:
    """Time message of nanoseconds since the epoch."""
    seconds, nanoseconds = divmod(int(stamp), _NANOSECONDS)
    return Time(sec=seconds, nanosec=nanoseconds)


def stamp_from_msg(msg: Time) -> int:
    """Nanoseconds since the epoch of a time message."""
    return int(msg.sec) * _NANOSECONDS + int(msg.nanosec)


def header(stamp: int, frame_id: str) -> Header:
    """Header with a stamp [ns] and a frame."""
    return Header(stamp=stamp_to_msg(stamp), frame_id=frame_id)


def pose_to_msg(pose: Pose) -> PoseMsg:
    """Pose message of a contract pose."""
    x, y, z = pose.position.tolist()
    qx, qy, qz, qw = pose.quaternion.tolist()
    return PoseMsg(
        position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw)
    )


def pose_from_msg(msg: PoseMsg) -> Pose:
    """Contract pose of a pose message.

    Raises:
      InvalidRequest: a value is not finite, or the quaternion is all zeros.
    """
    p, q = msg.position, msg.orientation
    return Pose(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]))


def twist_to_msg(twist: NDArray[np.float64]) -> Twist:
    """Twist message of linear and angular velocity (6,)."""
    vx, vy, vz, wx, wy, wz = twist.tolist()
    return Twist(linear=Vector3(x=vx, y=vy, z=vz), angular=Vector3(x=wx, y=wy, z=wz))


def twist_from_msg(msg: Twist) -> NDArray[np.float64]:
    """Linear and angular velocity (6,) of a twist message."""
    v, w = msg.linear, msg.angular
    return np.array([v.x, v.y, v.z, w.x, w.y, w.z])


def doubles(values: NDArray[Any]) -> array.array[float]:
    """The one form in which a float64[] field takes values without looking at each."""
    return _fill('d', np.ascontiguousarray(values, np.float64))


def floats(values: NDArray[Any]) -> array.array[float]:
    """The one form in which a float32[] field takes values without looking at each."""
    return _fill('f', np.ascontiguousarray(values, np.float32))


def octets(values: NDArray[Any]) -> array.array[int]:
    """The one form in which a uint8[] field takes bytes without looking at each."""
    return _fill('B', np.ascontiguousarray(values))


def _fill(typecode: str, values: NDArray[Any]) -> array.array[Any]:
    out = array.array(typecode)
    if values.size:
        out.frombytes(memoryview(values).cast('B'))
    return out
