"""What the robot senses and what the simulator knows, at one moment."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.scene import Scene, SceneBody

Vector = NDArray[np.float64]

ROBOT = frozenset({'finger_left', 'finger_right', 'robot'})


@dataclasses.dataclass(frozen=True)
class World:
    """Observation and scene of the same control step."""

    observation: Observation
    scene: Scene

    @property
    def position(self) -> Vector:
        """Tool centre point (3,) [m]."""
        return self.observation.ee_pose.position

    @property
    def rotation(self) -> Vector:
        """Orientation (3, 3) of the tool."""
        return self.observation.ee_pose.rotation

    def parts(self, name: str) -> tuple[SceneBody, ...]:
        """The bodies that make up an object or fixture."""
        return tuple(body for body in self.scene.bodies if body.parent == name)

    def points(self, name: str) -> Vector:
        """Hull vertices (N, 3) of an object or fixture in the base frame [m]."""
        return np.concatenate([
            body.pose.apply(hull) for body in self.parts(name) for hull in body.hulls
        ])

    def box(self, name: str) -> tuple[Vector, Vector]:
        """Lowest and highest corner (3,) of an object's bounding box [m]."""
        points = self.points(name)
        return points.min(axis=0), points.max(axis=0)

    def origin(self, name: str) -> Vector:
        """Position (3,) of an object's own frame [m]; predicates look at it."""
        return self.scene.body(name).pose.position

    def movable(self) -> tuple[str, ...]:
        """Names of all objects."""
        return tuple(body.name for body in self.scene.bodies if body.movable)

    def held(self) -> str:
        """Name of the object that both fingers touch; '' for none."""
        for name in self.movable():
            if {'finger_left', 'finger_right'} <= self.scene.touching(name):
                return name
        return ''

    def supports(self, name: str) -> frozenset[str]:
        """What an object touches, the robot left out."""
        return self.scene.touching(name) - ROBOT

    def floor(self) -> float:
        """Height of the surface that the scene stands on [m]: where the lowest object ends."""
        return min(float(self.box(name)[0][2]) for name in self.movable())

    def clearance(self, start: Vector, end: Vector, *, radius: float, skip: str = '') -> float:
        """Highest point [m] of anything near the straight way from start to end, seen from above.

        Args:
          start: (3,) [m].
          end: (3,) [m].
          radius: half width of the corridor [m]; the hand must fit.
          skip: object left out, e.g. the one in the hand.
        """
        a, b = np.asarray(start)[:2], np.asarray(end)[:2]
        way = b - a
        length = float(way @ way)
        highest = self.floor()
        for body in self.scene.bodies:
            if body.parent == skip:
                continue
            for hull in body.hulls:
                points = body.pose.apply(hull)
                centre = points[:, :2].mean(axis=0)
                reach = float(np.linalg.norm(points[:, :2] - centre, axis=1).max())
                along = np.clip((centre - a) @ way / length, 0.0, 1.0) if length > 1e-9 else 0.0
                if np.linalg.norm(a + along * way - centre) < reach + radius:
                    highest = max(highest, float(points[:, 2].max()))
        return highest
