"""Actions, goals and results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point, PoseStamped

from rpent_msgs.action import ExecuteChunk, MoveTo
from rpent_msgs.msg import ActionChunk as ActionChunkMsg
from rpent_msgs.msg import Clamp as ClampMsg
from rpent_msgs.msg import Waypoint as WaypointMsg
from rpent_msgs.srv import Infer, Step
from rpent_ros.contracts.motion import (
    ActionChunk,
    Clamp,
    Gripper,
    Inference,
    MotionResult,
    StepResult,
    Waypoint,
    as_waypoints,
)
from rpent_ros.errors import BadAction, ErrorCode, InvalidRequest
from rpent_ros.geometry import Pose
from rpent_ros.nodes.convert.geometry import doubles, floats, header, pose_from_msg, pose_to_msg
from rpent_ros.nodes.convert.observation import observation_to_msg, optional_observation_from_msg


def error_code(value: int) -> ErrorCode:
    """Error code of a message field; numbers that this version does not know become UNKNOWN."""
    try:
        return ErrorCode(value)
    except ValueError:
        return ErrorCode.UNKNOWN


def action_chunk_to_msg(chunk: ActionChunk) -> ActionChunkMsg:
    """Action chunk message of a contract action chunk."""
    return ActionChunkMsg(horizon=chunk.horizon, dim=chunk.dim, data=floats(chunk.data))


def action_chunk_from_msg(msg: ActionChunkMsg) -> ActionChunk:
    """Contract action chunk of an action chunk message.

    Raises:
      BadAction: the number of values is not horizon x dim, or a value is not finite.
    """
    if len(msg.data) != msg.horizon * msg.dim:
        raise BadAction(
            f'action chunk: expected {msg.horizon} x {msg.dim} values, got {len(msg.data)}'
        )
    data = np.frombuffer(msg.data, np.float32) if msg.data else np.zeros(0, np.float32)
    return ActionChunk(data.reshape(msg.horizon, msg.dim))


def clamp_to_msg(clamp: Clamp) -> ClampMsg:
    """Clamp message of a contract clamp."""
    return ClampMsg(
        step=clamp.step, limit=clamp.limit, asked=float(clamp.asked), sent=float(clamp.sent)
    )


def clamp_from_msg(msg: ClampMsg) -> Clamp:
    """Contract clamp of a clamp message."""
    return Clamp(msg.step, limit=msg.limit, asked=msg.asked, sent=msg.sent)


def move_to_goal_to_msg(waypoints: Sequence[Waypoint], frame_id: str) -> MoveTo.Goal:
    """MoveTo goal of contract waypoints; `frame_id` is the driver's base frame."""
    return MoveTo.Goal(waypoints=[_waypoint_to_msg(point, frame_id) for point in waypoints])


def move_to_goal_from_msg(msg: MoveTo.Goal, base_frame: str) -> tuple[Waypoint, ...]:
    """Contract waypoints of a MoveTo goal.

    Raises:
      InvalidRequest: a target is not written in `base_frame`, or a value is out of range.
    """
    return as_waypoints([_waypoint_from_msg(point, base_frame) for point in msg.waypoints])


def _waypoint_to_msg(waypoint: Waypoint, frame_id: str) -> WaypointMsg:
    return WaypointMsg(
        target=PoseStamped(header=header(0, frame_id), pose=pose_to_msg(waypoint.target)),
        keep_position=waypoint.keep_position,
        keep_tilt=waypoint.keep_tilt,
        keep_yaw=waypoint.keep_yaw,
        gripper=int(waypoint.gripper),
        speed=0.0 if waypoint.speed is None else float(waypoint.speed),
        blend_radius=float(waypoint.blend_radius),
    )


