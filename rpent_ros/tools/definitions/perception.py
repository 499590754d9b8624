"""Tools that look at the recorded state."""

from __future__ import annotations

from collections.abc import Sequence

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import Effect, ToolDefinition
from rpent_ros.tools.definitions.shared import STEP_IDX, step
from rpent_ros.tools.dump import HIGH, POLICY


def view_env_state() -> ToolDefinition:
    """Look at a state dump."""
    return ToolDefinition(
        'view_env_state',
        description='Read a recorded state: pose of the tool, finger width, joints, task '
        'sentence, workspace box, the command that led there, and one image per camera.  Does '
        'not move anything.',
        arguments={'step': step()},
        results={
            'step_idx': STEP_IDX,
            'stamp': 'when it was taken, ROS time: sec [s], nanosec [ns]',
            'frame_id': 'frame of all poses',
            'episode': 'number of the episode',
            'control_step': 'control steps since the reset',
            'instruction': 'task sentence',
            'state': 'ee_position [m], ee_quaternion_xyzw, ee_yaw [rad], gripper_width [m], '
            'joint_names, joint_positions [rad or m]',
            'terminated': 'the episode has ended, usually by success',
            'truncated': 'the episode has used up its steps',
            'success': "the task's own predicate holds",
            'workspace': 'min and max corner of the box for the tool centre point [m]',
            'log': 'command, result and elapsed_s [s] of the tool that led here',
        },
        codes=(ErrorCode.NO_SUCH_STEP,),
        effect=Effect.READS,
    )


def back_project(cameras: Sequence[str]) -> ToolDefinition:
    """From pixels to a point."""
    return ToolDefinition(
        'back_project',
        description='Find the 3-D point in the base frame [m] that a pixel of a recorded image '
        'shows, or the median point of a region of pixels, from depth and camera calibration.  '
        'Give exactly one of pixel and region.  `spread` is large where the pixel lies on an '
        'edge.',
        arguments={
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
            'step': step(),
            'resolution': schema.choice(
                'Image that the pixel is counted in: the one shown (high) or the smaller one '
                'that policies see (policy).',
                (HIGH, POLICY),
                default=HIGH,
            ),
        },
        results={
            'camera': 'camera asked about',
            'resolution': 'high or policy: the image used',
            'image_size': '[height, width] of that image [px]',
            'step_idx': STEP_IDX,
            'frame_id': 'frame of the point',
            'pixel': 'pixel asked for',
            'depth': 'distance along the optical axis [m]; for a pixel',
            'region': 'region asked for',
            'center': 'middle of the covered range in x and y, median z [m]; for a region',
            'xyz': 'the point, or the median of the region [m]',
            'spread': 'half of the range of the middle 80 % of the points around, per axis [m]',
            'n_valid': 'pixels with a valid depth that took part',
            'hint': 'what to do about a doubtful point; absent if there is nothing to say',
        },
        codes=(ErrorCode.NO_SUCH_STEP, ErrorCode.BAD_PIXEL),
        effect=Effect.READS,
    )
