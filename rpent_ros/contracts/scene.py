"""The simulator's own view of a scene.  PRIVILEGED: a real robot does not have it."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.errors import InvalidRequest
from rpent_ros.geometry import Pose


@dataclasses.dataclass(frozen=True)
class SceneBody:
    """A movable object or a part of a fixture.

    Attributes:
      name: unique name, e.g. milk_1.
      parent: object or fixture this is a part of; equal to `name` for a whole object.
      movable: a free object; otherwise fixed or articulated.
      pose: the body's origin in the base frame.
      hulls: convex collision shapes, each (N, 3) float32 vertices in the body's frame [m].
    """

    name: str
    _: dataclasses.KW_ONLY
    parent: str
    movable: bool
    pose: Pose
    hulls: tuple[NDArray[np.float32], ...] = ()

    def __post_init__(self) -> None:
        hulls = tuple(
            checks.array(f'scene body {self.name} hull', h, shape=(None, 3), dtype=np.float32)
            for h in self.hulls
        )
        object.__setattr__(self, 'hulls', hulls)

    def at(self, pose: Pose) -> SceneBody:
        """The same body elsewhere; its shapes are not checked again, which takes the most time."""
        moved = copy.copy(self)
        object.__setattr__(moved, 'pose', pose)
        return moved


@dataclasses.dataclass(frozen=True)
class SceneRegion:
    """A named target volume: a box of half lengths `half_size` (3,) [m] about `pose`.

    `parent` is the object or fixture it belongs to; '' for the world.
    """

    name: str
    _: dataclasses.KW_ONLY
    parent: str
    pose: Pose
    half_size: NDArray[np.float64]

    def __post_init__(self) -> None:
        size = checks.array(f'scene region {self.name} half_size', self.half_size, shape=(3,))
        object.__setattr__(self, 'half_size', size)


@dataclasses.dataclass(frozen=True)
class SceneGoal:
    """One clause of the task's success predicate, subject first."""

    predicate: str
    _: dataclasses.KW_ONLY
    arguments: tuple[str, ...]
    satisfied: bool


@dataclasses.dataclass(frozen=True)
class Scene:
    """Everything the simulator knows that a scripted policy may need.

    Attributes:
      contacts: pairs of names that touch; the robot appears as finger_left, finger_right, robot.
    """

    _: dataclasses.KW_ONLY
    stamp: int
    frame_id: str
    episode: int
    step: int
    bodies: tuple[SceneBody, ...]
    regions: tuple[SceneRegion, ...]
    goals: tuple[SceneGoal, ...]
    contacts: frozenset[tuple[str, str]] = frozenset()

    def body(self, name: str) -> SceneBody:
        """The body of that name.

        Raises:
          InvalidRequest: there is none.
        """
        for body in self.bodies:
            if body.name == name:
                return body
        known = ', '.join(b.name for b in self.bodies if b.movable)
        raise InvalidRequest(f'unknown body {name!r}; movable bodies: {known}')

    def touching(self, name: str) -> frozenset[str]:
        """Names of everything in contact with the body `name`."""
        return frozenset(
            [b for a, b in self.contacts if a == name] + [a for a, b in self.contacts if b == name]
        )
