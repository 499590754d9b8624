"""states.json: the manifest of a run's state dumps, and how to read them back."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rpent_ros import files
from rpent_ros.errors import NoSuchStep
from rpent_ros.geometry import Pose

MANIFEST = 'states.json'
SCHEMA_VERSION = 1

# Depth is stored as 16-bit PNG in tenths of a millimetre: exact to 0.05 mm, up to 6.5535 m, a
# seventh of the bytes and of the time of a compressed float array.  0 means no valid depth.
DEPTH_UNIT = 1e-4
MAX_DEPTH = 65535 * DEPTH_UNIT


@dataclasses.dataclass(frozen=True)
class View:
    """One dumped image of one step, with what is needed to turn its pixels into points.

    Attributes:
      camera: camera name.
      resolution: 'policy' (the size that policies see) or 'high'.
      rgb, depth: paths within the run folder; depth '' if the camera has none.
      width, height: size [px].
      intrinsics: (3, 3) pinhole matrix for this size [px], pixel centres at integers.
      pose: optical frame in the base frame.
    """

    camera: str
    _: dataclasses.KW_ONLY
    resolution: str
    rgb: str
    depth: str
    width: int
    height: int
    intrinsics: NDArray[np.float64]
    pose: Pose

    def to_json(self) -> dict[str, Any]:
        """The view's entry in the manifest."""
        return {
            'camera': self.camera,
            'resolution': self.resolution,
            'rgb': self.rgb,
            'depth': self.depth,
            'width': self.width,
            'height': self.height,
            'intrinsics': self.intrinsics.tolist(),
            'position': self.pose.position.tolist(),
            'quaternion_xyzw': self.pose.quaternion.tolist(),
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> View:
        """Read a manifest entry."""
        names = ('resolution', 'rgb', 'depth', 'width', 'height')
        return cls(
            entry['camera'],
            **{name: entry[name] for name in names},
            intrinsics=np.array(entry['intrinsics'], float),
            pose=Pose(entry['position'], entry['quaternion_xyzw']),
        )


def encode_depth(depth: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Metres (H, W) to stored units; not finite, not positive and too far become 0."""
    valid = np.isfinite(depth) & (depth > 0) & (depth <= MAX_DEPTH)
    return np.rint(np.where(valid, depth, 0.0) / DEPTH_UNIT).astype(np.uint16)


def load_depth(path: pathlib.Path) -> NDArray[np.float64]:
    """Read a dumped depth image (H, W): metres along the optical axis, NaN where unknown."""
    with Image.open(path) as image:
        stored = np.array(image, dtype=np.uint16)
    return np.where(stored > 0, stored * DEPTH_UNIT, np.nan)


class States:
    """The state dumps of one run folder.

    Reading needs nothing but the folder: `States(run_dir).entry(-1)['state']['ee_position']`.
    """

    def __init__(self, output_dir: pathlib.Path | str) -> None:
        self.output_dir = pathlib.Path(output_dir)

    @property
    def path(self) -> pathlib.Path:
        """The manifest."""
        return self.output_dir / MANIFEST

    def entries(self) -> list[dict[str, Any]]:
        """All dumps, oldest first; empty before the first one."""
        if not self.path.exists():
            return []
        return list(json.loads(self.path.read_text())['steps'])

    def entry(self, step: int = -1) -> dict[str, Any]:
        """The manifest entry of one dump; -1: the newest.

        Raises:
          NoSuchStep: there is no such dump.
        """
        entries = self.entries()
        for entry in entries[-1:] if step == -1 else entries:
            if step in (-1, entry['step_idx']):
                return entry
        known = f'0 to {entries[-1]["step_idx"]}' if entries else 'none yet'
        raise NoSuchStep(f'step {step} has not been recorded; recorded steps: {known}')

    def views(self, step: int = -1) -> list[View]:
        """The images of one dump.

        Raises:
          NoSuchStep: there is no such dump.
        """
        return [View.from_json(view) for view in self.entry(step)['views']]

    def append(self, entry: dict[str, Any]) -> None:
        """Add a dump to the manifest, atomically."""
        document = {'schema_version': SCHEMA_VERSION, 'steps': [*self.entries(), entry]}
        files.write_json(self.path, document)
