"""states.json: the manifest of a run's state dumps, and how to read them back."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import pathlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rpent_ros import files
from rpent_ros.errors import InvalidRequest, NoSuchStep, UnknownCamera
from rpent_ros.geometry import Pose

if TYPE_CHECKING:
    from typing_extensions import Self

MANIFEST = 'states.json'
SCHEMA_VERSION = 1
# Keys of a view that make up its pose.
_POSE = ('position', 'quaternion_xyzw')
# Keys of a dump that a RecordedStep holds as they are.
_SAME = (
    'frame_id', 'episode', 'control_step', 'instruction', 'terminated', 'truncated', 'success',
)  # fmt: skip

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
    def from_json(cls, entry: dict[str, Any]) -> Self:
        """Read a manifest entry."""
        given = {key: value for key, value in entry.items() if key not in _POSE}
        given['intrinsics'] = np.array(entry['intrinsics'], float)
        return cls(**given, pose=Pose(*(entry[key] for key in _POSE)))


def encode_depth(depth: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Metres (H, W) to stored units; not finite, not positive and too far become 0."""
    valid = np.isfinite(depth) & (depth > 0) & (depth <= MAX_DEPTH)
    return np.rint(np.where(valid, depth, 0.0) / DEPTH_UNIT).astype(np.uint16)


def load_rgb(path: pathlib.Path) -> NDArray[np.uint8]:
    """Read a dumped colour image (H, W, 3)."""
    with Image.open(path) as image:
        return np.array(image.convert('RGB'))


def load_depth(path: pathlib.Path) -> NDArray[np.float64]:
    """Read a dumped depth image (H, W): metres along the optical axis, NaN where unknown."""
    with Image.open(path) as image:
        stored = np.array(image, dtype=np.uint16)
    return np.where(stored > 0, stored * DEPTH_UNIT, np.nan)


@dataclasses.dataclass(frozen=True)
class RecordedImage(View):
    """A view of a run folder that can read its pixels.

    Attributes:
      folder: the run folder.
    """

    folder: pathlib.Path

    def load_rgb(self) -> NDArray[np.uint8]:
        """Colours (H, W, 3), upright RGB.

        Raises:
          InvalidRequest: the file is gone or damaged.
        """
        with _reading(self.folder / self.rgb):
            return load_rgb(self.folder / self.rgb)

    def load_depth(self) -> NDArray[np.float64]:
        """Depth (H, W): metres along the optical axis, NaN where unknown.

        Raises:
          InvalidRequest: the camera has no depth, or the file is gone or damaged.
        """
        if not self.depth:
            raise InvalidRequest(f'{self.folder}: camera {self.camera} was recorded without depth')
        with _reading(self.folder / self.depth):
            return load_depth(self.folder / self.depth)


@dataclasses.dataclass(frozen=True)
class RecordedStep:
    """One state dump.

    Attributes:
      index: its number, from 0.
      stamp: ROS time of the observation [ns since the epoch].
      frame_id: frame of all poses.
      episode: number of the episode.
      control_step: control steps since the reset.
      instruction: task sentence.
      ee_pose: tool centre point.
      gripper_width: distance between the fingers [m]; NaN: not measured.
      joint_names, joint_positions: joints (J,) [rad or m].
      terminated, truncated, success: where the episode stands.
      workspace: (2, 3) lowest and highest corner of the box for the tool [m].
      tool, arguments: the call that led here; '' and empty for the first dump.
      result: what the tool measured; empty for the first dump.
      seconds: how long it took [s]; NaN for the first dump.
      images: all images of this moment.
      artifacts: their files, relative to the run folder.
    """

    index: int
    _: dataclasses.KW_ONLY
    stamp: int
    frame_id: str
    episode: int
    control_step: int
    instruction: str
    ee_pose: Pose
    gripper_width: float
    joint_names: tuple[str, ...]
    joint_positions: NDArray[np.float64]
    terminated: bool
    truncated: bool
    success: bool
    workspace: NDArray[np.float64]
    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]
    seconds: float
    images: tuple[RecordedImage, ...]
    artifacts: tuple[str, ...]

    def image(self, camera: str) -> RecordedImage:
        """The largest image of a camera.

        Raises:
          UnknownCamera: it was not recorded; the message lists those that were.
        """
        own = [image for image in self.images if image.camera == camera]
        if not own:
            known = ', '.join(dict.fromkeys(image.camera for image in self.images)) or 'none'
            raise UnknownCamera(f'unknown camera {camera!r}; recorded cameras: {known}')
        return max(own, key=lambda image: image.width)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any], folder: pathlib.Path) -> RecordedStep:
        """Read a manifest entry of a run folder."""
        state, log = entry['state'], entry['log']
        command = log.get('command') or {}
        return cls(
            entry['step_idx'],
            stamp=entry['stamp']['sec'] * 1_000_000_000 + entry['stamp']['nanosec'],
            **{name: entry[name] for name in _SAME},
            ee_pose=Pose(state['ee_position'], state['ee_quaternion_xyzw']),
            gripper_width=_number(state['gripper_width']),
            joint_names=tuple(state['joint_names']),
            joint_positions=np.array(state['joint_positions'], float),
            workspace=np.array([entry['workspace']['min'], entry['workspace']['max']], float),
            tool=command.get('tool', ''),
            arguments=command.get('arguments', {}),
            result=log.get('result') or {},
            seconds=_number(log.get('elapsed_s')),
            images=tuple(
                RecordedImage.from_json(view | {'folder': folder}) for view in entry['views']
            ),
            artifacts=tuple(entry['artifacts']),
        )


class States:
    """The state dumps of one run folder, whether the run is over, under way or was killed.

    Iterating gives a `RecordedStep` per dump, oldest first; `states[-1]` is the newest.
    """

    def __init__(self, output_dir: pathlib.Path | str) -> None:
        self.output_dir = pathlib.Path(output_dir)

    @property
    def path(self) -> pathlib.Path:
        """The manifest."""
        return self.output_dir / MANIFEST

    def __len__(self) -> int:
        return len(self.entries())

    def __iter__(self) -> Iterator[RecordedStep]:
        for entry in self.entries():
            yield RecordedStep.from_json(entry, self.output_dir)

    def __getitem__(self, step: int) -> RecordedStep:
        """The dump of that number; -1: the newest.

        Raises:
          NoSuchStep: there is no such dump.
        """
        return RecordedStep.from_json(self.entry(step), self.output_dir)

    def entries(self) -> list[dict[str, Any]]:
        """All dumps as they are in the manifest, oldest first; empty before the first one.

        Raises:
          InvalidRequest: the manifest is damaged, or a newer version wrote it.
        """
        if not self.path.exists():
            return []
        with _reading(self.path):
            document = json.loads(self.path.read_text())
        version = document.get('schema_version') if isinstance(document, dict) else None
        if not isinstance(version, int) or not 1 <= version <= SCHEMA_VERSION:
            raise InvalidRequest(
                f'{self.path}: expected schema_version 1 to {SCHEMA_VERSION}, got {version!r}; '
                'a newer rpent_ros wrote it, so upgrade this one'
            )
        return list(document['steps'])

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


@contextlib.contextmanager
def _reading(path: pathlib.Path) -> Iterator[None]:
    """Have a file that is gone or damaged told in one sentence."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InvalidRequest(f'{path} cannot be read: {reason}') from None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
