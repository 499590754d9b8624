"""A driver in the same process: the tools' port without ROS, for tests, benchmarks and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.motion import ActionChunk, MotionResult, StepResult, Waypoint
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import DriverSpec
from rpent_ros.driver import DriverCore
from rpent_ros.ports import ShouldStop


def _never() -> bool:
    return False


class LocalEnv:
    """Implements `rpent_ros.ports.EnvClient` on a DriverCore; use it from one thread."""

    def __init__(self, core: DriverCore) -> None:
        self.core = core

    def describe(self) -> DriverSpec:
        """What the driver offers."""
        return self.core.spec

    def reset(
        self, *, suite: str = '', task: int = -1, seed: int = 0
    ) -> tuple[Observation, Mapping[str, Any]]:
        """Start an episode."""
        return self.core.reset(suite=suite, task=task, seed=seed)

    def step(self, action: NDArray[np.float64], *, images: bool = False) -> StepResult:
        """Execute one control step."""
        return self.core.step(action, observe=True, images=images)

    def observe(
        self,
        cameras: Sequence[str] = (),
        *,
        width: int = 0,
        height: int = 0,
        depth: bool = False,
    ) -> Observation:
        """Read the robot without moving it."""
        return self.core.observe(cameras, width=width, height=height, depth=depth)

    def execute_chunk(
        self, chunk: ActionChunk, *, first: int = 0, should_stop: ShouldStop | None = None
    ) -> MotionResult:
        """Execute the first rows of a chunk."""
        return self.core.execute_chunk(chunk, first=first, should_stop=should_stop or _never)

    def move_to(
        self,
        waypoints: Waypoint | Sequence[Waypoint],
        *,
        should_stop: ShouldStop | None = None,
    ) -> MotionResult:
        """Move the tool centre point through waypoints."""
        return self.core.move_to(waypoints, should_stop=should_stop or _never)

    def stop(self) -> None:
        """Stop and stay stopped until `resume`."""
        self.core.stop('stopped by request')
        self.core.hold()

    def resume(self) -> None:
        """Allow motion again."""
        self.core.resume()
