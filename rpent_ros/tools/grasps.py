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


def propose(
    own: Vector, scene: Scene, hand: Hand, widest: float
) -> list[dict[str, Any]]:
    """Grasps of one thing, best first: one along each side that fits between the fingers.

    Args:
      own: (N, 3) points of the thing [m].
      scene: what is around it.
      hand: the gripper.
      widest: what fits between the fingers [m].

    Returns:
      For each xyz [m] and yaw [rad] of the tool, width between the fingers [m], clear: distance
      to the next thing that the hand could hit, along the direction in which it closes [m], None
      for none, and upright: how wide the uppermost part is as a share of width.
    """
    top = float(own[:, 2].max())
    part = own[own[:, 2] > top - _GRIP]
    support, foreign = _surroundings(own, scene)
    z = max(top - hand.depth, support + hand.tip_below + _TIP_CLEARANCE)
    axis_turn = 0.0 if hand.closing_axis == 'x' else math.pi / 2
    around = footprint(part[:, :2], scene.tool_yaw + axis_turn)
    crest = part[part[:, 2] > top - _CREST, :2] - around.center
    foreign = foreign[foreign[:, 2] > z - hand.tip_below]
    # Some are so high that the hand hits them, the others only get into the way of the fingers.
    offsets, high = foreign[:, :2] - around.center, foreign[:, 2] > z + hand.palm_above
    square = around.long < _SQUARE * around.short
    found: list[tuple[tuple[bool, bool, float], dict[str, Any]]] = []
    for width, other, direction in (
        (around.short, around.long, around.long_yaw + math.pi / 2),
        (around.long, around.short, around.long_yaw),
    ):
        if width > widest:
            continue
        closing = np.array([math.cos(direction), math.sin(direction)])
        across = np.array([-closing[1], closing[0]])
        reach = _OFF_MIDDLE * other if other > _ELONGATED * width else 0.0
        shift, clear = _best_shift(offsets @ closing, offsets @ across, high, reach, hand)
        yaw = nearest_half_turn(direction - axis_turn, scene.tool_yaw)
        upright = float(np.ptp(crest @ closing)) / width if width > 0 else 1.0
        order = (
            upright < _UPRIGHT,
            clear is not None and clear < hand.half_length,
            abs(yaw - scene.tool_yaw) if square else width,
        )
        found.append((order, {
            'xyz': [*(around.center + shift * across).tolist(), z],
            'yaw': wrap_angle(yaw),
            'width': width,
            'clear': clear,
            'upright': upright,
        }))  # fmt: skip
    return [grasp for _, grasp in sorted(found, key=lambda pair: pair[0])]


def _surroundings(own: Vector, scene: Scene) -> tuple[float, Vector]:
    """Height of what a thing stands on [m], and the points of others (N, 3) that rise above it."""
    around = footprint(own[:, :2])
    offsets = scene.points[:, :2] - around.center
    c, s = math.cos(around.long_yaw), math.sin(around.long_yaw)
    beyond = np.maximum(
        np.abs(offsets @ [c, s]) - around.long / 2, np.abs(offsets @ [-s, c]) - around.short / 2
    )
    foreign = beyond > _OWN_EDGE
    lower = scene.points[:, 2] < own[:, 2].max() - _AS_HIGH
    beside = scene.points[foreign & (beyond < _BESIDE) & lower, 2]
    support = scene.surface
    if len(beside) >= _MIN_BESIDE:
        # Less than half: neighbours stand beside it, too.
        support = max(support, float(np.quantile(beside, 0.3)))
    others = scene.points[foreign]
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
