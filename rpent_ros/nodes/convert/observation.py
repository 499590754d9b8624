"""Images, camera frames and observations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header

from rpent_msgs.msg import CameraFrame as CameraFrameMsg
from rpent_msgs.msg import Observation as ObservationMsg
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.errors import InvalidRequest
from rpent_ros.nodes.convert.geometry import (
    doubles,
    header,
    octets,
    pose_from_msg,
    pose_to_msg,
    stamp_from_msg,
    twist_from_msg,
    twist_to_msg,
)

_RGB = 'rgb8'
_DEPTH = '32FC1'


def rgb_to_msg(rgb: NDArray[np.uint8], head: Header) -> Image:
    """Image message (rgb8) of an upright image (H, W, 3)."""
    height, width, _ = rgb.shape
    return Image(
        header=head, height=height, width=width, encoding=_RGB, step=3 * width, data=octets(rgb)
    )


def rgb_from_msg(msg: Image) -> NDArray[np.uint8]:
    """Image (H, W, 3) of an image message; a view of its buffer.

    Raises:
      InvalidRequest: another encoding than rgb8, or a buffer of the wrong length.
    """
    rows = _rows(msg, _RGB, 3)
    return rows.reshape(msg.height, msg.width, 3)


def depth_to_msg(depth: NDArray[np.float32], head: Header) -> Image:
    """Image message (32FC1) of depth (H, W) along the optical axis [m]."""
    height, width = depth.shape
    data = octets(np.asarray(depth, '<f4'))
    return Image(
        header=head, height=height, width=width, encoding=_DEPTH, step=4 * width, data=data
    )


def depth_from_msg(msg: Image) -> NDArray[np.float32]:
    """Depth (H, W) [m] of an image message; a view of its buffer.

    Raises:
      InvalidRequest: another encoding than 32FC1, or a buffer of the wrong length.
    """
    rows = _rows(msg, _DEPTH, 4)
    return rows.view('>f4' if msg.is_bigendian else '<f4')


def _rows(msg: Image, encoding: str, pixel: int) -> NDArray[np.uint8]:
    """The message's buffer as (height, width * pixel) bytes, without row padding."""
    where = f'image in {msg.header.frame_id}'
    if msg.encoding != encoding:
        raise InvalidRequest(f'{where}: expected encoding {encoding}, got {msg.encoding!r}')
    if msg.step < msg.width * pixel or len(msg.data) != msg.step * msg.height:
        raise InvalidRequest(
            f'{where}: expected {msg.height} rows of at least {msg.width * pixel} bytes, got '
            f'{len(msg.data)} bytes in rows of {msg.step}'
        )
    rows = np.frombuffer(msg.data, np.uint8).reshape(msg.height, msg.step)
    if msg.step == msg.width * pixel:
        return rows
    return np.ascontiguousarray(rows[:, : msg.width * pixel])


def camera_info_to_msg(frame: CameraFrame) -> CameraInfo:
    """Calibration of one image: pinhole, no distortion, already rectified."""
    width, height = frame.size
    k = frame.intrinsics
    projection = np.zeros((3, 4))
    projection[:, :3] = k
    return CameraInfo(
        header=header(frame.stamp, frame.frame_id),
        width=width,
        height=height,
        distortion_model='plumb_bob',
        d=doubles(np.zeros(5)),
        k=k.reshape(9),
        r=np.eye(3).reshape(9),
        p=projection.reshape(12),
    )


def camera_frame_to_msg(frame: CameraFrame) -> CameraFrameMsg:
    """Camera frame message of a contract camera frame."""
    head = header(frame.stamp, frame.frame_id)
    msg = CameraFrameMsg(
        name=frame.name,
        image=rgb_to_msg(frame.rgb, head),
        info=camera_info_to_msg(frame),
        pose=pose_to_msg(frame.pose),
    )
    if frame.depth is not None:
        msg.depth = depth_to_msg(frame.depth, head)
    return msg


def camera_frame_from_msg(msg: CameraFrameMsg) -> CameraFrame:
    """Contract camera frame of a camera frame message.

    Raises:
      InvalidRequest: image, depth or calibration is malformed.
    """
    return CameraFrame(
        msg.name,
        frame_id=msg.image.header.frame_id,
        rgb=rgb_from_msg(msg.image),
        depth=depth_from_msg(msg.depth) if msg.depth.width else None,
        intrinsics=np.asarray(msg.info.k).reshape(3, 3),
        pose=pose_from_msg(msg.pose),
        stamp=stamp_from_msg(msg.image.header.stamp),
    )


def joint_state_to_msg(observation: Observation) -> JointState:
    """Joint state message of an observation."""
    return JointState(
        header=header(observation.stamp, observation.frame_id),
        name=list(observation.joint_names),
        position=doubles(observation.joint_positions),
        velocity=doubles(observation.joint_velocities),
        effort=doubles(observation.joint_efforts),
    )


def observation_to_msg(observation: Observation | None) -> ObservationMsg:
    """Observation message of a contract observation; None gives an empty message."""
    if observation is None:
        return ObservationMsg()
    return ObservationMsg(
        header=header(observation.stamp, observation.frame_id),
        episode=observation.episode,
        step=observation.step,
        instruction=observation.instruction,
        state=doubles(observation.state),
        joints=joint_state_to_msg(observation),
        ee_pose=pose_to_msg(observation.ee_pose),
        ee_twist=twist_to_msg(observation.ee_twist),
        gripper_width=float(observation.gripper_width),
        cameras=[camera_frame_to_msg(frame) for frame in observation.frames],
        terminated=bool(observation.terminated),
        truncated=bool(observation.truncated),
        success=bool(observation.success),
    )


def observation_from_msg(msg: ObservationMsg) -> Observation:
    """Contract observation of an observation message; arrays are views of its buffers.

    Raises:
      InvalidRequest: an array has the wrong shape or a value that is not finite.
    """
    joints = msg.joints
    velocities = np.frombuffer(joints.velocity) if joints.velocity else np.zeros(len(joints.name))
    return Observation(
        stamp_from_msg(msg.header.stamp),
        frame_id=msg.header.frame_id,
        episode=msg.episode,
        step=msg.step,
        instruction=msg.instruction,
        state=np.frombuffer(msg.state) if msg.state else np.zeros(0),
        joint_names=tuple(joints.name),
        joint_positions=np.frombuffer(joints.position) if joints.position else np.zeros(0),
        joint_velocities=velocities,
        joint_efforts=np.frombuffer(joints.effort) if joints.effort else np.zeros(0),
        ee_pose=pose_from_msg(msg.ee_pose),
        ee_twist=twist_from_msg(msg.ee_twist),
        gripper_width=msg.gripper_width,
        frames=tuple(camera_frame_from_msg(frame) for frame in msg.cameras),
        terminated=msg.terminated,
        truncated=msg.truncated,
        success=msg.success,
    )


def optional_observation_from_msg(msg: ObservationMsg) -> Observation | None:
    """Like `observation_from_msg`; None for a message that was left empty (it names no frame)."""
    return observation_from_msg(msg) if msg.header.frame_id else None
