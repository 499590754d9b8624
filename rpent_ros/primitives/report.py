"""Turn what a motion did into what a planner is told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rpent_ros.contracts.motion import Clamp, MotionResult
from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import ErrorCode
from rpent_ros.geometry import yaw_of_tool

HINTS: Mapping[ErrorCode, str] = {
    ErrorCode.NOT_REACHED: 'look at the images: something may be in the way; go up first, or '
    'choose a target that the arm can reach',
    ErrorCode.OUT_OF_WORKSPACE: 'nothing moved; choose a target inside the workspace box',
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
    return {
        'ee_position': observation.ee_pose.position.tolist(),
        'ee_quaternion_xyzw': observation.ee_pose.quaternion.tolist(),
        'ee_yaw': yaw_of_tool(observation.ee_pose.rotation),
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
    requested: Mapping[str, Any], results: Sequence[MotionResult], start: Observation
) -> dict[str, Any]:
    """What one or more motions in a row did, in the keys that all moving tools share.

    Args:
      requested: what the caller asked for.
      results: the motions, in order; at least one.
      start: state before the first.
    """
    last = results[-1]
    end = last.observation or start
    clamps = [clamp for result in results for clamp in result.clamps]
    out: dict[str, Any] = {
        'requested': dict(requested),
        'executed': {
            'xyz': end.ee_pose.position.tolist(),
            'yaw': yaw_of_tool(end.ee_pose.rotation),
            'gripper_width': end.gripper_width,
        },
        'clamped': bool(clamps),
        'clamps': describe_clamps(clamps),
        'settled': last.settled,
        'steps': sum(result.steps for result in results),
        **describe_episode(end),
    }
    for name, value in (
        ('distance_left', last.position_error),
        ('angle_left', last.orientation_error),
    ):
        if not math.isnan(value):
            out[name] = value
    return out


def hint(code: ErrorCode) -> dict[str, str]:
    """What to do about a code, as a `hint` entry; empty if there is nothing to say."""
    return {'hint': HINTS[code]} if code in HINTS else {}
