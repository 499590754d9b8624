"""What planners that see no pictures are told instead: the same scene in words and numbers."""

from __future__ import annotations

from typing import Any

from rpent_ros.tools.dump import POLICY
from rpent_ros.tools.dump_reader import ALL_CAMERAS
from rpent_ros.tools.perception import Perception
from rpent_ros.tools.segmentation import SegmentationTool

# Of what query_world_map says of a thing; the rest is there for the asking.
_KEYS = ('center', 'size', 'top_z', 'short_yaw', 'colour', 'camera', 'pixel', 'at_tool')
# Tools that do nothing but show a picture.
PICTURE_TOOLS = ('read_image',)
DIGITS = 4


def describe_scene(
    perception: Perception, segmentation: SegmentationTool, step: int
) -> dict[str, Any]:
    """What stands out in the depth images of one dump: place, size, colour and a pixel of each.

    Args:
      perception: the readers of the run folder.
      segmentation: lists objects by name where the robot may know them.
      step: dump number.

    Returns:
      The `seen` entry of a result; without cameras that measure depth it holds no things.
    """
    found = perception.query_world_map(camera=ALL_CAMERAS, resolution=POLICY, step=step)
    objects = segmentation.known_objects(step)
    # Said wherever it is used: a real robot could not have told.
    named = {'objects': _rounded(objects), 'privileged': True} if objects else {}
    return {
        'step_idx': found.data['step_idx'],
        'resolution': POLICY,
        'surface_z': _rounded(found.data['surface_z']),
        'things': [
            {key: _rounded(cluster[key]) for key in _KEYS} for cluster in found.data['clusters']
        ],
        **named,
    }


def _rounded(value: Any) -> Any:
    """Tenths of a millimetre: more digits only cost a model's attention."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
