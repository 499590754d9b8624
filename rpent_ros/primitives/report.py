"""Turn what a motion did into what a planner is told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rpent_ros.contracts.motion import Clamp, MotionResult
from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import ErrorCode
from rpent_ros.geometry import tool_angles
from rpent_ros.primitives.grip import Grip

HINTS: Mapping[ErrorCode, str] = {
    ErrorCode.NOT_REACHED: 'look at the images: something may be in the way; go up first, or '
    'choose a target that the arm can reach',
    ErrorCode.OUT_OF_WORKSPACE: 'choose a target inside the workspace box; a tool that has '
    'left it may only come back',
    ErrorCode.OUT_OF_REACH: 'nothing moved; choose a target nearer to the base or to the middle '
    'of the box, or point the tool straight down',
    ErrorCode.EPISODE_OVER: 'the episode has ended and nothing can move any more; call finish',
    ErrorCode.STOPPED: 'a person or a safety function stopped the robot and must resume it',
    ErrorCode.NOT_GRASPED: 'open the gripper, go up, look at the images and try again from there',
    ErrorCode.CANCELED: 'the motion was cancelled and the robot holds still',
    ErrorCode.NOT_RESET: 'the episode has not been started; reset the driver',
    ErrorCode.NO_PLAN: 'go up, away from obstacles, and try again, or word the prompt differently',
    ErrorCode.BAD_INSTRUCTION: 'word the prompt like the task sentence',
}
MAX_CLAMPS = 5


def describe_state(observation: Observation) -> dict[str, Any]:
    """Robot state as planners read it: base frame, metres, radians."""
    angles = tool_angles(observation.ee_pose.rotation)
    return {
        'ee_position': observation.ee_pose.position.tolist(),
        'ee_quaternion_xyzw': observation.ee_pose.quaternion.tolist(),
        'ee_pitch': angles.pitch,
        'ee_yaw': angles.yaw,
        'gripper_width': observation.gripper_width,
        'joint_names': list(observation.joint_names),
        'joint_positions': observation.joint_positions.tolist(),
    }


def describe_episode(observation: Observation) -> dict[str, Any]:
    """Where the episode stands."""
    return {
        'terminated': observation.terminated,
        'truncated': observation.truncated,
        'success': observation.success,
    }


def describe_clamps(clamps: Sequence[Clamp]) -> list[dict[str, Any]]:
    """What the driver changed for safety: the first few values."""
    return [
        {'limit': c.limit, 'asked': c.asked, 'sent': c.sent, 'step': c.step}
        for c in clamps[:MAX_CLAMPS]
    ]


def describe_motion(
    requested: Mapping[str, Any], result: MotionResult, start: Observation
) -> dict[str, Any]:
    """What a motion did, in the keys that all moving tools share.

    Args:
      requested: what the caller asked for.
      result: what the driver says.
      start: state before.
    """
    end = result.observation or start
    angles = tool_angles(end.ee_pose.rotation)
    out: dict[str, Any] = {
        'requested': dict(requested),
        'executed': {
            'xyz': end.ee_pose.position.tolist(),
            'pitch': angles.pitch,
            'yaw': angles.yaw,
            'gripper_width': end.gripper_width,
        },
        'clamped': bool(result.clamps),
        'clamps': describe_clamps(result.clamps),
        'settled': result.settled,
        'steps': result.steps,
        **describe_episode(end),
    }
    if result.route:
        out['route'] = [point.tolist() for point in result.route]
    for name, value in (
        ('distance_left', result.position_error),
        ('angle_left', result.orientation_error),
        ('grip_effort', Grip.of(end).effort),
    ):
        if not math.isnan(value):
            out[name] = value
    return out


def hint(code: ErrorCode) -> dict[str, str]:
    """What to do about a code, as a `hint` entry; empty if there is nothing to say."""
    return {'hint': HINTS[code]} if code in HINTS else {}
