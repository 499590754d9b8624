"""Commands to a robot and what became of them."""

from __future__ import annotations

import dataclasses
import enum
import math

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import BadAction, ErrorCode, InvalidRequest
from rpent_ros.geometry import Pose


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
class MoveGoal:
    """A straight-line motion of the tool centre point in the base frame.

    Attributes:
      target: pose to reach.
      keep_position: ignore the target's position and stay.
      keep_orientation: ignore the target's orientation and keep the present one.
      gripper: gripper command during the motion.
      speed: fraction of full speed, (0, 1]; None: the driver's default.
    """

    target: Pose
    _: dataclasses.KW_ONLY
    keep_position: bool = False
    keep_orientation: bool = False
    gripper: Gripper = Gripper.KEEP
    speed: float | None = None

    def __post_init__(self) -> None:
        if self.speed is not None and not 0.0 < self.speed <= 1.0:
            raise InvalidRequest(f'move_to speed: expected above 0 up to 1, got {self.speed}')


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
      settled: target reached within tolerance and the tool at rest (motions only).
      position_error, orientation_error: what is left [m], [rad]; NaN for chunks.
    """

    code: ErrorCode
    message: str
    _: dataclasses.KW_ONLY
    steps: int
    observation: Observation | None
    clamps: tuple[Clamp, ...] = ()
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
