"""Where to grasp an object from above, found on a height map.

For every point on the object, a set of yaws and a set of depths below its top, a grasp is possible
if the fingers go down beside the material without hitting anything, the hand stays above
everything, and the material fits between the fingers.  No object is known by name: bowls come out
as rim grasps, bottles as neck grasps, boxes as grasps of their narrow side.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import NoPlan
from rpent_ros.geometry import nearest_half_turn
from rpent_ros.policies.oracle.gripper import Gripper
from rpent_ros.policies.oracle.heightmap import HeightMap
from rpent_ros.policies.oracle.world import World

Vector = NDArray[np.float64]

RESOLUTION = 0.005
YAWS = 12
# How deep below the object's top the pads close [m]; 25 mm is the favourite.
DEPTHS = (0.035, 0.030, 0.025, 0.020, 0.015, 0.012, 0.010, 0.008, 0.006)
BEST_DEPTH = 0.025
# Kept free below finger tips and palm [m].
TIP_CLEARANCE = 0.0015
PALM_CLEARANCE = 0.003
# Material counts as gripped from this far above the tool centre point [m].
PAD_MARGIN = 0.002
# Half width of the strip between the pads that is looked at [m].
PAD_HALF_WIDTH = 0.008
OPENING_HALF = 0.038
# Pads slip off edges that stand at more than 30 degrees to them, such as a corner's.
MAX_EDGE_SLOPE = math.tan(math.radians(30))
SAMPLE = 0.004
# Weights of what makes a grasp bad, per metre or radian; tuned on LIBERO's objects.
W_SLOPE, W_OFF_CENTRE, W_FROM_MIDDLE, W_DEPTH, W_YAW, W_WIDE = 6.0, 4.0, 1.5, 1.5, 0.03, 4.0


@dataclasses.dataclass(frozen=True)
class Grasp:
    """Tool centre point (3,) [m] and yaw [rad] with the fingers around an object.

    `cost` orders grasps, best first; `width` is the material between the fingers [m].
    """

    position: Vector
    _: dataclasses.KW_ONLY
    yaw: float
    cost: float
    width: float


def plan_grasps(world: World, name: str, gripper: Gripper, home_yaw: float) -> list[Grasp]:
    """All possible grasps of an object, best first.

    Args:
      world: where the object is.
      name: the object.
      gripper: the hand.
      home_yaw: the yaw that the arm is comfortable with [rad].

    Raises:
      NoPlan: nothing fits.
    """
    low, high = world.box(name)
    centre = (low + high) / 2
    half = max(high[0] - low[0], high[1] - low[1]) / 2 + gripper.hand_half_length + RESOLUTION
    bodies = world.scene.bodies
    view = HeightMap(bodies, centre[:2], half, RESOLUTION, world.floor())
    own = np.isin(view.owner, [i for i, body in enumerate(bodies) if body.parent == name])
    cells = np.argwhere(own)
    points = np.column_stack([view.x[cells[:, 0]], view.y[cells[:, 1]]])
    # The middle of a bowl or a ring need not lie on it.
    points = np.concatenate([points, [centre[:2]]])
    search = _Search(view, own, points, centre[:2], gripper, home_yaw)
    grasps = [grasp for k in range(YAWS) for grasp in search.at_yaw(math.pi * k / YAWS)]
    if not grasps:
        raise NoPlan(
            f'no grasp of {name} from above: something is in the way, or it is wider than '
            f'{2000 * gripper.usable_half_opening:.0f} mm everywhere'
        )
    return sorted(grasps, key=lambda grasp: grasp.cost)


class _Search:
    """Tries every point for one yaw at a time."""

    def __init__(
        self,
        view: HeightMap,
        own: NDArray[np.bool_],
        points: Vector,
        middle: Vector,
        gripper: Gripper,
        home_yaw: float,
    ) -> None:
        self._view = view
        self._own = own
        self._points = points
        self._middle = middle
        self._g = g = gripper
        self._home_yaw = home_yaw
        self._left = _patch(-g.finger_outer, -g.finger_inner, g.finger_half_width)
        self._right = _patch(g.finger_inner, g.finger_outer, g.finger_half_width)
        self._hand = _patch(-g.hand_half_length, g.hand_half_length, g.hand_half_width, 0.008)
        self._along = np.arange(-OPENING_HALF, OPENING_HALF + 0.001, SAMPLE)
        self._across = np.arange(-PAD_HALF_WIDTH, PAD_HALF_WIDTH + 0.001, SAMPLE)

    def at_yaw(self, yaw: float) -> list[Grasp]:
        """Possible grasps with the fingers opening along `yaw`."""
        fingers = np.maximum(self._highest(self._left, yaw), self._highest(self._right, yaw))
        hand = self._highest(self._hand, yaw)
        between, is_own = self._between(yaw)
        material = np.where(is_own, between, -np.inf)
        top = material.max(axis=(1, 2))
        found = []
        for depth in DEPTHS:
            z = top - depth
            fits = np.isfinite(top)
            fits &= fingers < z - self._g.tip_below - TIP_CLEARANCE
            fits &= hand < z + self._g.palm_above - PALM_CLEARANCE
            chosen = np.flatnonzero(fits)
            if len(chosen):
                gripped = material[chosen] > z[chosen, None, None] + PAD_MARGIN
                found += self._rate(chosen, gripped, z, yaw, depth)
        return found

    def _rate(
        self,
        chosen: NDArray[np.int64],
        gripped: NDArray[np.bool_],
        z: Vector,
        yaw: float,
        depth: float,
    ) -> list[Grasp]:
        strips: NDArray[np.bool_] = np.any(gripped, axis=1)
        first = self._along[gripped.argmax(axis=1)]
        last = self._along[len(self._along) - 1 - gripped[:, ::-1].argmax(axis=1)]
        count = strips.sum(axis=1)
        usable = (count >= 3) & strips[:, strips.shape[1] // 2]
        inside = np.where(strips, np.maximum(-first, last), 0.0).max(axis=1)
        usable &= inside <= self._g.usable_half_opening
        grasps = []
        for k in np.flatnonzero(usable):
            left, right = first[k][strips[k]], last[k][strips[k]]
            span = SAMPLE * (len(left) - 1)
            if max(np.ptp(left), np.ptp(right)) > MAX_EDGE_SLOPE * span:
                continue
            point = self._points[chosen[k]]
            width = float((right - left).max())
            cost = (
                W_SLOPE * (left.std() + right.std())
                + W_OFF_CENTRE * abs((left + right).mean() / 2)
                + W_FROM_MIDDLE * float(np.linalg.norm(point - self._middle))
                + W_DEPTH * abs(depth - BEST_DEPTH)
                + W_YAW * abs(nearest_half_turn(yaw, self._home_yaw) - self._home_yaw)
                + W_WIDE * max(0.0, width - self._g.comfortable_width)
            )
            grasps.append(
                Grasp(
                    np.array([*point, z[chosen[k]]]),
                    yaw=nearest_half_turn(yaw, self._home_yaw),
                    cost=float(cost),
                    width=width,
                )
            )
        return grasps

    def _between(self, yaw: float) -> tuple[Vector, NDArray[np.bool_]]:
        """Heights (K, along, across) between the fingers, and where they are the object's."""
        along, across = np.meshgrid(self._along, self._across, indexing='ij')
        x, y = self._world_xy(np.stack([along.ravel(), across.ravel()]), yaw)
        heights, owner = self._view.sample(x, y)
        shape = (len(self._points), *along.shape)
        own = np.isin(owner, np.unique(self._view.owner[self._own]))
        return heights.reshape(shape), own.reshape(shape)

    def _highest(self, patch: Vector, yaw: float) -> Vector:
        """Highest point (K,) under a patch of the gripper at each point."""
        heights, _ = self._view.sample(*self._world_xy(patch, yaw))
        return heights.max(axis=1)

    def _world_xy(self, patch: Vector, yaw: float) -> tuple[Vector, Vector]:
        c, s = math.cos(yaw), math.sin(yaw)
        x = self._points[:, 0, None] + c * patch[0] + s * patch[1]
        y = self._points[:, 1, None] + s * patch[0] - c * patch[1]
        return x, y


def _patch(start: float, end: float, half_width: float, spacing: float = 0.005) -> Vector:
    """Sample points (2, N) of a rectangle: along the opening direction and across it [m]."""
    along = np.linspace(start, end, max(2, round((end - start) / spacing) + 1))
    across = np.linspace(-half_width, half_width, max(2, round(2 * half_width / spacing) + 1))
    return np.array(np.meshgrid(along, across)).reshape(2, -1)
