"""Motions of the arm and the gripper."""

from __future__ import annotations

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import ToolDefinition
from rpent_ros.tools.definitions.shared import (
    HOLDING,
    MOTION_CODES,
    MOTION_KEYS,
    MOTION_RESULT,
    angle,
    gripper,
    speed,
    xyz,
    yaw,
)


def move_to() -> ToolDefinition:
    """Straight-line motion."""
    return ToolDefinition(
        'move_to',
        description='Move the tool centre point in a straight line.  The orientation is kept '
        'unless yaw is given, and the gripper command stays as it is unless told otherwise, so a '
        'held object stays held.  A target outside the workspace box is refused.  '
        + MOTION_RESULT,
        arguments={
            'xyz': xyz('Target'),
            'yaw': yaw('keep the orientation'),
            'gripper': gripper(),
            'speed': speed(),
        },
        results=MOTION_KEYS,
        codes=(ErrorCode.OUT_OF_WORKSPACE, *MOTION_CODES),
    )


def rotate_wrist() -> ToolDefinition:
    """Turn about the vertical."""
    return ToolDefinition(
        'rotate_wrist',
        description='Turn the tool about the vertical where it is.  Give exactly one of '
        'target_yaw and delta_yaw.  ' + MOTION_RESULT,
        arguments={
            'target_yaw': yaw('use delta_yaw'),
            'delta_yaw': angle(
                'Angle to turn by, counter-clockwise seen from above', 'use target_yaw'
            ),
        },
        results={'start_yaw': 'yaw before the motion [rad]', **MOTION_KEYS},
        codes=MOTION_CODES,
    )


def set_gripper() -> ToolDefinition:
    """Open or close."""
    return ToolDefinition(
        'set_gripper',
        description='Open or close the gripper where it is and wait until the fingers rest.  '
        'After closing, `holding` tells from the finger width whether something is held.  '
        + MOTION_RESULT,
        arguments={'command': schema.choice('What the gripper does.', ('open', 'close'))},
        results={'holding': HOLDING, **MOTION_KEYS},
        codes=MOTION_CODES,
    )


def release() -> ToolDefinition:
    """Let go."""
    return ToolDefinition(
        'release',
        description='Open the gripper and let go of whatever it holds, without moving the arm.  '
        + MOTION_RESULT,
        results={'start_gripper_width': 'finger width before [m]', **MOTION_KEYS},
        codes=MOTION_CODES,
    )


def scripted_grasp() -> ToolDefinition:
    """Grasp from above at a measured point."""
    return ToolDefinition(
        'scripted_grasp',
        description='Grasp from above at a point that you measured: open, hover above it, go '
        'down, close, lift.  Ends with NOT_GRASPED if the finger width says that nothing is '
        'held.  `stage` tells how far it came.  ' + MOTION_RESULT,
        arguments={
            'xyz': xyz('Where the tool centre point closes'),
            'yaw': yaw('keep the orientation'),
            'approach_height': schema.optional_number(
                'Hover above the point, and lift after the grasp [m]; null: the default.',
                minimum=0.02,
                maximum=0.4,
            ),
        },
        results={
            'stage': 'hover, descend, close, lift or done: where it ended',
            'holding': HOLDING,
            **MOTION_KEYS,
        },
        codes=(ErrorCode.NOT_GRASPED, ErrorCode.OUT_OF_WORKSPACE, *MOTION_CODES),
    )
