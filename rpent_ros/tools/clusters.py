"""Points into objects: groups with a gap around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from rpent_ros.tools.clouds import Cloud, Vector, joined
from rpent_ros.tools.shape import footprint

# Points are thinned to cells of this share of the linking distance before they are linked.
_CELLS_PER_LINK = 3
# Two pixels next to each other lie this many times further apart on a surface seen at 20 degrees.
_SLANT = 3.0


def clusters(cloud: Cloud, gap: float, min_points: int) -> list[Cloud]:
    """Split points into groups that are more than `gap` apart, most points first.

    Distances are those in space, so an object in front of another does not swallow it, and one
    that something thin crosses in the image stays whole.

    Args:
      cloud: points that do not include the surface everything stands on.
      gap: points closer than this belong together [m].  Where pixels are coarser than that, three
        pixels count as close.
      min_points: smaller groups are left out.
    """
    if not len(cloud):
        return []
    coarsest = max(
        float(np.median(cloud.footprint[cloud.view == view])) for view in np.unique(cloud.view)
    )
    link = link_distance(gap, coarsest)
    label_of = connected(cloud.xyz, link)
    counts = np.bincount(label_of)
    order = [label for label in np.argsort(-counts, kind='stable') if counts[label] >= min_points]
    return _with_far_sides([cloud[label_of == label] for label in order], link)


def link_distance(gap: float, footprint: float) -> float:
    """How close points must be to belong together [m].

    Args:
      gap: what was asked for [m].
      footprint: distance between the points of neighbouring pixels on a surface that faces the
        camera [m].
    """
    return max(gap, _SLANT * footprint)


def connected(xyz: Vector, link: float) -> NDArray[np.intp]:
    """Number (N,) of the group that each point (N, 3) belongs to: chains of steps up to `link`.

    Points are thinned to cells first, so steps that differ from `link` by less than a cell may
    count or not.
    """
    places = np.floor(xyz * (_CELLS_PER_LINK / link)).astype(np.int64)
    places -= places.min(axis=0)
    # One number per cell: sorting those is much faster than sorting rows.
    numbers = np.ravel_multi_index(tuple(places.T), tuple(places.max(axis=0) + 1))
    cells, cell_of = np.unique(numbers, return_inverse=True)
    sizes = np.bincount(cell_of)
    centres = np.column_stack([
        np.bincount(cell_of, weights=xyz[:, axis]) / sizes for axis in range(3)
    ])
    pairs = cKDTree(centres).query_pairs(link, output_type='ndarray')
    graph = coo_matrix(
        (np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(len(cells), len(cells))
    )
    _, labels = connected_components(graph, directed=False)
    return np.asarray(labels, np.intp)[cell_of]


def _with_far_sides(groups: list[Cloud], link: float) -> list[Cloud]:
    """Join what different cameras see of one thing from opposite sides; sorted like `groups`.

    Two groups that no camera sees both of are one thing if the middle of the smaller lies within
    the rectangle around the larger and their heights overlap.
    """
    kept: list[Cloud] = []
    for group in groups:
        host = next((n for n, large in enumerate(kept) if _is_far_side(group, large, link)), None)
        if host is None:
            kept.append(group)
        else:
            kept[host] = joined([kept[host], group])
    return sorted(kept, key=len, reverse=True)


def _is_far_side(small: Cloud, large: Cloud, link: float) -> bool:
    if np.intersect1d(small.view, large.view).size:
        return False
    low, high = large.xyz[:, 2].min() - link, large.xyz[:, 2].max() + link
    if small.xyz[:, 2].max() < low or small.xyz[:, 2].min() > high:
        return False
    around = footprint(large.xyz[:, :2])
    offset = footprint(small.xyz[:, :2]).center - around.center
    c, s = np.cos(around.long_yaw), np.sin(around.long_yaw)
    along, across = c * offset[0] + s * offset[1], c * offset[1] - s * offset[0]
    return bool(
        abs(along) <= around.long / 2 + link and abs(across) <= around.short / 2 + link
    )


def pixel_well_inside(pixels: NDArray[np.intp]) -> tuple[int, int]:
    """The pixel (row, column) of a set (N, 2) that lies furthest from the set's border."""
    first = pixels.min(axis=0) - 1
    mask = np.zeros(pixels.max(axis=0) - first + 2, bool)
    mask[tuple((pixels - first).T)] = True
    row, column = np.unravel_index(int(distance_transform_edt(mask).argmax()), mask.shape)
    return int(row + first[0]), int(column + first[1])
