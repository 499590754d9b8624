"""Pieces of a script that moves the arm: generators that yield rows and take in what came of them.

All are closed loops: they look at the world after every chunk, and a driver may execute a part of
a chunk, or nothing if it refuses.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.specs import ActionSpec
from rpent_ros.geometry import rotation_error, yaw_of_tool
from rpent_ros.policies.oracle.motion import Predictor
from rpent_ros.policies.oracle.world import World

Vector = NDArray[np.float64]

# Most rows planned ahead of feedback.
MAX_ROWS = 5
# A tool at full speed covers about this much in one step [m].
STRIDE = 0.013
# Half width of the corridor that the hand needs [m].
CORRIDOR = 0.11
# A motion is stuck when it moves less than this in a step, for this many steps [m].
STUCK_DISTANCE = 0.0004
STUCK_STEPS = 6
STUCK_AFTER = 8


@dataclasses.dataclass(frozen=True)
class Rows:
    """The next rows (T, D) and what they are for."""

    data: NDArray[np.float64]
    status: str


Steps = Generator[Rows, World, bool]


class Moves:
    """One arm in one scene.

    Args:
      spec: meaning of a row.
      world: how things are at the start.
    """

    def __init__(self, spec: ActionSpec, world: World) -> None:
        self._spec = spec
        self._world = world
        self._orientation = pointing_down(yaw_of_tool(world.rotation))
        self._command = spec.gripper_close if world.held() else spec.gripper_open
        # Where to stay while only the fingers move.
        self._anchor = world.position

    def hold(self) -> Rows:
        """One row that changes nothing."""
        row = np.zeros(self._spec.dim)
        if self._spec.gripper_index >= 0:
            row[self._spec.gripper_index] = self._command
        return Rows(row[None], 'done')

    def _clearance(self, end: Vector, skip: str = '') -> float:
        return self._world.clearance(self._world.position, end, radius=CORRIDOR, skip=skip)

    def _rise(self, height: float) -> Steps:
        if self._world.position[2] < height - 0.01:
            up = np.array([*self._world.position[:2], height])
            yield from self._move(up, 'rising', tolerance=0.012, angle=0.3, steps=60)
        return True

    def _move(
        self,
        target: Vector,
        status: str,
        *,
        tolerance: float,
        angle: float = 0.08,
        steps: int = 120,
        speed: float = 1.0,
    ) -> Steps:
        """Straight to a point; True on arrival, False if stuck or out of steps."""
        target = np.asarray(target, float)
        taken = still = 0
        while taken < steps:
            left = float(np.linalg.norm(target - self._world.position))
            turn = float(np.linalg.norm(rotation_error(self._orientation, self._world.rotation)))
            if left < tolerance and turn < angle:
                self._anchor = target
                return True
            count = int(np.clip((left - tolerance) / STRIDE, 1, MAX_ROWS))
            before = self._world.position
            executed = yield from self._act(target, count, speed, status)
            taken += executed
            moved = float(np.linalg.norm(self._world.position - before))
            stuck = moved < STUCK_DISTANCE * executed and taken > STUCK_AFTER
            still = still + executed if stuck else 0
            if still >= STUCK_STEPS:
                break
        self._anchor = self._world.position
        return False

    def _stay(self, count: int, status: str) -> Steps:
        """Stay while the fingers move: a tool that is merely let go of coasts for 13 mm."""
        while count > 0:
            count -= yield from self._act(self._anchor, count, 1.0, status)
        return True

    def _act(
        self, target: Vector, count: int, speed: float, status: str
    ) -> Generator[Rows, World, int]:
        """Yield some rows and take in the world; returns how many of them were executed."""
        before = self._world.observation.step
        self._world = yield self._rows(target, count, speed, status)
        return self._world.observation.step - before

    def _rows(self, target: Vector, count: int, speed: float, status: str) -> Rows:
        ahead = Predictor(
            self._spec,
            self._world.position,
            self._world.rotation,
            self._world.observation.ee_twist,
        )
        rows = [
            ahead.row(target, self._orientation, gripper=self._command, speed=speed)
            for _ in range(count)
        ]
        return Rows(np.array(rows), status)


def pointing_down(yaw: float) -> Vector:
    """Orientation (3, 3) of a tool that points straight down and opens along `yaw` [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, -1.0]])
