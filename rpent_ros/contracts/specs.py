"""What a robot offers and what a policy needs: data, so that the two can be compared."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.errors import InvalidRequest

Vector = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class CameraSpec:
    """One camera: name, optical frame, default size [px]; images are upright `encoding`."""

    name: str
    _: dataclasses.KW_ONLY
    frame_id: str
    width: int
    height: int
    encoding: str = 'rgb8'
    has_depth: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidRequest('camera name: expected a name, got an empty string')
        if self.width <= 0 or self.height <= 0:
            raise InvalidRequest(
                f'camera {self.name}: expected a size above 0, got {self.width} x {self.height}'
            )


@dataclasses.dataclass(frozen=True)
class StateSpec:
    """Layout of the policy state vector: one name and one unit ('m', 'rad', '') per entry."""

    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.same_length('state spec', names=self.names, units=self.units)


@dataclasses.dataclass(frozen=True)
class ActionSpec:
    """Meaning of one action row.

    Attributes:
      names, units: one per dimension.
      low, high: (D,) accepted values, as the policy writes them.
      scale: (D,) SI amount that 1.0 commands per control step.
      frame_id: frame of translations and rotations; '' for joint actions.
      rate: rows per second [Hz].
      gripper_index: dimension of the gripper; -1: none.
      gripper_open, gripper_close: values that open and close it.
    """

    names: tuple[str, ...]
    _: dataclasses.KW_ONLY
    units: tuple[str, ...]
    low: Vector
    high: Vector
    scale: Vector
    frame_id: str
    rate: float
    gripper_index: int = -1
    gripper_open: float = -1.0
    gripper_close: float = 1.0

    def __post_init__(self) -> None:
        checks.same_length('action spec', names=self.names, units=self.units)
        for name in ('low', 'high', 'scale'):
            value = checks.array(f'action spec {name}', getattr(self, name), shape=(self.dim,))
            object.__setattr__(self, name, value)
        if (self.low >= self.high).any():
            raise InvalidRequest(
                f'action spec: expected low below high, got {self.low.tolist()} '
                f'and {self.high.tolist()}'
            )
        if self.rate <= 0:
            raise InvalidRequest(f'action spec rate: expected above 0 Hz, got {self.rate}')
        if not -1 <= self.gripper_index < self.dim:
            raise InvalidRequest(
                f'action spec gripper_index: expected -1 to {self.dim - 1}, '
                f'got {self.gripper_index}'
            )

    @property
    def dim(self) -> int:
        """Number of values per row."""
        return len(self.names)


@dataclasses.dataclass(frozen=True)
class SafetyLimits:
    """What the driver enforces on every motion; nothing in a goal can widen it.

    Attributes:
      workspace_min, workspace_max: (3,) box for the commanded tool centre point, base frame [m].
      max_translation: largest translation one action may command [m].
      max_rotation: largest rotation one action may command [rad].
      max_steps: longest motion one goal may ask for [control steps].
      workspace_margin: a motion ends when the tool is measured further than this outside the box
        [m].
      max_deviation: a motion ends when the tool is measured further than this off its line [m].
    """

    _: dataclasses.KW_ONLY
    workspace_min: Vector
    workspace_max: Vector
    max_translation: float
    max_rotation: float
    max_steps: int = 600
    workspace_margin: float = 0.03
    max_deviation: float = 0.15

    def __post_init__(self) -> None:
        for name in ('workspace_min', 'workspace_max'):
            value = checks.array(f'safety limits {name}', getattr(self, name), shape=(3,))
            object.__setattr__(self, name, value)
        if (self.workspace_min >= self.workspace_max).any():
            raise InvalidRequest(
                'safety limits: expected workspace_min below workspace_max, got '
                f'{self.workspace_min.tolist()} and {self.workspace_max.tolist()}'
            )
        for name in (
            'max_translation', 'max_rotation', 'max_steps', 'workspace_margin', 'max_deviation'
        ):  # fmt: skip
            value = getattr(self, name)
            if not value > 0 or not np.isfinite(value):
                raise InvalidRequest(f'safety limits {name}: expected above 0, got {value}')


@dataclasses.dataclass(frozen=True)
class DriverSpec:
    """What a driver offers."""

    robot: str
    _: dataclasses.KW_ONLY
    simulated: bool
    base_frame: str
    tool_frame: str
    cameras: tuple[CameraSpec, ...]
    state: StateSpec
    action: ActionSpec
    limits: SafetyLimits
    suites: tuple[str, ...] = ()
    privileged: bool = False

    def camera(self, name: str) -> CameraSpec:
        """The camera of that name.

        Raises:
          InvalidRequest: there is none.
        """
        for camera in self.cameras:
            if camera.name == name:
                return camera
        known = ', '.join(c.name for c in self.cameras) or 'none'
        raise InvalidRequest(f'unknown camera {name!r}; known cameras: {known}')


@dataclasses.dataclass(frozen=True)
class PolicySpec:
    """What a policy needs and returns.

    Attributes:
      cameras: cameras whose images it reads; empty: it does not look.
      state: state vector it reads; empty: none.
      action: meaning of the rows it returns.
      horizon: largest number of rows in one chunk.
      privileged: it reads simulator state that a real robot does not have.
    """

    name: str
    _: dataclasses.KW_ONLY
    action: ActionSpec
    horizon: int
    cameras: tuple[CameraSpec, ...] = ()
    state: StateSpec = StateSpec()
    privileged: bool = False

    def __post_init__(self) -> None:
        if self.horizon <= 0:
            raise InvalidRequest(
                f'policy {self.name}: expected a horizon above 0, got {self.horizon}'
            )
