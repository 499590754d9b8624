"""What stands in a band of heights: clusters of the points that the cameras see."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.geometry import Pose, yaw_of_tool
from rpent_ros.primitives.hand import Hand
from rpent_ros.states import View
from rpent_ros.tools import clouds, grasps, shape
from rpent_ros.tools.clouds import Cloud
from rpent_ros.tools.clusters import clusters, pixel_well_inside
from rpent_ros.tools.colours import colour_word

MAX_CLUSTERS = 20
# What is closer than this above the surface is taken for the surface [m].
SURFACE_MARGIN = 0.006
# Points beside and behind the tool centre point within these distances are the gripper's, or
# those of what it holds; finger tips reach a little beyond it [m].
_HAND_RADIUS, _HAND_LENGTH, _TIP_LENGTH = 0.08, 0.15, 0.012


@dataclasses.dataclass(frozen=True)
class Query:
    """What is looked for.

    Attributes:
      low, high: (3,) box of the base frame [m].
      gap: points closer than this belong to one object [m].
      min_points: smaller clusters are left out.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gap: float
    min_points: int


@dataclasses.dataclass(frozen=True)
class Robot:
    """Who looks.

    Attributes:
      tool: pose of the tool centre point in the base frame when the pictures were taken.
      hand: measures of the gripper.
      widest: what fits between its fingers [m].
    """

    tool: Pose
    hand: Hand
    widest: float


@dataclasses.dataclass(frozen=True)
class Found:
    """What stands there.

    Attributes:
      clusters: descriptions, most points first; at most MAX_CLUSTERS.
      count: clusters found, also those left out.
      heights: lowest and largest height of all points in the range of x and y [m]; None: none.
    """

    clusters: list[dict[str, Any]]
    count: int
    heights: tuple[float, float] | None


def find(
    cloud: Cloud, views: Sequence[View], robot: Robot, query: Query, surface: float
) -> Found:
    """Clusters of points in a box.

    Args:
      cloud: all points of `views`.
      views: where they are from.
      robot: who looks.
      query: what to look for.
      surface: height of what most things stand on [m].
    """
    column = clouds.inside(cloud, [*query.low[:2], -np.inf], [*query.high[:2], np.inf])
    groups = clusters(clouds.inside(column, query.low, query.high), query.gap, query.min_points)
    heights = column.xyz[:, 2]
    yaw = yaw_of_tool(robot.tool.rotation)
    scene = grasps.Scene(cloud.xyz[~_in_hand(cloud.xyz, robot.tool)], surface, yaw)
    described = []
    for group in groups[:MAX_CLUSTERS]:
        at_tool = int(_in_hand(group.xyz, robot.tool).sum()) >= query.min_points
        proposals = [] if at_tool else grasps.propose(group.xyz, scene, robot.hand, robot.widest)
        described.append({**_describe(group, views, yaw), 'at_tool': at_tool, 'grasps': proposals})
    return Found(
        described,
        len(groups),
        (float(heights.min()), float(heights.max())) if len(heights) else None,
    )


def _describe(group: Cloud, views: Sequence[View], tool_yaw: float) -> dict[str, Any]:
    # The camera that sees most of it shows it.
    counts = np.bincount(group.view)
    shown_by, seen_by = int(counts.argmax()), np.flatnonzero(counts)
    pixels = group.pixels[group.view == shown_by]
    first, last = pixels.min(axis=0), pixels.max(axis=0)
    rgb = group.rgb.mean(axis=0)
    return {
        **shape.describe(group.xyz, tool_yaw),
        'colour': colour_word(rgb),
        'rgb': np.rint(rgb).astype(int).tolist(),
        'n_points': len(group),
        'whole': any(
            _within_image(group.pixels[group.view == n], views[int(n)]) for n in seen_by
        ),
        'camera': views[shown_by].camera,
        'pixel': [*pixel_well_inside(pixels)],
        'rows': [int(first[0]), int(last[0])],
        'columns': [int(first[1]), int(last[1])],
    }


def _within_image(pixels: NDArray[np.intp], view: View) -> bool:
    """Whether the border of the image cuts nothing off."""
    return bool(
        (pixels > 0).all() and (pixels < np.array([view.height - 1, view.width - 1])).all()
    )


def _in_hand(xyz: NDArray[np.float64], tool: Pose) -> NDArray[np.bool_]:
    """Which points lie beside or behind the tool centre point, where the hand is."""
    own = (xyz - tool.position) @ tool.rotation
    beside = np.hypot(own[:, 0], own[:, 1]) < _HAND_RADIUS
    return beside & (own[:, 2] <= _TIP_LENGTH) & (own[:, 2] > -_HAND_LENGTH)
