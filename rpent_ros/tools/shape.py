"""Size and direction of what is seen, as a planner needs it for a grasp."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from rpent_ros.geometry import nearest_half_turn, wrap_angle

Vector = NDArray[np.float64]

# Rectangles whose areas differ by less than this factor are equally good.
_SAME_AREA = 1.05


@dataclasses.dataclass(frozen=True)
class Footprint:
    """The smallest rectangle around points seen from above.

    Attributes:
      center: (2,) x and y of its middle [m].
      long, short: lengths of its sides [m].
      long_yaw: direction of the long side in the base frame's xy plane [rad], in (-pi/2, pi/2].
    """

    center: Vector
    long: float
    short: float
    long_yaw: float


def footprint(xy: Vector, usual_yaw: float = 0.0) -> Footprint:
    """The rectangle of least area around points (N, 2) [m]; N >= 1.

    Args:
      xy: the points.
      usual_yaw: direction of one side that is as good as the best if its rectangle is hardly
        larger, so that something round is not given a direction that means nothing [rad].
    """
    try:
        corners = xy[ConvexHull(xy).vertices]
    except (QhullError, ValueError):
        # Fewer than three points, or all on one line.
        corners = xy
    edges = np.roll(corners, -1, axis=0) - corners
    # One side of the smallest rectangle lies on an edge of the hull (Freeman and Shapira, 1975).
    angles = np.append(np.arctan2(edges[:, 1], edges[:, 0]), usual_yaw) % (math.pi / 2)
    cosines, sines = np.cos(angles), np.sin(angles)
    along = np.outer(cosines, corners[:, 0]) + np.outer(sines, corners[:, 1])
    across = np.outer(cosines, corners[:, 1]) - np.outer(sines, corners[:, 0])
    lengths = np.column_stack([np.ptp(along, axis=1), np.ptp(across, axis=1)])
    areas = lengths.prod(axis=1)
    best = -1 if areas[-1] <= _SAME_AREA * areas.min() else int(areas.argmin())
    middle = np.array([
        (along[best].min() + along[best].max()) / 2,
        (across[best].min() + across[best].max()) / 2,
    ])
    c, s = cosines[best], sines[best]
    turned = lengths[best, 1] > lengths[best, 0]
    yaw = float(angles[best]) + (math.pi / 2 if turned else 0.0)
    return Footprint(
        center=np.array([c * middle[0] - s * middle[1], s * middle[0] + c * middle[1]]),
        long=float(lengths[best].max()),
        short=float(lengths[best].min()),
        long_yaw=yaw - math.pi if yaw > math.pi / 2 + 1e-12 else yaw,
    )


def describe(xyz: Vector, tool_yaw: float) -> dict[str, Any]:
    """Where points (N, 3) [m] are and how far they extend, in the keys that all tools share.

    Args:
      xyz: the points in the base frame; at least one.
      tool_yaw: present yaw of the tool [rad].  A side has two directions; the one that the tool
        reaches with the smaller turn is given.
    """
    seen = footprint(xyz[:, :2], tool_yaw)
    bottom, top = float(xyz[:, 2].min()), float(xyz[:, 2].max())
    return {
        'center': [*seen.center.tolist(), (bottom + top) / 2],
        'size': [seen.long, seen.short, top - bottom],
        'top_z': top,
        'bottom_z': bottom,
        'long_yaw': wrap_angle(nearest_half_turn(seen.long_yaw, tool_yaw)),
        'short_yaw': wrap_angle(nearest_half_turn(seen.long_yaw + math.pi / 2, tool_yaw)),
    }
