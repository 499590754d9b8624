"""Tools that look at the recorded state."""

from __future__ import annotations

from collections.abc import Sequence

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import pictures, schema
from rpent_ros.tools.definition import Effect, ToolDefinition
from rpent_ros.tools.definitions.shared import STEP_IDX, resolution, step
from rpent_ros.tools.dump_reader import ALL_CAMERAS

MAX_PIXELS = 50

_FRAME_ID = 'frame of all points and poses'
_IMAGE_SIZE = '[height, width] of that image [px]'
_RESOLUTION = 'high or policy: the image used'

# Where something is and how far it extends; the same for regions and clusters.
SHAPE_KEYS = {
    'center': 'middle of the smallest rectangle around it seen from above, and middle of its '
    'heights [m]',
    'size': 'long and short side of that rectangle, and height from lowest to highest point [m]',
    'top_z': 'its highest point [m]',
    'bottom_z': 'its lowest visible point [m]',
    'long_yaw': 'direction of the long side [rad]; of the two, the one nearer to the tool yaw',
    'short_yaw': 'direction of the short side [rad]; of the two, the one nearer to the tool yaw',
}
_CLUSTER = (
    'what stands there, most points first; each with ' + ', '.join(SHAPE_KEYS) + ' as '
    'back_project gives them, colour, rgb, n_points, whole: false if the border of every image '
    'that shows it cuts it, and so its center and size, camera that sees most of it, pixel '
    'well inside it there, rows and columns it spans there, at_tool: it is the gripper or '
    'touches it, grasps: how scripted_grasp could hold its uppermost 0.03 m, best first, each '
    'with hold (around it, or a rim with one finger inside), xyz [m] and yaw [rad] for '
    'scripted_grasp, width between the fingers [m], clear: how far from xyz the next thing '
    'stands that the closing hand could hit [m] or null, upright: width of its uppermost part as '
    'a share of width, below 0.5 a slope that slips; no grasps: too wide, or no room'
)


def _region(description: str, **more: schema.Schema) -> schema.Schema:
    return {
        'type': ['object', 'null'],
        'default': None,
        'description': description,
        'properties': {
            'rows': schema.integers('[first, last] row.', 2),
            'columns': schema.integers('[first, last] column.', 2),
            **more,
        },
        'required': ['rows', 'columns'],
        'additionalProperties': False,
    }


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
            'frame_id': _FRAME_ID,
            'episode': 'number of the episode',
            'control_step': 'control steps since the reset',
            'instruction': 'task sentence',
            'state': 'ee_position [m], ee_quaternion_xyzw, ee_pitch and ee_yaw [rad], '
            'gripper_width [m], joint_names, joint_positions [rad or m]',
            'terminated': 'the episode has ended, usually by success',
            'truncated': 'the episode has used up its steps',
            'success': "the task's own predicate holds",
            'workspace': 'min and max corner of the box for the tool centre point [m]',
            'artifacts': 'files recorded with it; read_image shows the pictures among them',
            'log': 'command, result and elapsed_s [s] of the tool that led here',
        },
        codes=(ErrorCode.NO_SUCH_STEP,),
        effect=Effect.READS,
    )


def view_camera_meta(cameras: Sequence[str]) -> ToolDefinition:
    """Calibration of a camera."""
    return ToolDefinition(
        'view_camera_meta',
        description='Read the calibration of a camera at a recorded step: pose of its optical '
        'frame, and intrinsics of each of its images.  back_project already uses it; read it '
        'to project points yourself.',
        arguments={'camera': schema.choice('Camera.', cameras), 'step': step()},
        results={
            'camera': 'camera asked about',
            'step_idx': STEP_IDX,
            'frame_id': _FRAME_ID,
            'position': 'origin of the optical frame [m]',
            'quaternion_xyzw': 'its orientation, x y z w',
            'matrix': 'both as a 4 x 4 transform from the optical frame to frame_id',
            'images': 'recorded images: resolution, image_size [height, width] in px, '
            'intrinsics (3 x 3, px), name',
            'depth': 'depth image that belongs to the largest: name, unit of its 16-bit numbers, '
            'smallest and largest distance, all in m, and valid, the share of pixels that have '
            'one; null: the camera has no depth',
            'moves_with_tool': 'true if its pose changed when the tool moved; null: the tool has '
            'not moved yet',
            'conventions': 'what pixels, frames and depth mean',
        },
        codes=(ErrorCode.NO_SUCH_STEP, ErrorCode.UNKNOWN_CAMERA),
        effect=Effect.READS,
    )


