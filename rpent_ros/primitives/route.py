"""Ways around what a straight line cannot pass: the arm's own reach.

A tool that points down cannot pass close to the arm's base, so the line between two reachable
places left and right of it may be impassable.  Nothing else is avoided: the driver knows no
obstacles.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# Shorter motions have no detour [m].
SHORTEST = 0.10
# How far beside, and above, the middle of the line a detour is looked for [m].
SIDEWAYS = (0.15, 0.30)
UPWARDS = (0.12, 0.25)


def detours(start: Vector, end: Vector) -> Iterator[Vector]:
    """Places (3,) [m] to go through on the way between two others, the nearest first."""
    line = end - start
    if float(np.linalg.norm(line)) < SHORTEST:
        return
    offsets = [np.array([0.0, 0.0, up]) for up in UPWARDS]
    beside = np.array([-line[1], line[0], 0.0])
    length = float(np.linalg.norm(beside))
    if length > 0.0:
        offsets += [sign * far * beside / length for far in SIDEWAYS for sign in (1.0, -1.0)]
    for offset in sorted(offsets, key=lambda offset: float(np.linalg.norm(offset))):
        yield (start + end) / 2 + offset
