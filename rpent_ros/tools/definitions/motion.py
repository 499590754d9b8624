"""Motions of the arm and the gripper."""

from __future__ import annotations

import math

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import ToolDefinition
from rpent_ros.tools.definitions.shared import (
    MOTION_CODES,
    MOTION_KEYS,
    MOTION_RESULT,
    TARGET_CODES,
    angle,
    gripper,
    speed,
    xyz,
    yaw,
)

_QUARTER = math.pi / 2
_PITCH = 'Tilt of the approach axis: 0 points straight down, pi/2 along the base y axis'


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
        codes=TARGET_CODES,
    )


def move_delta() -> ToolDefinition:
    """Motion by an offset."""
    return ToolDefinition(
        'move_delta',
        description='Move the tool centre point by an offset from where it is, in a straight '
        'line.  Otherwise as move_to.  ' + MOTION_RESULT,
        arguments={
            'dxyz': schema.numbers('Offset [dx, dy, dz] along the base axes [m].', 3),
            'gripper': gripper(),
            'speed': speed(),
        },
        results=MOTION_KEYS,
        codes=TARGET_CODES,
    )


def move_pose() -> ToolDefinition:
    """Motion to a full pose."""
    return ToolDefinition(
        'move_pose',
        description='Move the tool centre point in a straight line to a position and an '
        'orientation, for example to reach into a shelf.  Otherwise as move_to.  '
        + MOTION_RESULT,
        arguments={
            'xyz': xyz('Target'),
            'pitch': schema.number(f'{_PITCH} [rad].', minimum=-_QUARTER, maximum=_QUARTER),
            'yaw': schema.number(
                'Turn about the approach axis, counter-clockwise seen from above; 0: the tool x '
                'axis along the base x axis [rad].',
                minimum=-2 * math.pi,
                maximum=2 * math.pi,
            ),
            'gripper': gripper(),
            'speed': speed(),
        },
        results=MOTION_KEYS,
        codes=TARGET_CODES,
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
        codes=TARGET_CODES,
    )


def rotate_pitch() -> ToolDefinition:
    """Tilt."""
    return ToolDefinition(
        'rotate_pitch',
        description='Tilt the tool where it is.  Give exactly one of target_pitch and '
        'delta_pitch.  ' + MOTION_RESULT,
        arguments={
            'target_pitch': schema.optional_number(
                f'{_PITCH} [rad]; null: use delta_pitch.', minimum=-_QUARTER, maximum=_QUARTER
            ),
            'delta_pitch': schema.optional_number(
                'Angle to tilt by about the base x axis [rad]; null: use target_pitch.',
                minimum=-math.pi,
                maximum=math.pi,
            ),
        },
        results={'start_pitch': 'pitch before the motion [rad]', **MOTION_KEYS},
        codes=TARGET_CODES,
    )


def set_gripper() -> ToolDefinition:
    """Open or close."""
    return ToolDefinition(
        'set_gripper',
        description='Open or close the gripper where it is and wait until the fingers rest.  '
        'After closing, `holding` tells from finger width and effort whether something is held.  '
        + MOTION_RESULT,
        arguments={'command': schema.choice('What the gripper does.', ('open', 'close'))},
        results=MOTION_KEYS,
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
        'down, close, lift.  Ends with NOT_GRASPED if the fingers say after the lift that nothing '
        'is held.  `stage` tells how far it came.  ' + MOTION_RESULT,
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
            **MOTION_KEYS,
        },
        codes=(ErrorCode.NOT_GRASPED, *TARGET_CODES),
    )