def _waypoint_from_msg(msg: WaypointMsg, base_frame: str) -> Waypoint:
    frame = msg.target.header.frame_id
    keeps_orientation = msg.keep_tilt and msg.keep_yaw
    if frame != base_frame and not (msg.keep_position and keeps_orientation):
        raise InvalidRequest(
            f'move_to target: expected frame {base_frame!r}, got {frame!r}; '
            'transform the target into the base frame first'
        )
    try:
        gripper = Gripper(msg.gripper)
    except ValueError:
        raise InvalidRequest(
            f'move_to gripper: expected 0 (keep), 1 (open) or 2 (close), got {msg.gripper}'
        ) from None
    # What is kept may have been left empty; an empty quaternion is no orientation.
    p = msg.target.pose.position
    position = np.zeros(3) if msg.keep_position else np.array([p.x, p.y, p.z])
    quaternion = () if keeps_orientation else (pose_from_msg(msg.target.pose).quaternion,)
    return Waypoint(
        Pose(position, *quaternion),
        keep_position=msg.keep_position,
        keep_tilt=msg.keep_tilt,
        keep_yaw=msg.keep_yaw,
        gripper=gripper,
        speed=None if msg.speed == 0.0 else msg.speed,
        blend_radius=msg.blend_radius,
    )


def step_result_to_msg(result: StepResult) -> Step.Response:
    """Step response of a contract step result."""
    return Step.Response(
        executed=doubles(result.executed),
        clamps=[clamp_to_msg(clamp) for clamp in result.clamps],
        reward=float(result.reward),
        terminated=bool(result.terminated),
        truncated=bool(result.truncated),
        success=bool(result.success),
        observation=observation_to_msg(result.observation),
    )


def step_result_from_msg(msg: Step.Response) -> StepResult:
    """Contract step result of a step response."""
    return StepResult(
        np.array(msg.executed),
        clamps=tuple(clamp_from_msg(clamp) for clamp in msg.clamps),
        reward=msg.reward,
        terminated=msg.terminated,
        truncated=msg.truncated,
        success=msg.success,
        observation=optional_observation_from_msg(msg.observation),
    )


def execute_chunk_result_to_msg(result: MotionResult) -> ExecuteChunk.Result:
    """ExecuteChunk result of a contract motion result."""
    return ExecuteChunk.Result(
        error_code=int(result.code),
        error_msg=result.message,
        executed=result.steps,
        clamps=[clamp_to_msg(clamp) for clamp in result.clamps],
        observation=observation_to_msg(result.observation),
    )


def execute_chunk_result_from_msg(msg: ExecuteChunk.Result) -> MotionResult:
    """Contract motion result of an ExecuteChunk result."""
    return MotionResult(
        error_code(msg.error_code),
        msg.error_msg,
        steps=msg.executed,
        clamps=tuple(clamp_from_msg(clamp) for clamp in msg.clamps),
        observation=optional_observation_from_msg(msg.observation),
    )


def move_to_result_to_msg(result: MotionResult) -> MoveTo.Result:
    """MoveTo result of a contract motion result."""
    return MoveTo.Result(
        error_code=int(result.code),
        error_msg=result.message,
        reached=result.reached,
        route=[Point(x=float(x), y=float(y), z=float(z)) for x, y, z in result.route],
        settled=bool(result.settled),
        position_error=float(result.position_error),
        orientation_error=float(result.orientation_error),
        steps=result.steps,
        clamps=[clamp_to_msg(clamp) for clamp in result.clamps],
        observation=observation_to_msg(result.observation),
    )


def move_to_result_from_msg(msg: MoveTo.Result) -> MotionResult:
    """Contract motion result of a MoveTo result."""
    return MotionResult(
        error_code(msg.error_code),
        msg.error_msg,
        steps=msg.steps,
        clamps=tuple(clamp_from_msg(clamp) for clamp in msg.clamps),
        observation=optional_observation_from_msg(msg.observation),
        reached=msg.reached,
        route=tuple(np.array([p.x, p.y, p.z]) for p in msg.route),
        settled=msg.settled,
        position_error=msg.position_error,
        orientation_error=msg.orientation_error,
    )


def inference_to_msg(inference: Inference) -> Infer.Response:
    """Infer response of a contract inference."""
    return Infer.Response(
        chunk=action_chunk_to_msg(inference.chunk),
        done=bool(inference.done),
        infer_ms=float(inference.infer_ms),
        privileged=bool(inference.privileged),
        status=inference.status,
    )


def inference_from_msg(msg: Infer.Response) -> Inference:
    """Contract inference of an infer response."""
    return Inference(
        action_chunk_from_msg(msg.chunk),
        done=msg.done,
        infer_ms=msg.infer_ms,
        privileged=msg.privileged,
        status=msg.status,
    )
