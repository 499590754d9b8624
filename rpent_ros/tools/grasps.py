"""Grasps from above, proposed from the points that cameras see: no model, no privileged data."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.geometry import nearest_half_turn, wrap_angle
from rpent_ros.primitives.hand import Hand
from rpent_ros.tools.shape import footprint

Vector = NDArray[np.float64]

# The part below a thing's top that fingers touch, and its uppermost part [m].
_GRIP, _CREST = 0.03, 0.01
# Sides whose uppermost part is narrower than this share of them are slopes that cannot be held.
_UPRIGHT = 0.5
# Points this close to a thing's rectangle are its own, and those up to there beside it show what
# it stands on, unless they are as high as its top [m].
_OWN_EDGE, _BESIDE, _AS_HIGH = 0.005, 0.04, 0.008
# Fewer points beside it than this say nothing.
_MIN_BESIDE = 20
# Free height below the finger tips [m].
_TIP_CLEARANCE = 0.002
# Sides that differ by less than this factor are equal: the smaller turn decides.
_SQUARE = 1.15
# A long thing may be held this share of its length away from its middle.
_OFF_MIDDLE, _SHIFT_STEP = 0.3, 0.005
_ELONGATED = 1.5
# What is further away than this is in nobody's way [m], and so are so few points.
_FAR, _STRAYS = 0.3, 4
# A rim is what lies so little below the top; its wall is at most so thick, and it is held at least
# so deep [m].
_RIM, _MAX_WALL, _MIN_RIM_DEPTH = 0.012, 0.02, 0.008
# Share of the points near the top, from the middle outwards, that belong to the wall.
_HOLLOW = 0.5
_RIM_DIRECTIONS = 24
# Places on a rim that are closer together than this are no choice [m].
_NEARLY_SAME = 0.03
_MAX_GRASPS = 4

# How good a grasp is, least first: slips, hits something, the rest; and what is told about it.
_Rated = tuple[tuple[bool, bool, float], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Scene:
    """What a hand must get along with.

    Attributes:
      points: (N, 3) all points but the gripper's, the thing's own among them [m].
      surface: height of what most things stand on [m].
      tool_yaw: present yaw of the tool [rad].
    """

    points: Vector
    surface: float
    tool_yaw: float


def propose(own: Vector, scene: Scene, hand: Hand, widest: float) -> list[dict[str, Any]]:
    """Grasps of one thing, best first: around it, or if it is too wide, of its rim.

    Args:
      own: (N, 3) points of the thing [m].
      scene: what is around it.
      hand: the gripper.
      widest: what fits between the fingers [m].

    Returns:
      For each:
        hold: 'around', the fingers on two sides, or 'rim', one finger inside a hollow thing.
        xyz, yaw: of the tool [m] and [rad].
        width: what is between the fingers [m].
        clear: distance to the next thing that the hand could hit, along the direction in which it
          closes [m]; None: none.
        upright: how wide the uppermost part is as a share of width; 1 for a rim.
    """
    space = _Space.around(own, scene, hand)
    found = _around(own, space, widest) or _of_rim(own, space)
    found.sort(key=lambda pair: pair[0])
    return _different([grasp for _, grasp in found])


@dataclasses.dataclass(frozen=True)
class _Space:
    """The room that a hand has around a thing.

    Attributes:
      support: height of what the thing stands on [m].
      foreign: (N, 3) points of others that rise above it [m].
      tool_yaw: present yaw of the tool [rad].
      hand: the gripper.
    """

    support: float
    foreign: Vector
    tool_yaw: float
    hand: Hand

    @classmethod
    def around(cls, own: Vector, scene: Scene, hand: Hand) -> _Space:
        """That of a thing in a scene."""
        support, foreign = _surroundings(own, scene)
        return cls(support, foreign, scene.tool_yaw, hand)

    @property
    def lowest(self) -> float:
        """Lowest height of the tool centre point beside the thing [m]."""
        return self.support + self.hand.tip_below + _TIP_CLEARANCE

    def yaw(self, direction: float) -> float:
        """Yaw of the tool, nearest to the present one, that closes along a direction [rad]."""
        turn = 0.0 if self.hand.closing_axis == 'x' else math.pi / 2
        return nearest_half_turn(direction - turn, self.tool_yaw)

    def free(self, at: Vector, direction: float, reach: float = 0.0) -> tuple[float, float | None]:
        """How free the hand is at a point (3,), or within `reach` beside it.

        Returns:
          Shift across the closing direction, the smallest at which the hand is free or else the
          one where it is freest, and the distance of the next obstacle [m].
        """
        points = self.foreign[self.foreign[:, 2] > at[2] - self.hand.tip_below]
        offsets = points[:, :2] - at[:2]
        closing, across = _axes(direction)
        # Some are so high that the hand hits them, others are only in the way of the fingers.
        high = points[:, 2] > at[2] + self.hand.palm_above
        return _best_shift(offsets @ closing, offsets @ across, high, reach, self.hand)


def _around(own: Vector, space: _Space, widest: float) -> list[_Rated]:
    """One grasp along each side that fits between the fingers."""
    top = float(own[:, 2].max())
    part = own[own[:, 2] > top - _GRIP]
    z = max(top - space.hand.depth, space.lowest)
    seen = footprint(part[:, :2], space.yaw(space.tool_yaw))
    crest = part[part[:, 2] > top - _CREST, :2]
    square = seen.long < _SQUARE * seen.short
    found: list[_Rated] = []
    for width, other, direction in (
        (seen.short, seen.long, seen.long_yaw + math.pi / 2),
        (seen.long, seen.short, seen.long_yaw),
    ):
        if width > widest:
            continue
        closing, across = _axes(direction)
        reach = _OFF_MIDDLE * other if other > _ELONGATED * width else 0.0
        shift, clear = space.free(np.array([*seen.center, z]), direction, reach)
        upright = float(np.ptp(crest @ closing)) / width if width > 0 else 1.0
        yaw = space.yaw(direction)
        order = (
            upright < _UPRIGHT,
            clear is not None and clear < space.hand.half_length,
            abs(yaw - space.tool_yaw) if square else width,
        )
        found.append((order, {
            'hold': 'around',
            'xyz': [*(seen.center + shift * across).tolist(), z],
            'yaw': wrap_angle(yaw),
            'width': width,
            'clear': clear,
            'upright': upright,
        }))  # fmt: skip
    return found


def _of_rim(own: Vector, space: _Space) -> list[_Rated]:
    """Grasps of the wall of something hollow, all around it, wherever both fingers find room."""
    hand, top = space.hand, float(own[:, 2].max())
    rim = own[own[:, 2] > top - _RIM]
    middle = footprint(rim[:, :2]).center
    found: list[_Rated] = []
    for direction in np.arange(_RIM_DIRECTIONS) * (2 * math.pi / _RIM_DIRECTIONS):
        closing, across = _axes(direction)
        beside = np.abs((rim[:, :2] - middle) @ across) < hand.finger_half_width
        along = ((rim[:, :2] - middle) @ closing)[beside]
        along = along[along > 0]
        if len(along) <= _STRAYS:
            continue
        wall = along[along > along.max() - _MAX_WALL]
        if along.max() - np.sort(along)[0] > _MAX_WALL and len(wall) < _HOLLOW * len(along):
            # The top is filled, not hollow.
            continue
        at = middle + (wall.min() + wall.max()) / 2 * closing
        below = _highest_below_fingers(np.concatenate([own, space.foreign]), at, direction, hand)
        z = max(top - hand.depth, space.lowest, below + hand.tip_below + _TIP_CLEARANCE)
        if z > top - _MIN_RIM_DEPTH:
            continue
        _, clear = space.free(np.array([*at, z]), direction)
        yaw = space.yaw(direction)
        order = (
            False,
            clear is not None and clear < hand.half_length,
            abs(yaw - space.tool_yaw) + (z - top + hand.depth) / _MIN_RIM_DEPTH,
        )
        found.append((order, {
            'hold': 'rim',
            'xyz': [*at.tolist(), z],
            'yaw': wrap_angle(yaw),
            'width': float(np.ptp(wall)),
            'clear': clear,
            'upright': 1.0,
        }))  # fmt: skip
    return found


def _highest_below_fingers(points: Vector, at: Vector, direction: float, hand: Hand) -> float:
    """Height of the highest point below the open fingers at `at` (2,) [m]; -inf: none."""
    closing, across = _axes(direction)
    offsets = points[:, :2] - at
    along = np.abs(offsets @ closing)
    under = (along > hand.fingers_start) & (along < hand.fingers_end)
    under &= np.abs(offsets @ across) < hand.finger_half_width
    return float(points[under, 2].max()) if under.any() else -math.inf


def _axes(direction: float) -> tuple[Vector, Vector]:
    """Unit vectors (2,) along and across a direction."""
    closing = np.array([math.cos(direction), math.sin(direction)])
    return closing, np.array([-closing[1], closing[0]])


def _different(grasps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best of those at nearly the same place: where one is out of reach another may not be."""
    kept: list[dict[str, Any]] = []
    for grasp in grasps:
        places = [np.linalg.norm(np.subtract(grasp['xyz'], other['xyz'])) for other in kept]
        if grasp['hold'] == 'around' or all(place > _NEARLY_SAME for place in places):
            kept.append(grasp)
    return kept[:_MAX_GRASPS]


