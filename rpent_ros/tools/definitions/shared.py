"""Arguments, results and codes that several tools have in common."""

from __future__ import annotations

import math

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.dump import HIGH, POLICY

MOTION_RESULT = (
    'The result says what was requested and executed, whether the driver clamped anything, '
    'whether the arm settled, the distance left [m], and shows the state and images afterwards.'
)

STEP_IDX = 'state dump that the answer is about'
STATE = 'pose of the tool, finger width [m] and joints after the motion'

MOTION_KEYS = {
    'requested': 'what was asked for, defaults filled in',
    'executed': 'where the tool is now: xyz [m], pitch and yaw [rad], gripper_width [m]',
    'clamped': 'true if the driver cut something down for safety',
    'clamps': 'what it cut down: limit, asked, sent, step; the first five',
    'settled': 'true if the tool arrived and is at rest',
    'distance_left': 'distance of the tool, as measured, from the target position [m]; absent if '
    'there is none or nothing moved',
    'angle_left': 'angle from the target orientation [rad]; absent likewise',
    'route': 'points that the driver went through by itself where the straight line was out of '
    'reach [m]; absent if there is none',
    'holding': 'the fingers have come to rest around something, by width and effort; null: not '
    'measured, or they still move',
    'grip_effort': 'largest force of a finger [N]; absent if not measured',
    'steps': 'control steps executed',
    'seconds': 'wall-clock time [s]',
    'terminated': 'the episode has ended, usually by success',
    'truncated': 'the episode has used up its steps',
    'success': "the task's own predicate holds",
    'step_idx': STEP_IDX,
    'state': STATE,
    'hint': 'what to do about the code; absent if there is nothing to say',
}

# What every tool that moves may answer.
MOTION_CODES = (
    ErrorCode.OUT_OF_WORKSPACE,
    ErrorCode.NOT_REACHED,
    ErrorCode.EPISODE_OVER,
    ErrorCode.STOPPED,
    ErrorCode.CANCELED,
    ErrorCode.NOT_RESET,
)

# What a tool that goes somewhere may answer besides.
TARGET_CODES = (ErrorCode.OUT_OF_REACH, *MOTION_CODES)



def step() -> schema.Schema:
    """Which state dump to read."""
    return schema.integer(
        'State dump to read: 0 is the start, -1 the newest.', minimum=-1, default=-1
    )


def resolution(purpose: str) -> schema.Schema:
    """Which of a dump's images is meant."""
    return schema.choice(
        f'{purpose}: the one shown (high) or the smaller one that policies see (policy).',
        (HIGH, POLICY),
        default=HIGH,
    )


def angle(description: str, name_of_none: str) -> schema.Schema:
    """An angle or null."""
    return schema.optional_number(
        f'{description} [rad]; null: {name_of_none}.', minimum=-2 * math.pi, maximum=2 * math.pi
    )


def yaw(name_of_none: str) -> schema.Schema:
    """Direction of the tool about the vertical, or null."""
    return angle(
        'Turn of the tool about its approach axis, counter-clockwise seen from above; 0: its x '
        'axis along the base x axis',
        name_of_none,
    )


def xyz(description: str) -> schema.Schema:
    """A point in the base frame."""
    return schema.numbers(f'{description} [x, y, z] in the base frame [m].', 3)


def gripper() -> schema.Schema:
    """What the gripper does meanwhile; a held object stays held unless told otherwise."""
    return schema.choice(
        'Gripper command during the motion.', ('keep', 'open', 'close'), default='keep'
    )


def speed() -> schema.Schema:
    """Fraction of full speed, or null."""
    return schema.optional_number(
        'Fraction of full speed; null: the default.', exclusiveMinimum=0, maximum=1
    )
