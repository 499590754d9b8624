"""Smaller images from larger ones, with the geometry kept right."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.observation import CameraFrame

# Depths that differ by more than this share of the nearest one belong to different surfaces.
_SAME_SURFACE = 0.02


def reduced(frame: CameraFrame, factor: int) -> CameraFrame:
    """The image that a camera of `factor` times fewer pixels a side would take.

    Colours are averaged.  Depth is averaged over one surface; at an edge the nearest surface
    counts, so that no point floats between object and background.

    Args:
      frame: the larger image; both sides are multiples of `factor`.
      factor: pixels of a side that become one.
    """
    colours = _blocks(frame.rgb, factor).mean(axis=2)
    depth = None
    if frame.depth is not None:
        blocks = _blocks(frame.depth, factor)
        nearest = blocks.min(axis=2)
        with np.errstate(invalid='ignore'):
            even = blocks.max(axis=2) - nearest <= _SAME_SURFACE * nearest
        depth = np.where(even, blocks.mean(axis=2), nearest).astype(np.float32)
    intrinsics = np.array(frame.intrinsics)
    intrinsics[:2] /= factor
    # Pixel centres are at integers: the centre of a block lies between its pixels.
    intrinsics[:2, 2] -= (factor - 1) / (2 * factor)
    return dataclasses.replace(
        frame,
        rgb=np.rint(colours).astype(np.uint8),
        depth=depth,
        intrinsics=intrinsics,
    )


def _blocks(image: NDArray[np.generic], factor: int) -> NDArray[np.generic]:
    """(H, W, ...) as (H / factor, W / factor, factor * factor, ...)."""
    height, width = image.shape[0] // factor, image.shape[1] // factor
    cut = image.reshape(height, factor, width, factor, *image.shape[2:])
    return cut.swapaxes(1, 2).reshape(height, width, factor * factor, *image.shape[2:])