def read_image(cameras: Sequence[str]) -> ToolDefinition:
    """Look at a picture, or closer at a part of it."""
    return ToolDefinition(
        'read_image',
        description='Show a recorded picture again, or a part of it enlarged: small things and '
        'labels are seen better there.  With rulers, numbered lines tell the pixels of the '
        'whole image, as back_project takes them.  Give exactly one of camera and name.',
        arguments={
            'camera': schema.optional_choice('Camera whose picture is shown.', cameras),
            'name': schema.optional_text(
                'Picture of this run, such as an overlay that another tool saved, by its path '
                'within the run, e.g. images/00_agentview.png.'
            ),
            'step': step(),
            'resolution': resolution('Image that is shown'),
            'region': _region('Part that is shown; null: all.'),
            'zoom': schema.optional_integer(
                f'Each pixel becomes a square of zoom x zoom; at most as fits into '
                f'{pictures.MAX_SIDE} pixels; null: as much as fits.',
                minimum=1,
                maximum=pictures.MAX_ZOOM,
            ),
            'rulers': schema.boolean('Draw numbered lines over it.', default=False),
        },
        results={
            'camera': 'camera asked about; absent if a name was given',
            'resolution': _RESOLUTION + '; absent if a name was given',
            'step_idx': STEP_IDX + '; absent if a name was given',
            'frame_id': _FRAME_ID + '; absent if a name was given',
            'name': 'the recorded picture',
            'image_size': '[height, width] of the whole picture [px]',
            'rows': 'first and last row shown',
            'columns': 'first and last column shown',
            'zoom': 'pixels a side that each pixel became',
            'offset': '[row, column] in the picture shown where the first pixel begins [px]',
            'mapping': 'how to get from the picture shown to pixels of the recorded one',
        },
        codes=(
            ErrorCode.NO_SUCH_STEP,
            ErrorCode.UNKNOWN_CAMERA,
            ErrorCode.BAD_PIXEL,
            ErrorCode.BAD_PATH,
            ErrorCode.BAD_OUTPUT_DIR,
        ),
        effect=Effect.READS,
    )


def back_project(cameras: Sequence[str]) -> ToolDefinition:
    """From pixels to points."""
    return ToolDefinition(
        'back_project',
        description='Find the 3-D point in the base frame [m] that a pixel of a recorded image '
        'shows, those of several pixels, or size and place of what a region of pixels shows, '
        'from depth and camera calibration.  Give exactly one of pixel, pixels and region.  '
        '`spread` is large where the pixel lies on an edge.  With a region, set z_min above '
        'the surface that the object stands on, or the surface counts too.',
        arguments={
            'camera': schema.choice('Camera whose image the pixels are in.', cameras),
            'pixel': schema.integers(
                '[row, column] in the image shown, [0, 0] top left.', 2, default=None
            ),
            'pixels': schema.many_integers(
                'Several pixels, each [row, column].', 2, most=MAX_PIXELS, default=None
            ),
            'region': _region(
                'Rectangle of pixels, optionally cut to a band of heights.',
                z_min=schema.number('Lowest height that counts [m].'),
                z_max=schema.number('Largest height that counts [m].'),
            ),
            'step': step(),
            'resolution': resolution('Image that the pixels are counted in'),
        },
        results={
            'camera': 'camera asked about',
            'resolution': _RESOLUTION,
            'image_size': _IMAGE_SIZE,
            'step_idx': STEP_IDX,
            'frame_id': _FRAME_ID,
            'pixel': 'pixel asked for',
            'depth': 'distance along the optical axis [m]; for a pixel',
            'points': 'for pixels: pixel, valid, xyz [m] or error, and hint of each',
            'region': 'region asked for',
            'xyz': 'the point, or the median of the points [m]',
            'spread': 'half of the range of the middle 80 % of the points around a pixel, or of '
            'all points, per axis [m]',
            'n_valid': 'points that took part',
            **{
                key: f'for a region, of the largest thing in it: {meaning}'
                for key, meaning in SHAPE_KEYS.items()
            },
            'hint': 'what to do about a doubtful point; absent if there is nothing to say',
        },
        codes=(ErrorCode.NO_SUCH_STEP, ErrorCode.UNKNOWN_CAMERA, ErrorCode.BAD_PIXEL),
        effect=Effect.READS,
    )


def query_world_map(cameras: Sequence[str]) -> ToolDefinition:
    """What stands there."""
    return ToolDefinition(
        'query_world_map',
        description='List what stands in a band of heights, from depth and camera calibration: '
        'place, size, direction, colour and a pixel of each thing.  Things closer together than '
        'gap come out as one: raise z_min, or narrow the ranges, to tell them apart.  A camera '
        'sees only the near side of a thing; from above, seen by the wrist camera, its place is '
        'most exact.',
        arguments={
            'camera': schema.choice(
                'Camera that looks; all: the points of every camera together.',
                (*cameras, ALL_CAMERAS),
                default=ALL_CAMERAS,
            ),
            'z_min': schema.optional_number(
                'Lowest height [m]; null: just above the surface that most things stand on.'
            ),
            'z_max': schema.optional_number('Largest height [m]; null: top of the workspace.'),
            'x_range': schema.numbers(
                '[lowest, largest] x [m]; null: the workspace.', 2, default=None
            ),
            'y_range': schema.numbers(
                '[lowest, largest] y [m]; null: the workspace.', 2, default=None
            ),
            'step': step(),
            'resolution': resolution('Images used'),
            'gap': schema.number(
                'Points closer together than this belong to one thing [m].',
                minimum=0.002, maximum=0.1, default=0.01,
            ),
            'min_points': schema.integer(
                'Things of fewer points are left out.', minimum=1, maximum=10_000, default=20
            ),
        },
        results={
            'camera': 'camera asked about, or all',
            'resolution': _RESOLUTION,
            'step_idx': STEP_IDX,
            'frame_id': _FRAME_ID,
            'x_range': 'range of x looked at [m]',
            'y_range': 'range of y looked at [m]',
            'z_band': 'lowest and largest height looked at [m]',
            'surface_z': 'height of the surface that most things in the workspace stand on [m]; '
            'null: nothing seen',
            'clusters': _CLUSTER,
            'n_clusters': 'how many there are; at most 20 are listed',
            'hint': 'what to do if nothing, or too much, was found; absent otherwise',
        },
        codes=(ErrorCode.NO_SUCH_STEP, ErrorCode.UNKNOWN_CAMERA, ErrorCode.BAD_PIXEL),
        effect=Effect.READS,
    )  # fmt: skip
