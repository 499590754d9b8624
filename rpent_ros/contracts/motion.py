"""Commands to a robot and what became of them."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import BadAction, ErrorCode, InvalidRequest
from rpent_ros.geometry import Pose

MAX_BLEND_RADIUS = 0.2


@dataclasses.dataclass(frozen=True)
class ActionChunk:
    """A short sequence of actions: (T, D) float32, one row per control step, T >= 1."""

    data: NDArray[np.float32]

    def __post_init__(self) -> None:
        try:
            data = checks.array('action chunk', self.data, shape=(None, None), dtype=np.float32)
        except InvalidRequest as error:
            raise BadAction(str(error)) from None
        if data.shape[0] == 0:
            raise BadAction('action chunk: expected at least one row, got none')
        object.__setattr__(self, 'data', data)

    @property
    def horizon(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    @property
    def dim(self) -> int:
        """Values per row."""
        return int(self.data.shape[1])


@dataclasses.dataclass(frozen=True)
class Clamp:
    """One value that the driver changed for safety, in the unit of the limited quantity."""

    step: int
    _: dataclasses.KW_ONLY
    limit: str
    asked: float
    sent: float


class Gripper(enum.IntEnum):
    """What a motion does with the gripper; KEEP leaves the last command in force."""

    KEEP = 0
    OPEN = 1
    CLOSE = 2


@dataclasses.dataclass(frozen=True)
class Waypoint:
    """A straight-line motion of the tool centre point in the base frame.

    What is kept is what was commanded last, not where the arm happens to be: errors of many
    motions do not add up.

    Attributes:
      target: pose to reach.
      keep_position: ignore the target's position and stay.
      keep_tilt: ignore the direction that the target's approach axis points to and keep it.
      keep_yaw: ignore the target's turn about its approach axis and keep it.
      gripper: gripper command during the motion; other than KEEP it is waited for.
      speed: fraction of full speed, (0, 1]; None: the driver's default.
      blend_radius: within this distance the next waypoint is headed for without a halt [m]; 0.0:
        come to rest.
    """

    target: Pose
    _: dataclasses.KW_ONLY
    keep_position: bool = False
    keep_tilt: bool = False
    keep_yaw: bool = False
    gripper: Gripper = Gripper.KEEP
    speed: float | None = None
    blend_radius: float = 0.0

    def __post_init__(self) -> None:
        if self.speed is not None and not 0.0 < self.speed <= 1.0:
            raise InvalidRequest(f'move_to speed: expected above 0 up to 1, got {self.speed}')
        if not 0.0 <= self.blend_radius <= MAX_BLEND_RADIUS:
            raise InvalidRequest(
                f'move_to blend_radius: expected 0 to {MAX_BLEND_RADIUS} m, got '
                f'{self.blend_radius}'
            )

    @property
    def keep_orientation(self) -> bool:
        """True if nothing is asked of the orientation."""
        return self.keep_tilt and self.keep_yaw


def as_waypoints(given: Waypoint | Sequence[Waypoint]) -> tuple[Waypoint, ...]:
    """The waypoints of a motion that was given as one or as several.

    Raises:
      InvalidRequest: there is none, or the last one is to be passed by.
    """
    waypoints = (given,) if isinstance(given, Waypoint) else tuple(given)
    if not waypoints:
        raise InvalidRequest('move_to: expected at least one waypoint, got none')
    if waypoints[-1].blend_radius:
        raise InvalidRequest(
            'move_to: expected the last waypoint to have blend_radius 0, got '
            f'{waypoints[-1].blend_radius}'
        )
    return waypoints


@dataclasses.dataclass(frozen=True)
class StepResult:
    """Outcome of one control step.

    Attributes:
      executed: (D,) the action sent after safety limits.
      observation: state after the step, when asked for.
    """

    executed: NDArray[np.float64]
    _: dataclasses.KW_ONLY
    clamps: tuple[Clamp, ...] = ()
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool = False
    observation: Observation | None = None


@dataclasses.dataclass(frozen=True)
class MotionResult:
    """Outcome of a chunk or a motion; falling short of a target is a result, not an exception.

    Attributes:
      code, message: ErrorCode and sentence; OK and '' on success.
      steps: control steps executed.
      observation: state at the end, without images; None only if the driver was never reset.
      reached: waypoints reached (motions only).
      route: (3,) positions that the driver went through by itself on the way [m].
      settled: target reached within tolerance and the tool at rest (motions only).
      position_error, orientation_error: what is left from where the tool is measured to the last
        waypoint headed for [m], [rad]; NaN for chunks, and for motions that were refused.
    """

    code: ErrorCode
    message: str
    _: dataclasses.KW_ONLY
    steps: int
    observation: Observation | None
    clamps: tuple[Clamp, ...] = ()
    reached: int = 0
    route: tuple[NDArray[np.float64], ...] = ()
    settled: bool = False
    position_error: float = math.nan
    orientation_error: float = math.nan

    @property
    def ok(self) -> bool:
        """True if the motion did what was asked."""
        return self.code == ErrorCode.OK


@dataclasses.dataclass(frozen=True)
class Inference:
    """A policy's answer.

    Attributes:
      chunk: the next actions.
      done: the policy considers the instruction carried out.
      infer_ms: time spent in the policy [ms].
      privileged: made with simulator state that a real robot does not have.
      status: what the policy is doing, for people.
    """

    chunk: ActionChunk
    _: dataclasses.KW_ONLY
    done: bool = False
    infer_ms: float = 0.0
    privileged: bool = False
    status: str = ''
