"""What a driver publishes, and only to those who listen."""

from __future__ import annotations

import time
from typing import Any

from geometry_msgs.msg import PoseStamped, TransformStamped, Vector3
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import (
    QoSDurabilityPolicy,
    QoSHistoryPolicy,
    QoSProfile,
    QoSReliabilityPolicy,
)
from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_msgs.msg import TFMessage

from rpent_msgs.msg import DriverState as DriverStateMsg
from rpent_msgs.msg import Scene as SceneMsg
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.specs import CameraSpec
from rpent_ros.driver import DriverCore
from rpent_ros.driver_state import DriverState
from rpent_ros.errors import RenderFailed
from rpent_ros.geometry import Pose
from rpent_ros.nodes import convert

# A reliable publisher serves reliable and best-effort subscribers alike (REP-2003).
SENSOR_QOS = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST, depth=5, reliability=QoSReliabilityPolicy.RELIABLE
)
IMAGE_QOS = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST, depth=1, reliability=QoSReliabilityPolicy.RELIABLE
)
# The last message is kept for those who come later.
LATCHED_QOS = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)
# A publisher's default event handlers warn of incompatible subscribers, which warn themselves; but
# each one is waited for by the executor, and two per publisher double the cost of every callback.
_NO_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)
# How often joint states and the tool pose are repeated while nothing moves [s].
_IDLE_PERIOD_S = 0.5
_RENDER_ERROR_PERIOD_S = 10.0


class DriverTopics:
    """Publishers of one driver.  All methods but `publish_state` belong to the robot's thread.

    Args:
      node: the driver node.
      core: where the data comes from.
      camera_rate: highest rate of each camera topic [Hz].
      privileged: create and serve privileged/scene.
    """

    def __init__(
        self, node: Node, core: DriverCore, *, camera_rate: float, privileged: bool
    ) -> None:
        self._node = node
        self._core = core
        self._joints = _publisher(node, JointState, 'joint_states', SENSOR_QOS)
        self._ee_pose = _publisher(node, PoseStamped, 'ee_pose', SENSOR_QOS)
        # Absolute, as in every ROS graph; frame_prefix keeps two robots apart.
        self._tf = _publisher(node, TFMessage, '/tf', QoSProfile(depth=100))
        self._state = _publisher(node, DriverStateMsg, 'driver/state', LATCHED_QOS)
        self._scene = (
            _publisher(node, SceneMsg, 'privileged/scene', LATCHED_QOS)
            if privileged
            else None
        )
        self._published_scene: tuple[int, int] | None = None
        self._cameras = [_CameraTopics(node, spec) for spec in core.spec.cameras]
        self._camera_period = 1.0 / camera_rate
        self._idle_due = 0.0
        self._render_error_due = 0.0

    def after_step(self) -> None:
        """Publish what a control step has changed."""
        self._publish_robot()
        self._publish_cameras()

    def after_motion(self) -> None:
        """Publish what a reset, a step, a chunk or a motion has changed."""
        self._publish_robot()
        self._publish_scene()
        self.publish_state(self._core.state)

    def while_idle(self) -> None:
        """Publish for those who came while nothing moved."""
        self._publish_cameras()
        self._publish_scene()
        now = time.monotonic()
        if now >= self._idle_due:
            self._idle_due = now + _IDLE_PERIOD_S
            self._publish_robot()

    def publish_state(self, state: DriverState) -> None:
        """Publish the driver's state; from any thread."""
        stamp = self._node.get_clock().now().nanoseconds
        self._state.publish(
            DriverStateMsg(
                header=convert.header(stamp, self._core.spec.base_frame),
                status=int(state.status),
                reason=state.reason,
                episode=state.episode,
                step=state.step,
                terminated=state.terminated,
                truncated=state.truncated,
                success=state.success,
            )
        )

    def _publish_robot(self) -> None:
        joints, pose, tf = (
            _has_listener(topic) for topic in (self._joints, self._ee_pose, self._tf)
        )
        if not (joints or pose or tf) or not self._core.state.episode:
            return
        observation = self._core.observe()
        if joints:
            self._joints.publish(convert.joint_state_to_msg(observation))
        if pose:
            head = convert.header(observation.stamp, observation.frame_id)
            self._ee_pose.publish(
                PoseStamped(header=head, pose=convert.pose_to_msg(observation.ee_pose))
            )
        if tf:
            self._tf.publish(TFMessage(transforms=[self._tool_transform(observation)]))

    def _tool_transform(self, observation: Observation) -> TransformStamped:
        return _transform(
            observation.stamp,
            observation.frame_id,
            self._core.spec.tool_frame,
            observation.ee_pose,
        )

    def _publish_scene(self) -> None:
        if self._scene is None or not _has_listener(self._scene):
            return
        state = self._core.state
        shown = (state.episode, state.step)
        if not state.episode or shown == self._published_scene:
            return
        scene = self._core.scene()
        if scene is not None:
            self._scene.publish(convert.scene_to_msg(scene))
            self._published_scene = shown

    def _publish_cameras(self) -> None:
        now = time.monotonic()
        for camera in self._cameras:
            if now < camera.due or not camera.has_listeners or not self._core.state.episode:
                continue
            camera.due = now + self._camera_period
            try:
                frame = self._core.render(camera.name, depth=camera.depth_has_listeners)
            except RenderFailed as error:
                if now >= self._render_error_due:
                    self._render_error_due = now + _RENDER_ERROR_PERIOD_S
                    self._node.get_logger().error(str(error))
                continue
            camera.publish(frame)
            if _has_listener(self._tf):
                base = self._core.spec.base_frame
                transform = _transform(frame.stamp, base, frame.frame_id, frame.pose)
                self._tf.publish(TFMessage(transforms=[transform]))


class _CameraTopics:
    """Image, calibration and depth of one camera."""

    def __init__(self, node: Node, spec: CameraSpec) -> None:
        self.name = spec.name
        self.due = 0.0
        self._image = _publisher(node, Image, f'{spec.name}/image_raw', IMAGE_QOS)
        self._info = _publisher(node, CameraInfo, f'{spec.name}/camera_info', IMAGE_QOS)
        self._depth = (
            _publisher(node, Image, f'{spec.name}/depth', IMAGE_QOS)
            if spec.has_depth
            else None
        )

    @property
    def depth_has_listeners(self) -> bool:
        return self._depth is not None and _has_listener(self._depth)

    @property
    def has_listeners(self) -> bool:
        return (
            _has_listener(self._image) or _has_listener(self._info) or self.depth_has_listeners
        )

    def publish(self, frame: CameraFrame) -> None:
        head = convert.header(frame.stamp, frame.frame_id)
        if _has_listener(self._info):
            self._info.publish(convert.camera_info_to_msg(frame))
        if _has_listener(self._image):
            self._image.publish(convert.rgb_to_msg(frame.rgb, head))
        if self._depth is not None and frame.depth is not None:
            self._depth.publish(convert.depth_to_msg(frame.depth, head))


def _publisher(node: Node, kind: Any, topic: str, qos: QoSProfile) -> Publisher:
    return node.create_publisher(kind, topic, qos, event_callbacks=_NO_EVENTS)


def _has_listener(publisher: Publisher) -> bool:
    return bool(publisher.get_subscription_count())


def _transform(stamp: int, parent: str, child: str, pose: Pose) -> TransformStamped:
    message = convert.pose_to_msg(pose)
    p = message.position
    out = TransformStamped(header=convert.header(stamp, parent), child_frame_id=child)
    out.transform.translation = Vector3(x=p.x, y=p.y, z=p.z)
    out.transform.rotation = message.orientation
    return out
