"""The protocol that every policy fulfils."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rpent_ros.contracts.motion import Inference
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import DriverSpec, PolicySpec

# Returns the scene of that episode and step, waiting for it if it is on its way; raises
# NoPrivilegedScene.
SceneSource = Callable[[int, int], Scene]


class Policy(Protocol):
    """A learned or scripted policy: observation and instruction in, chunk of actions out."""

    @property
    def spec(self) -> PolicySpec:
        """What it needs and returns; known before `load` and settled after `connect`."""

    def connect(self, driver: DriverSpec, scenes: SceneSource) -> None:
        """Learn which robot will be driven; called before the first `infer`, and if it changes.

        Args:
          driver: what the driver offers.  `spec` may follow it, or ignore it and be compared.
          scenes: the simulator's view, for privileged policies.
        """

    def load(self) -> None:
        """Load weights.  May take minutes.

        Raises:
          ModelNotLoaded: a dependency or a file is missing; the message says how to get it.
        """

    def infer(self, observation: Observation, instruction: str, session: str) -> Inference:
        """The next actions.

        Raises:
          BadObservation: the observation lacks what `spec` asks for.
          BadInstruction: the instruction makes no sense to this policy.
          NoPlan: no way to carry it out was found.
        """

    def reset(self, session: str) -> None:
        """Forget what a session remembers; unknown sessions are fine."""
