"""The tool that finds the pixels of one thing."""

from __future__ import annotations

from collections.abc import Sequence

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import Effect, ToolDefinition
from rpent_ros.tools.definitions.shared import STEP_IDX, resolution, step


def segment(cameras: Sequence[str]) -> ToolDefinition:
    """From words or a pixel to the whole thing."""
    return ToolDefinition(
        'segment',
        description='Find the pixels of one thing in a recorded image, and where it is: by a '
        'pixel on it, or by words where the segmenter knows words.  Give exactly one of text and '
        'point.  A picture shows what was found: check it before you rely on it.',
        arguments={
            'camera': schema.choice('Camera whose image is searched.', cameras),
            'text': schema.optional_text(
                'What is looked for, such as "the milk"; null: use point.'
            ),
            'point': schema.integers(
                '[row, column] of a pixel well inside it; null: use text.', 2, default=None
            ),
            'step': step(),
            'min_score': schema.number(
                'Answers below this score are left out.', minimum=0, maximum=1, default=0.2
            ),
            'resolution': resolution('Image that is searched and that the pixel is counted in'),
        },
        results={
            'camera': 'camera asked about',
            'resolution': 'high or policy: the image used',
            'image_size': '[height, width] of that image [px]',
            'step_idx': STEP_IDX,
            'frame_id': 'frame of all points',
            'requested': 'text, point and min_score as given',
            'instances': 'what was found, best first, at most ten: label, score from 0 to 1, rows '
            'and columns it spans, n_pixels, xyz (median point), center, size, top_z, bottom_z, '
            'long_yaw, short_yaw as back_project gives them, n_valid (points with depth)',
            'n_instances': 'how many were found',
            'overlay': 'the picture that shows them; read_image shows it again',
            'privileged': 'present and true if the segmenter reads simulator state that no real '
            'robot has',
        },
        codes=(
            ErrorCode.NOT_FOUND,
            ErrorCode.NO_SUCH_STEP,
            ErrorCode.UNKNOWN_CAMERA,
            ErrorCode.BAD_PIXEL,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.BUSY,
            ErrorCode.SEGMENTATION_FAILED,
        ),
        effect=Effect.READS,
    )