def _surroundings(own: Vector, scene: Scene) -> tuple[float, Vector]:
    """Height of what a thing stands on [m], and the points of others (N, 3) that rise above it."""
    around = footprint(own[:, :2])
    reach = _FAR + around.long
    points = scene.points[(np.abs(scene.points[:, :2] - around.center) < reach).all(axis=1)]
    offsets = points[:, :2] - around.center
    c, s = math.cos(around.long_yaw), math.sin(around.long_yaw)
    beyond = np.maximum(
        np.abs(offsets @ [c, s]) - around.long / 2, np.abs(offsets @ [-s, c]) - around.short / 2
    )
    foreign = beyond > _OWN_EDGE
    lower = points[:, 2] < own[:, 2].max() - _AS_HIGH
    beside = points[foreign & (beyond < _BESIDE) & lower, 2]
    support = scene.surface
    if len(beside) >= _MIN_BESIDE:
        # Less than half: neighbours stand beside it, too.
        support = max(support, float(np.quantile(beside, 0.3)))
    others = points[foreign]
    return support, others[others[:, 2] > support + _TIP_CLEARANCE]


def _best_shift(
    along: Vector, across: Vector, high: NDArray[np.bool_], reach: float, hand: Hand
) -> tuple[float, float | None]:
    """The smallest shift across the closing direction at which the hand is free, and how free.

    Args:
      along: (N,) where obstacles are, along the closing direction, from the thing's middle [m].
      across: (N,) and across it [m].
      high: (N,) whether they are in the way of the hand, not of the fingers only.
      reach: largest shift either way [m].
      hand: the gripper.
    """
    distance = np.abs(along)
    matters = (distance < _FAR) & (high | (distance < hand.fingers_end))
    count = int(reach / _SHIFT_STEP)
    best: tuple[float, float | None] = (0.0, -1.0)
    for shift in sorted((n * _SHIFT_STEP for n in range(-count, count + 1)), key=abs):
        hit = np.sort(distance[matters & (np.abs(across - shift) < hand.half_width)])
        if len(hit) <= _STRAYS:
            return shift, None
        clear = float(hit[_STRAYS])
        if clear >= hand.half_length:
            return shift, clear
        if best[1] is None or clear > best[1]:
            best = shift, clear
    return best
