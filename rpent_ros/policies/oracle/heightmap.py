"""The scene from above: how high it is at each point, and what is on top there."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from rpent_ros.contracts.scene import SceneBody

Vector = NDArray[np.float64]

NOTHING = -1
# Faces steeper than this are walls: a vertical ray does not end on them.
_WALL = 1e-6


class HeightMap:
    """A square grid of heights.

    Args:
      bodies: what is seen.
      centre: (2,) middle of the grid [m].
      half: half of its side [m].
      resolution: distance of grid points [m].
      floor: height where nothing is [m].

    Attributes:
      x, y: (N,) coordinates of the grid points [m].
      height: (N, N) highest point over (x[i], y[j]) [m].
      owner: (N, N) index into `bodies` of what is on top; NOTHING for the floor.
    """

    def __init__(
        self,
        bodies: Sequence[SceneBody],
        centre: Vector,
        half: float,
        resolution: float,
        floor: float,
    ) -> None:
        count = 2 * round(half / resolution) + 1
        steps = resolution * (np.arange(count) - count // 2)
        self.resolution = resolution
        self.floor = floor
        self.x, self.y = centre[0] + steps, centre[1] + steps
        self.height = np.full((count, count), floor)
        self.owner = np.full((count, count), NOTHING)
        for index, body in enumerate(bodies):
            for hull in body.hulls:
                self._add(index, body, hull)

    def _add(self, index: int, body: SceneBody, hull: NDArray[np.float32]) -> None:
        rotation, origin = body.pose.rotation, body.pose.position
        points = hull @ rotation.T + origin
        rows = _window(self.x, points[:, 0])
        columns = _window(self.y, points[:, 1])
        if rows.start >= rows.stop or columns.start >= columns.stop:
            return
        faces = half_spaces(hull.tobytes())
        normals = faces[:, :3] @ rotation.T
        offsets = faces[:, 3] - normals @ origin
        top = vertical_top(normals, offsets, self.x[rows], self.y[columns])
        block = (rows, columns)
        higher = top > self.height[block]
        self.height[block] = np.where(higher, top, self.height[block])
        self.owner[block] = np.where(higher, index, self.owner[block])

    def sample(self, x: Vector, y: Vector) -> tuple[Vector, NDArray[np.int64]]:
        """Height and owner at the grid points next to (x, y), any shape; floor outside."""
        i = np.rint((x - self.x[0]) / self.resolution).astype(int)
        j = np.rint((y - self.y[0]) / self.resolution).astype(int)
        inside = (i >= 0) & (i < len(self.x)) & (j >= 0) & (j < len(self.y))
        i, j = np.where(inside, i, 0), np.where(inside, j, 0)
        height = np.where(inside, self.height[i, j], self.floor)
        return height, np.where(inside, self.owner[i, j], NOTHING)


def vertical_top(normals: Vector, offsets: Vector, x: Vector, y: Vector) -> Vector:
    """Where vertical lines leave a convex body upwards.

    Args:
      normals: (F, 3) outward normals of the faces.
      offsets: (F,): the body is where normals @ p + offsets <= 0.
      x: (I,) [m].
      y: (J,) [m].

    Returns:
      (I, J) heights [m]; -inf where a line misses the body.
    """
    plane = normals[:, 0, None, None] * x[:, None] + normals[:, 1, None, None] * y
    plane = plane + offsets[:, None, None]
    slope = normals[:, 2]
    up, down = slope > _WALL, slope < -_WALL
    wall = ~(up | down)
    upper = (-plane[up] / slope[up, None, None]).min(axis=0)
    lower = (-plane[down] / slope[down, None, None]).max(axis=0)
    hit = (upper >= lower) & (plane[wall] <= 1e-9).all(axis=0)
    return np.where(hit, upper, -np.inf)


@functools.lru_cache(maxsize=4096)
def half_spaces(vertices: bytes) -> Vector:
    """Faces (F, 4) of a convex hull as outward normal and offset; shapes recur in every scene."""
    points = np.frombuffer(vertices, np.float32).reshape(-1, 3).astype(np.float64)
    try:
        equations = ConvexHull(points).equations
    except QhullError:
        # Flat shapes have no volume: joggle them a little.
        equations = ConvexHull(points, qhull_options='QJ').equations
    # A box comes as twelve triangles with six planes.
    return np.unique(np.round(equations, 9), axis=0)


def _window(grid: Vector, values: Vector) -> slice:
    """Indices of the grid points within the range of some values."""
    return slice(
        int(np.searchsorted(grid, values.min())), int(np.searchsorted(grid, values.max(), 'right'))
    )
