"""What a driver tells of itself while it works."""

from __future__ import annotations

import dataclasses
import enum
import math


class Status(enum.IntEnum):
    """Whether the robot moves or may move; the numbers of DriverState.status."""

    UNINITIALISED = 0
    IDLE = 1
    MOVING = 2
    STOPPED = 3
    FAILED = 4


@dataclasses.dataclass(frozen=True)
class DriverState:
    """Where the driver and its episode stand; `reason` says why it is stopped or failed."""

    status: Status
    reason: str = ''
    episode: int = 0
    step: int = 0
    terminated: bool = False
    truncated: bool = False
    success: bool = False


@dataclasses.dataclass(frozen=True)
class MotionProgress:
    """Sent after each control step of a motion.

    Attributes:
      steps: control steps taken.
      position_error, orientation_error: what is left to the next target [m], [rad]; NaN: chunks.
      reached: waypoints reached.
    """

    steps: int
    position_error: float = math.nan
    orientation_error: float = math.nan
    reached: int = 0
