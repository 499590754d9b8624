"""The tools of a manipulator as language models see them.

One definition per tool: the schema that refuses bad arguments, the words in the prompt and the
table in the documentation all come from here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rpent_ros.tools import schema
from rpent_ros.tools.dump import HIGH, POLICY

Spec = dict[str, Any]

MOTION_RESULT = (
    'The result says what was requested and executed, whether the driver clamped anything, '
    'whether the arm settled, the distance left [m], and shows the state and images afterwards.'
)


def _tool(name: str, description: str, properties: dict[str, Any] | None = None) -> Spec:
    return {
        'name': name,
        'description': description,
        'input_schema': schema.arguments(properties),
    }


def _step() -> schema.Schema:
    return schema.integer(
        'State dump to read: 0 is the start, -1 the newest.', minimum=-1, default=-1
    )


def _xyz(description: str) -> schema.Schema:
    return schema.numbers(f'{description} [x, y, z] in the base frame [m].', 3)


def _yaw(name_of_none: str) -> schema.Schema:
    return schema.optional_number(
        'Direction of the tool x axis about the base z axis [rad]; '
        f'null: {name_of_none}.',
        minimum=-2 * math.pi,
        maximum=2 * math.pi,
    )


def _prompt() -> schema.Schema:
    return schema.text(
        'What the policy shall do, worded like the task sentence, e.g. "pick up the milk".',
        maxLength=500,
    )


def view_env_state() -> Spec:
    """Look at a state dump."""
    return _tool(
        'view_env_state',
        'Read a recorded state: pose of the tool, finger width, joints, task sentence, workspace '
        'box, the command that led there, and one image per camera.  Does not move anything.',
        {'step': _step()},
    )


def back_project(cameras: Sequence[str]) -> Spec:
    """From pixels to a point."""
    return _tool(
        'back_project',
        'Find the 3-D point in the base frame [m] that a pixel of a recorded image shows, or the '
        'median point of a region of pixels, from depth and camera calibration.  Give exactly '
        'one of pixel and region.  `spread` is large where the pixel lies on an edge.',
        {
            'camera': schema.choice('Camera whose image the pixel is in.', cameras),
            'pixel': schema.integers(
                '[row, column] in the image shown, [0, 0] top left.', 2, default=None
            ),
            'region': {
                'type': ['object', 'null'],
                'default': None,
                'description': 'Rectangle of pixels, optionally cut to a band of heights.',
                'properties': {
                    'rows': schema.integers('[first, last] row.', 2),
                    'columns': schema.integers('[first, last] column.', 2),
                    'z_min': schema.number('Lowest height that counts [m].'),
                    'z_max': schema.number('Largest height that counts [m].'),
                },
                'required': ['rows', 'columns'],
                'additionalProperties': False,
            },
            'step': _step(),
            'resolution': schema.choice(
                'Image that the pixel is counted in: the one shown (high) or the smaller one '
                'that policies see (policy).',
                (HIGH, POLICY),
                default=HIGH,
            ),
        },
    )


def move_to() -> Spec:
    """Straight-line motion."""
    return _tool(
        'move_to',
        'Move the tool centre point in a straight line.  The orientation is kept unless yaw is '
        'given, and the gripper command stays as it is unless told otherwise, so a held object '
        'stays held.  A target outside the workspace box is refused.  ' + MOTION_RESULT,
        {
            'xyz': _xyz('Target'),
            'yaw': _yaw('keep the orientation'),
            'gripper': schema.choice(
                'Gripper command during the motion.', ('keep', 'open', 'close'), default='keep'
            ),
            'speed': schema.optional_number(
                'Fraction of full speed; null: the default.', exclusiveMinimum=0, maximum=1
            ),
        },
    )


def rotate_wrist() -> Spec:
    """Turn about the vertical."""
    return _tool(
        'rotate_wrist',
        'Turn the tool about the vertical where it is.  Give exactly one of target_yaw and '
        'delta_yaw.  ' + MOTION_RESULT,
        {
            'target_yaw': _yaw('use delta_yaw'),
            'delta_yaw': schema.optional_number(
                'Angle to turn by [rad], counter-clockwise seen from above; null: use target_yaw.',
                minimum=-2 * math.pi,
                maximum=2 * math.pi,
            ),
        },
    )


def set_gripper() -> Spec:
    """Open or close."""
    return _tool(
        'set_gripper',
        'Open or close the gripper where it is and wait until the fingers rest.  After closing, '
        '`holding` tells from the finger width whether something is held.  ' + MOTION_RESULT,
        {'command': schema.choice('What the gripper does.', ('open', 'close'))},
    )


def release() -> Spec:
    """Let go."""
    return _tool(
        'release',
        'Open the gripper and let go of whatever it holds, without moving the arm.  '
        + MOTION_RESULT,
    )


def scripted_grasp() -> Spec:
    """Grasp from above at a measured point."""
    return _tool(
        'scripted_grasp',
        'Grasp from above at a point that you measured: open, hover above it, go down, close, '
        'lift.  Ends with NOT_GRASPED if the finger width says that nothing is held.  `stage` '
        'tells how far it came.  ' + MOTION_RESULT,
        {
            'xyz': _xyz('Where the tool centre point closes'),
            'yaw': _yaw('keep the orientation'),
            'approach_height': schema.optional_number(
                'Hover above the point, and lift after the grasp [m]; null: the default.',
                minimum=0.02,
                maximum=0.4,
            ),
        },
    )


def pi0_pick() -> Spec:
    """Learned pick."""
    return _tool(
        'pi0_pick',
        'Let the learned policy pick up an object, chunk after chunk, until the arm has gone '
        'down, closed on something and lifted it.  Start high above the scene.  Ends with '
        'NOT_GRASPED if nothing was lifted.  ' + MOTION_RESULT,
        {
            'prompt': _prompt(),
            'max_chunks': schema.integer(
                'Longest motion, in chunks of 10 steps.', minimum=1, maximum=200, default=40
            ),
        },
    )


def pi0_doubled() -> Spec:
    """Learned skill without a verdict of its own."""
    return _tool(
        'pi0_doubled',
        'Let the learned policy carry out an instruction (push, turn, open, place), chunk after '
        'chunk, until the task is solved, the policy says it is done, or the chunks are used up; '
        '`stopped_by` tells which.  ' + MOTION_RESULT,
        {
            'prompt': _prompt(),
            'max_chunks': schema.integer(
                'Longest motion, in chunks of 10 steps.', minimum=1, maximum=200, default=60
            ),
        },
    )


def finish() -> Spec:
    """End the run."""
    return _tool(
        'finish',
        'End the run and say how it went.  The claim is recorded beside the verdict of the '
        "task's own predicate, which you cannot change.  Refused while a motion runs, and for a "
        'claim of success before anything has moved.',
        {
            'status': schema.choice('How it went.', ('success', 'failure', 'stuck')),
            'summary': schema.text('What was done and seen, in a few sentences.', maxLength=4000),
        },
    )


def manipulation_tools(cameras: Sequence[str]) -> list[Spec]:
    """All tools of a manipulator with these cameras, in the order in which models see them."""
    return [
        view_env_state(),
        back_project(cameras),
        move_to(),
        rotate_wrist(),
        set_gripper(),
        release(),
        scripted_grasp(),
        pi0_pick(),
        pi0_doubled(),
        finish(),
    ]
