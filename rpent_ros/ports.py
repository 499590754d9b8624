"""What the agent's tools need from the outside: protocols that the ROS clients fulfil."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.motion import ActionChunk, Inference, MotionResult, StepResult, Waypoint
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.segmentation import Segmentation, SegmenterSpec, SegmentRequest
from rpent_ros.contracts.specs import DriverSpec, PolicySpec

# Called between control steps; True asks for the motion to end.
ShouldStop = Callable[[], bool]


class EnvClient(Protocol):
    """Agent-side view of a driver.  Every method has a deadline and raises RpentError."""

    def describe(self) -> DriverSpec:
        """What the driver offers."""

    def reset(
        self, *, suite: str = '', task: int = -1, seed: int = 0
    ) -> tuple[Observation, Mapping[str, Any]]:
        """Start an episode; returns the state and the facts worth storing with results."""

    def step(self, action: NDArray[np.float64], *, images: bool = False) -> StepResult:
        """Execute one control step."""

    def observe(
        self,
        cameras: Sequence[str] = (),
        *,
        width: int = 0,
        height: int = 0,
        depth: bool = False,
    ) -> Observation:
        """Read the robot without moving it; size 0 means the camera's default."""

    def execute_chunk(
        self, chunk: ActionChunk, *, first: int = 0, should_stop: ShouldStop | None = None
    ) -> MotionResult:
        """Execute the first rows of a chunk (0: all); holds when `should_stop` turns true."""

    def move_to(
        self,
        waypoints: Waypoint | Sequence[Waypoint],
        *,
        should_stop: ShouldStop | None = None,
    ) -> MotionResult:
        """Move the tool centre point through waypoints; holds when `should_stop` turns true."""

    def stop(self) -> None:
        """Stop at once and stay stopped until `resume`."""

    def resume(self) -> None:
        """Allow motion again after `stop`."""


class SegmenterClient(Protocol):
    """Agent-side view of a segmenter.  Every method has a deadline and raises RpentError."""

    def describe(self) -> SegmenterSpec:
        """What the segmenter can do."""

    def segment(self, request: SegmentRequest) -> Segmentation:
        """Which pixels show what is looked for."""


class VlaClient(Protocol):
    """Agent-side view of a policy.  Every method has a deadline and raises RpentError."""

    def describe(self) -> PolicySpec:
        """Which policy is served."""

    def infer(self, observation: Observation, instruction: str, *, session: str = '') -> Inference:
        """The policy's next actions."""

    def reset(self, session: str = '') -> None:
        """Forget what a session remembers."""
