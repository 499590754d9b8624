"""What a robot senses at one moment."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.geometry import Pose

Vector = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class CameraFrame:
    """One image with everything needed to turn its pixels into points.

    Attributes:
      name: camera name.
      frame_id: optical frame (z forward, x right, y down).
      rgb: (H, W, 3) uint8, upright.
      depth: (H, W) float32 metres along the optical axis; None: not asked for.
      intrinsics: (3, 3) pinhole matrix for this size [px]; pixel centres at integers.
      pose: optical frame in the robot's base frame.
      stamp: time of the robot state it shows [ns].
    """

    name: str
    _: dataclasses.KW_ONLY
    frame_id: str
    rgb: NDArray[np.uint8]
    intrinsics: Vector
    pose: Pose
    depth: NDArray[np.float32] | None = None
    stamp: int = 0

    def __post_init__(self) -> None:
        where = f'camera {self.name}'
        rgb = checks.array(f'{where} rgb', self.rgb, shape=(None, None, 3), dtype=np.uint8)
        object.__setattr__(self, 'rgb', rgb)
        if self.depth is not None:
            depth = checks.array(
                f'{where} depth', self.depth, shape=rgb.shape[:2], dtype=np.float32, finite=False
            )
            object.__setattr__(self, 'depth', depth)
        object.__setattr__(
            self,
            'intrinsics',
            checks.array(f'{where} intrinsics', self.intrinsics, shape=(3, 3)),
        )

    @property
    def size(self) -> tuple[int, int]:
        """Width and height [px]."""
        return self.rgb.shape[1], self.rgb.shape[0]


@dataclasses.dataclass(frozen=True)
class Observation:
    """What a robot senses at one moment; poses and twist in the base frame.

    Attributes:
      stamp: time of the state [ns].
      frame_id: the base frame.
      episode: counts resets; 0: never reset.
      step: control steps since the reset.
      instruction: task sentence; '' for none.
      state: (S,) policy state vector, see DriverSpec.state.
      joint_names, joint_positions, joint_velocities: arm and gripper [rad or m, per second].
      joint_efforts: torques [N m] and forces [N] of the same joints; empty: not measured.
      ee_pose: pose of the tool centre point.
      ee_twist: (6,) its linear [m/s] and angular [rad/s] velocity.
      gripper_width: distance between the finger pads [m]; NaN: not measured.
      frames: images, in the order asked for.
      terminated: the task's own predicate ended the episode.
      truncated: the step limit ended the episode.
      success: the task's own predicate has been satisfied in this episode.
    """

    stamp: int
    _: dataclasses.KW_ONLY
    frame_id: str
    episode: int
    step: int
    state: Vector
    joint_names: tuple[str, ...]
    joint_positions: Vector
    joint_velocities: Vector
    ee_pose: Pose
    ee_twist: Vector
    gripper_width: float = math.nan
    joint_efforts: Vector = dataclasses.field(default_factory=lambda: np.zeros(0))
    instruction: str = ''
    frames: tuple[CameraFrame, ...] = ()
    terminated: bool = False
    truncated: bool = False
    success: bool = False

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        for name, shape in (
            ('state', (None,)),
            ('joint_positions', (n,)),
            ('joint_velocities', (n,)),
            ('joint_efforts', (n if len(self.joint_efforts) else 0,)),
            ('ee_twist', (6,)),
        ):
            value = checks.array(f'observation {name}', getattr(self, name), shape=shape)
            object.__setattr__(self, name, value)

    def frame(self, camera: str) -> CameraFrame | None:
        """The image of that camera, or None if it was not asked for."""
        return next((f for f in self.frames if f.name == camera), None)

    def with_frames(self, frames: tuple[CameraFrame, ...]) -> Observation:
        """The same observation with these images."""
        return dataclasses.replace(self, frames=frames)
