"""Segments the thing at a pixel from depth alone: no weights, no training.

Surfaces of one thing go over into each other smoothly or over a convex edge; where two things
touch, their surfaces meet in a concave crease (S. C. Stein et al., "Object partitioning using
local convexity", 2014).  So neighbouring pixels belong together unless depth jumps between them
or they lie on both sides of such a crease; what the pixel is connected to is the thing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.contracts.segmentation import Instance, SegmenterSpec, SegmentRequest
from rpent_ros.errors import InvalidRequest
from rpent_ros.tools import projection

Points = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Neighbours are on one surface if they are at most this many times further apart than their
# neighbours on the other side; and what is closer than the second number is together anyway [m].
_STRETCH, _CLOSE = 2.2, 0.003
# Sharpest concave fold within one thing, between pixels two apart [rad]: the inside of a bowl
# bends, the foot of a can folds.
_CREASE = math.radians(28.0)
# Pixels between which a fold is measured.
_REACH = 2
# What is closer than this to the plane that most of the image shows is that plane [m].
_PLANE = 0.004
_PLANE_BIN = 0.004
# Specks and slits narrower than this many pixels are not part of a thing.
_SMOOTHING = 3


class ClassicalSegmenter:
    """Grows the thing at a pixel over its surfaces."""

    spec = SegmenterSpec('classical', supports_text=False, supports_point=True)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> ClassicalSegmenter:
        """Made without parameters."""
        return cls()

    def load(self) -> None:
        """There is nothing to load."""

    def segment(self, request: SegmentRequest) -> tuple[Instance, ...]:
        """The thing at the point; empty if the point shows the surface that things stand on.

        Raises:
          InvalidRequest: no point was given, the image has no depth, or none at the point.
        """
        if request.point is None:
            raise InvalidRequest(
                'segment: the classical segmenter finds the thing at a point, got '
                + (f'the text {request.text!r}' if request.text else 'neither text nor point')
                + '; give a point on it'
            )
        depth = request.frame.depth
        if depth is None:
            raise InvalidRequest(
                f'segment: the image of {request.frame.name} has no depth, which the classical '
                'segmenter needs; use another camera'
            )
        if not np.isfinite(depth[request.point]):
            raise InvalidRequest(
                f'segment: pixel {list(request.point)} of {request.frame.name} has no valid '
                'depth; choose a pixel on an object'
            )
        points = _points(request.frame)
        things = ~_on_main_plane(points)
        if not things[request.point]:
            return ()
        mask = _smoothed(_connected(points, things, request), request.point)
        # How much of what was grown holds together firmly.
        firm = ndimage.binary_erosion(mask, iterations=1)
        score = 0.5 + 0.5 * float(firm.sum()) / float(mask.sum())
        if score < request.min_score:
            return ()
        return (Instance(mask, score=score),)


def _points(frame: CameraFrame) -> Points:
    """Points (H, W, 3) in the base frame; NaN without depth."""
    depth = np.asarray(frame.depth, float)
    points = np.full((*depth.shape, 3), np.nan)
    points[np.isfinite(depth)] = projection.points(depth, frame.intrinsics, frame.pose)
    return points


def _on_main_plane(points: Points) -> Mask:
    """Pixels of the level surface that most of the image shows."""
    heights = points[..., 2]
    seen = heights[np.isfinite(heights)]
    bins = np.floor(seen / _PLANE_BIN).astype(np.int64)
    best = np.convolve(np.bincount(bins - bins.min()), np.ones(3), mode='same').argmax()
    around = np.abs(bins - bins.min() - best) <= 1
    level = np.median(seen[around])
    return ~(heights > level + _PLANE)


def _connected(points: Points, things: Mask, request: SegmentRequest) -> Mask:
    """Pixels that are connected to the point over smooth and convex surfaces."""
    normals = _normals(points, request.frame.pose.position)
    index = np.arange(things.size).reshape(things.shape)
    starts, ends = [], []
    for axis in (0, 1):
        ahead, behind = _shifted(axis, 1)
        apart = np.linalg.norm(points[ahead] - points[behind], axis=-1)
        # At a flat angle pixels lie far apart on one surface; so much do those next to them.
        own = np.linalg.norm(_one_sided(points, axis), axis=-1)
        near = apart < np.maximum(_CLOSE, _STRETCH * np.maximum(own[ahead], own[behind]))
        linked = near & things[ahead] & things[behind] & ~_creases(points, normals, axis)
        starts.append(index[behind][linked])
        ends.append(index[ahead][linked])
    rows, columns = np.concatenate(starts), np.concatenate(ends)
    graph = coo_matrix(
        (np.ones(len(rows), np.int8), (rows, columns)), shape=(things.size, things.size)
    )
    _, labels = connected_components(graph, directed=False)
    labels = labels.reshape(things.shape)
    return np.asarray(labels == labels[request.point])


def _normals(points: Points, eye: NDArray[np.float64]) -> Points:
    """Unit normals (H, W, 3) towards the camera, averaged a little; NaN where unknown."""
    down = _one_sided(points, 0)
    right = _one_sided(points, 1)
    normals = np.cross(right, down)
    with np.errstate(invalid='ignore', divide='ignore'):
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    away = np.sum(normals * (eye - points), axis=-1) < 0.0
    normals[away] *= -1.0
    return normals


def _one_sided(points: Points, axis: int) -> Points:
    """Difference to the neighbour on the nearer side: never across an edge."""
    steps = np.diff(points, axis=axis)
    first, last = np.take(steps, [0], axis), np.take(steps, [-1], axis)
    before = np.concatenate([first, steps], axis)
    after = np.concatenate([steps, last], axis)
    nearer = np.linalg.norm(before, axis=-1) < np.linalg.norm(after, axis=-1)
    return np.where(nearer[..., None], before, after)


def _creases(points: Points, normals: Points, axis: int) -> Mask:
    """Between which pixels and their next along an axis a concave crease runs."""
    ahead, behind = _shifted(axis, _REACH)
    turn = np.sum(normals[ahead] * normals[behind], axis=-1)
    between = points[ahead] - points[behind]
    # Concave: each normal leans towards the other point.
    concave = np.sum((normals[ahead] - normals[behind]) * between, axis=-1) < 0.0
    sharp = concave & (turn < math.cos(_CREASE))
    shape = list(points.shape[:2])
    shape[axis] -= 1
    out = np.zeros(shape, bool)
    # A fold between pixels two apart blocks both steps between them.
    for first in range(_REACH):
        part = [slice(None), slice(None)]
        part[axis] = slice(first, first + sharp.shape[axis])
        out[tuple(part)] |= sharp
    return out


def _shifted(axis: int, by: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Index of the pixels `by` ahead, and of those that they are ahead of."""
    ahead, behind = [slice(None)] * 2, [slice(None)] * 2
    ahead[axis], behind[axis] = slice(by, None), slice(None, -by)
    return tuple(ahead), tuple(behind)


def _smoothed(mask: Mask, point: tuple[int, int]) -> Mask:
    """The part of a mask around the point, without slits and holes."""
    closed = ndimage.binary_closing(np.pad(mask, _SMOOTHING), iterations=_SMOOTHING)
    closed = closed[_SMOOTHING:-_SMOOTHING, _SMOOTHING:-_SMOOTHING] | mask
    filled = ndimage.binary_fill_holes(closed)
    labels, _ = ndimage.label(filled)
    return np.asarray(labels == labels[point])
