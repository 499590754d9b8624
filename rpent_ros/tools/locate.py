"""Answers of back_project: the points that one pixel, several, or a region show."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import BadPixel, RpentError
from rpent_ros.states import View
from rpent_ros.tools import projection, shape
from rpent_ros.tools.clusters import connected, link_distance

# A neighbourhood that covers more than this along one axis straddles an edge [m].
EDGE_SPREAD = 0.02
# Points of a region closer together than this belong to one thing [m].
GAP = 0.01
# Share of a region's points above which the rest is not worth a word.
_MOSTLY = 0.9


@dataclasses.dataclass(frozen=True)
class Seen:
    """A depth image with its calibration and its name for messages."""

    depth: NDArray[np.float64]
    view: View
    title: str

    def locate(self, pixel: list[int]) -> projection.Located:
        """The point that a pixel shows.

        Raises:
          BadPixel: outside, or without depth.
        """
        return projection.locate_pixel(
            self.depth, self.view.intrinsics, self.view.pose, pixel[0], pixel[1], self.title
        )


def pixel_answer(seen: Seen, pixel: list[int]) -> dict[str, Any]:
    """What is told about one pixel."""
    found = seen.locate(pixel)
    return {
        'pixel': pixel,
        'depth': float(seen.depth[pixel[0], pixel[1]]),
        'xyz': found.xyz.tolist(),
        'spread': found.spread.tolist(),
        'n_valid': found.n_valid,
        **_edge_hint(found.spread),
    }


def pixels_answer(seen: Seen, pixels: list[list[int]]) -> dict[str, Any]:
    """What is told about several pixels; those that show nothing are marked.

    Raises:
      BadPixel: none of them shows a point.
    """
    points: list[dict[str, Any]] = []
    refusals: list[RpentError] = []
    for pixel in pixels:
        try:
            found = seen.locate(pixel)
        except BadPixel as error:
            refusals.append(error)
            points.append({'pixel': pixel, 'valid': False, 'error': str(error)})
        else:
            points.append({
                'pixel': pixel,
                'valid': True,
                'xyz': found.xyz.tolist(),
                **_edge_hint(found.spread),
            })
    xyz = np.array([point['xyz'] for point in points if point['valid']])
    if not len(xyz):
        raise BadPixel(f'none of {len(pixels)} pixels shows a point; the first: {refusals[0]}')
    return {
        'points': points,
        'xyz': np.median(xyz, axis=0).tolist(),
        'spread': projection.spread(xyz).tolist(),
        'n_valid': len(xyz),
    }


def region_answer(seen: Seen, region: dict[str, Any], tool_yaw: float) -> dict[str, Any]:
    """What is told about a rectangle of pixels.  `tool_yaw` as in `shape.describe`."""
    found = projection.locate_region(
        seen.depth,
        seen.view.intrinsics,
        seen.view.pose,
        tuple(region['rows']),
        tuple(region['columns']),
        seen.title,
        z_min=region.get('z_min', -math.inf),
        z_max=region.get('z_max', math.inf),
    )
    # A rectangle often catches a corner of something else.
    label_of = connected(found.points, link_distance(GAP, _footprint(seen.view, found.points)))
    own = label_of == np.bincount(label_of).argmax()
    hint = {}
    if own.mean() < _MOSTLY:
        hint['hint'] = (
            f'several things stand apart in this region; size and place are those of the largest, '
            f'{100 * own.mean():.0f} % of the points; narrow the region or the band'
        )
    return {
        'region': region,
        'xyz': found.xyz.tolist(),
        'spread': found.spread.tolist(),
        'n_valid': found.n_valid,
        **shape.describe(found.points[own], tool_yaw),
        **hint,
    }


def _footprint(view: View, xyz: NDArray[np.float64]) -> float:
    """Distance between the points of neighbouring pixels, see `link_distance` [m]."""
    depth = (xyz - view.pose.position) @ view.pose.rotation[:, 2]
    return float(np.median(depth) / view.intrinsics[0, 0])


def _edge_hint(spread: NDArray[np.float64]) -> dict[str, str]:
    if spread.max() <= EDGE_SPREAD:
        return {}
    return {
        'hint': 'the pixel lies on an edge: its neighbours are up to '
        f'{2 * spread.max():.3f} m apart; choose one further inside the object'
    }
