"""From pixels to points: depth and calibration, computed on the fly, no stored world maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import BadPixel
from rpent_ros.geometry import Pose

Vector = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Located:
    """A place found by back projection.

    Attributes:
      xyz: (3,) point in the base frame [m].
      spread: (3,) half of the range that the middle 80 % of the points cover, per axis [m]: large
        at the edge of an object, where the next pixel may be far behind.
      n_valid: pixels with a valid depth that took part.
      points: (N, 3) all of them [m].
    """

    xyz: Vector
    spread: Vector
    n_valid: int
    points: Vector


def points(
    depth: Vector, intrinsics: Vector, pose: Pose, *, first_row: int = 0, first_column: int = 0
) -> Vector:
    """Points (N, 3) [m] in the base frame of all pixels with a valid depth.

    Args:
      depth: (H, W) metres along the optical axis, NaN where unknown; may be a cut-out.
      intrinsics: (3, 3) of the whole image, pixel centres at integers.
      pose: optical frame (z forward, x right, y down) in the base frame.
      first_row: row of the image where the cut-out begins.
      first_column: column of the image where it begins.
    """
    rows, columns = np.nonzero(np.isfinite(depth))
    d = depth[rows, columns]
    x = (columns + first_column - intrinsics[0, 2]) / intrinsics[0, 0] * d
    y = (rows + first_row - intrinsics[1, 2]) / intrinsics[1, 1] * d
    return pose.apply(np.stack([x, y, d], axis=-1))


def locate_pixel(
    depth: Vector, intrinsics: Vector, pose: Pose, row: int, column: int, where: str
) -> Located:
    """The point that one pixel shows, with the spread of its 5 x 5 neighbourhood.

    Raises:
      BadPixel: the pixel lies outside the image or has no valid depth.
    """
    height, width = depth.shape
    if not (0 <= row < height and 0 <= column < width):
        raise BadPixel(
            f'pixel [{row}, {column}] lies outside the {width} x {height} image of {where}; '
            f'expected row 0 to {height - 1} and column 0 to {width - 1}'
        )
    if not np.isfinite(depth[row, column]):
        raise BadPixel(
            f'pixel [{row}, {column}] of {where} has no valid depth: it shows nothing within '
            'range; choose a pixel on an object'
        )
    top, left = max(row - 2, 0), max(column - 2, 0)
    cut = depth[top : row + 3, left : column + 3]
    around = points(cut, intrinsics, pose, first_row=top, first_column=left)
    one = points(
        depth[row : row + 1, column : column + 1],
        intrinsics, pose, first_row=row, first_column=column,
    )[0]
    return Located(one, spread(around), len(around), around)


def locate_region(
    depth: Vector,
    intrinsics: Vector,
    pose: Pose,
    rows: tuple[int, int],
    columns: tuple[int, int],
    where: str,
    *,
    z_min: float = -np.inf,
    z_max: float = np.inf,
    n_least: int = 8,
) -> Located:
    """The median of the points that a rectangle of pixels shows, within a band of heights.

    Args:
      depth: (H, W) metres along the optical axis, NaN where unknown.
      intrinsics: (3, 3), pixel centres at integers.
      pose: optical frame in the base frame.
      rows: first and last, both included; clipped to the image.
      columns: first and last, both included; clipped to the image.
      where: names the image in messages.
      z_min: lowest height in the base frame that counts [m].
      z_max: largest height that counts [m].
      n_least: fewer valid pixels than this are refused.

    Raises:
      BadPixel: the rectangle misses the image or holds too few valid pixels.
    """
    height, width = depth.shape
    (top, bottom), (left, right) = clipped(rows, columns, width, height, where)
    cut = depth[top : bottom + 1, left : right + 1]
    found = points(cut, intrinsics, pose, first_row=top, first_column=left)
    kept = found[(found[:, 2] >= z_min) & (found[:, 2] <= z_max)]
    if len(kept) < n_least:
        seen = ''
        if len(found):
            low, high = float(found[:, 2].min()), float(found[:, 2].max())
            seen = f' with heights {low:.3f} to {high:.3f} m'
        raise BadPixel(
            f'region rows {list(rows)}, columns {list(columns)} of {where}: expected at least '
            f'{n_least} pixels with a valid depth and a height of {z_min:g} to {z_max:g} m, got '
            f'{len(kept)} of {len(found)}{seen}; widen the region or the band'
        )
    return Located(np.median(kept, axis=0), spread(kept), len(kept), kept)


def clipped(
    rows: Sequence[int], columns: Sequence[int], width: int, height: int, where: str
) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last row and column of a rectangle of pixels, within the image.

    Raises:
      BadPixel: nothing of it lies inside.
    """
    top, bottom = max(rows[0], 0), min(rows[1], height - 1)
    left, right = max(columns[0], 0), min(columns[1], width - 1)
    if top > bottom or left > right:
        raise BadPixel(
            f'region rows {list(rows)}, columns {list(columns)} holds no pixel of the '
            f'{width} x {height} image of {where}; expected first before last, rows 0 to '
            f'{height - 1} and columns 0 to {width - 1}'
        )
    return (top, bottom), (left, right)


def spread(cloud: Vector) -> Vector:
    """Half of the range that the middle 80 % of points (N, 3) cover, per axis [m]."""
    low, high = np.percentile(cloud, [10, 90], axis=0)
    return (high - low) / 2
