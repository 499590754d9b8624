"""Coloured points from dumped views."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rpent_ros.states import View, load_depth, load_rgb
from rpent_ros.tools import projection

Vector = NDArray[np.float64]

# Heights are counted in bins of this size to find the surface that things stand on [m].
_SURFACE_BIN = 0.004


@dataclasses.dataclass(frozen=True)
class Cloud:
    """Points with where they come from.

    Attributes:
      xyz: (N, 3) in the base frame [m].
      rgb: (N, 3) uint8.
      view: (N,) index of the view that each point is from.
      pixels: (N, 2) row and column there.
      footprint: (N,) distance between the points of neighbouring pixels on a surface that faces
        the camera [m].
    """

    xyz: Vector
    rgb: NDArray[np.uint8]
    view: NDArray[np.intp]
    pixels: NDArray[np.intp]
    footprint: Vector

    def __len__(self) -> int:
        return len(self.xyz)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Cloud:
        return Cloud(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))


def load_cloud(output_dir: pathlib.Path, views: Sequence[View]) -> Cloud:
    """All points with a valid depth of some dumped views that have depth."""
    return joined([_cloud_of(output_dir, index, view) for index, view in enumerate(views)])


def _cloud_of(output_dir: pathlib.Path, index: int, view: View) -> Cloud:
    depth = load_depth(output_dir / view.depth)
    rgb = load_rgb(output_dir / view.rgb)
    rows, columns = np.nonzero(np.isfinite(depth))
    return Cloud(
        xyz=projection.points(depth, view.intrinsics, view.pose),
        rgb=rgb[rows, columns],
        view=np.full(len(rows), index),
        pixels=np.column_stack([rows, columns]),
        footprint=depth[rows, columns] / view.intrinsics[0, 0],
    )


def inside(cloud: Cloud, low: Iterable[float], high: Iterable[float]) -> Cloud:
    """The points inside a box of the base frame, its faces included."""
    in_box: NDArray[np.bool_] = np.all(
        (cloud.xyz >= np.array([*low])) & (cloud.xyz <= np.array([*high])), axis=1
    )
    return cloud[in_box]


def joined(parts: Sequence[Cloud]) -> Cloud:
    """All points of several clouds; at least one."""
    return Cloud(*(
        np.concatenate([getattr(part, field.name) for part in parts])
        for field in dataclasses.fields(Cloud)
    ))


def surface_height(cloud: Cloud) -> float:
    """Height of the surface that most of the scene stands on: the most frequent one [m]."""
    heights = cloud.xyz[:, 2]
    bins = np.floor(heights / _SURFACE_BIN).astype(np.intp)
    # Pixels close to a camera are small: weigh each by the area it covers.
    counts = np.pad(np.bincount(bins - bins.min(), weights=cloud.footprint**2), 1)
    # Noise, and a surface that lies on the border of two bins, spread over the neighbours.
    best = int(np.convolve(counts, np.ones(3), mode='valid').argmax()) + bins.min()
    return float(np.median(heights[np.abs(bins - best) <= 1]))
