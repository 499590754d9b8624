"""How the point robot and the cubes move: first-order lag, an attaching gripper, falling cubes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import InvalidRequest
from rpent_ros.geometry import (
    Pose,
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_about_z,
    rotation_from_vector,
    yaw_of_tool,
)

Vector = NDArray[np.float64]

CONTROL_RATE = 20.0
# What 1.0 of an action commands per control step: goal offset [m] and [rad].
TRANSLATION = 0.05
ROTATION = 0.5

HOME = np.array([0.40, 0.0, 0.30])
# The tool points down: its z axis is minus the base's, its x axis the base's.
HOME_ROTATION = np.diag([1.0, -1.0, -1.0])

CUBE_SIZE = 0.04
CUBE_COLOURS = ('red', 'blue', 'green')
CUBE_NAMES = tuple(f'cube_{n + 1}' for n in range(len(CUBE_COLOURS)))

BIN_CENTRE = np.array([0.50, 0.22])
BIN_HALF = 0.07
BIN_WALL = 0.005
BIN_HEIGHT = 0.05

GRIPPER_OPEN_WIDTH = 0.08

# Share of a commanded velocity that the tool takes on in one step; the rest comes later.
_LAG = 0.5
# Share of a commanded goal offset that one step covers at most.
_REACH = 0.3
# The gripper crosses its stroke in 8 steps.
_GRIPPER_STEP = GRIPPER_OPEN_WIDTH / 8
_FALL_STEP = 0.03
_TABLE_CLEARANCE = 0.005
# A cube is caught if its centre lies this close to the tool centre point, in the tool's frame [m]:
# along the fingers' width, across (the fingers close along y), and along the fingers.
_CATCH = np.array([0.02, 0.03, 0.02])
_MIN_SPACING = 0.09


@dataclasses.dataclass
class World:
    """Everything that changes; poses and velocities in the base frame.

    Attributes:
      time: seconds since the reset.
      position, rotation: tool centre point, (3,) and (3, 3).
      velocity, spin: its linear [m/s] and angular [rad/s] velocity, (3,) each.
      width: distance between the fingers [m].
      closing: last gripper command: True closes, False opens.
      held: index of the cube between the fingers; -1: none.
      cubes: (N, 3) centres [m].
      yaws: (N,) turn about the vertical [rad].
      width_speed: change of the width in the last step [m/s]; not part of `to_vector`.
    """

    time: float
    position: Vector
    rotation: Vector
    velocity: Vector
    spin: Vector
    width: float
    closing: bool
    held: int
    cubes: Vector
    yaws: Vector
    width_speed: float = 0.0

    @classmethod
    def initial(cls, seed: int) -> World:
        """The robot at home and the cubes scattered; the same seed gives the same world."""
        rng = np.random.default_rng(seed)
        cubes: list[Vector] = []
        while len(cubes) < len(CUBE_NAMES):
            spot = np.array([rng.uniform(0.32, 0.60), rng.uniform(-0.25, 0.05), CUBE_SIZE / 2])
            if all(np.linalg.norm(spot - other) > _MIN_SPACING for other in cubes):
                cubes.append(spot)
        return cls(
            time=0.0,
            position=HOME.copy(),
            rotation=HOME_ROTATION.copy(),
            velocity=np.zeros(3),
            spin=np.zeros(3),
            width=GRIPPER_OPEN_WIDTH,
            closing=False,
            held=-1,
            cubes=np.array(cubes),
            yaws=rng.uniform(-0.6, 0.6, len(cubes)),
        )

    def step(self, action: Vector) -> None:
        """Advance by one control step; `action` (7,) in [-1, 1]: xyz, axis-angle, gripper."""
        dt = 1 / CONTROL_RATE
        self.time += dt
        before = self.position.copy()
        self.velocity += _LAG * (action[:3] * TRANSLATION * _REACH / dt - self.velocity)
        self.spin += _LAG * (action[3:6] * ROTATION * _REACH / dt - self.spin)
        self.position = self.position + self.velocity * dt
        self.position[2] = max(self.position[2], _TABLE_CLEARANCE)
        yaw_before = yaw_of_tool(self.rotation)
        self.rotation = rotation_from_vector(self.spin * dt) @ self.rotation
        width_before = self.width
        self._move_gripper(action[6])
        self.width_speed = (self.width - width_before) / dt
        if self.held >= 0:
            self.cubes[self.held] += self.position - before
            self.cubes[self.held, 2] = max(self.cubes[self.held, 2], CUBE_SIZE / 2)
            self.yaws[self.held] += yaw_of_tool(self.rotation) - yaw_before
        for cube in range(len(self.cubes)):
            if cube != self.held:
                self.cubes[cube, 2] = max(self._floor(cube), self.cubes[cube, 2] - _FALL_STEP)

    def halt(self) -> None:
        """Take all speed off the tool."""
        self.velocity[:] = 0.0
        self.spin[:] = 0.0

    def _move_gripper(self, command: float) -> None:
        if command:
            self.closing = command > 0
        if not self.closing:
            self.held = -1
            self.width = min(GRIPPER_OPEN_WIDTH, self.width + _GRIPPER_STEP)
            return
        narrowest = CUBE_SIZE if self.held >= 0 else 0.0
        caught = self._between_fingers() if self.width >= CUBE_SIZE else None
        self.width = max(narrowest, self.width - _GRIPPER_STEP)
        if caught is not None and self.width <= CUBE_SIZE:
            self.held, self.width = caught, CUBE_SIZE

    def _between_fingers(self) -> int | None:
        offsets = np.abs((self.cubes - self.position) @ self.rotation)
        inside = np.flatnonzero((offsets < _CATCH).all(axis=1))
        return int(inside[0]) if len(inside) else None

    def _floor(self, cube: int) -> float:
        """Height of the centre at which a loose cube comes to rest."""
        centre = self.cubes[cube]
        support = BIN_WALL if (np.abs(centre[:2] - BIN_CENTRE) < BIN_HALF).all() else 0.0
        for other, place in enumerate(self.cubes):
            below = place[2] + CUBE_SIZE / 2 <= centre[2] + 1e-9
            overlaps = (np.abs(place[:2] - centre[:2]) < CUBE_SIZE).all()
            if other not in (cube, self.held) and below and overlaps:
                support = max(support, place[2] + CUBE_SIZE / 2)
        return support + CUBE_SIZE / 2

    def cube_pose(self, cube: int) -> Pose:
        """Centre and orientation of a cube."""
        rotation = rotation_about_z(float(self.yaws[cube]))
        return Pose(self.cubes[cube].copy(), quaternion_from_matrix(rotation))

    def is_in_bin(self, cube: int) -> bool:
        """True if the cube lies in the bin and the gripper has let go of it."""
        centre = self.cubes[cube]
        inside = (np.abs(centre[:2] - BIN_CENTRE) < BIN_HALF).all() and centre[2] < BIN_HEIGHT
        return bool(inside) and cube != self.held

    def to_vector(self) -> Vector:
        """The whole world as one flat vector, time first."""
        return np.concatenate([
            [self.time], self.position, quaternion_from_matrix(self.rotation), self.velocity,
            self.spin, [self.width, float(self.closing), float(self.held)],
            self.cubes.ravel(), self.yaws,
        ])  # fmt: skip

    @classmethod
    def from_vector(cls, vector: Vector) -> World:
        """The world that `to_vector` made a vector of."""
        count = len(CUBE_NAMES)
        sizes = (1, 3, 4, 3, 3, 1, 1, 1, 3 * count, count)
        if np.shape(vector) != (sum(sizes),):
            raise InvalidRequest(
                f'simulator state: expected shape ({sum(sizes)},), got {np.shape(vector)}'
            )
        cuts = list(itertools.accumulate(sizes))[:-1]
        time, position, quaternion, velocity, spin, width, closing, held, cubes, yaws = (
            part.copy() for part in np.split(np.asarray(vector, float), cuts)
        )
        return cls(
            time=float(time[0]),
            position=position,
            rotation=matrix_from_quaternion(quaternion),
            velocity=velocity,
            spin=spin,
            width=float(width[0]),
            closing=bool(closing[0]),
            held=int(held[0]),
            cubes=cubes.reshape(count, 3),
            yaws=yaws,
        )
