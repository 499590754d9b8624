"""What is asked of a segmenter and what it answers."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.errors import InvalidRequest


@dataclasses.dataclass(frozen=True)
class SegmenterSpec:
    """What a segmenter can do.

    Attributes:
      name: of the backend.
      supports_text: finds things by words.
      supports_point: finds the thing at a pixel.
      privileged: uses simulator state that a real robot does not have.
    """

    name: str
    _: dataclasses.KW_ONLY
    supports_text: bool
    supports_point: bool
    privileged: bool = False


@dataclasses.dataclass(frozen=True)
class SegmentRequest:
    """What is looked for in one image: a text or a point; neither means everything known.

    Attributes:
      frame: the image, with depth where the camera has it.
      text: what is looked for, in words; '' for none.
      point: row and column of a pixel on it; None for none.
      min_score: answers below this are left out, 0 to 1.
      episode, step: moment that the image shows, see Observation.
    """

    frame: CameraFrame
    _: dataclasses.KW_ONLY
    text: str = ''
    point: tuple[int, int] | None = None
    min_score: float = 0.0
    episode: int = 0
    step: int = 0

    def __post_init__(self) -> None:
        if self.text and self.point is not None:
            raise InvalidRequest('segment: expected text or point, got both')
        if not 0.0 <= self.min_score <= 1.0:
            raise InvalidRequest(f'segment min_score: expected 0 to 1, got {self.min_score}')
        width, height = self.frame.size
        if self.point is not None and not (
            0 <= self.point[0] < height and 0 <= self.point[1] < width
        ):
            raise InvalidRequest(
                f'segment point: expected row 0 to {height - 1} and column 0 to {width - 1}, got '
                f'[{self.point[0]}, {self.point[1]}]'
            )


@dataclasses.dataclass(frozen=True)
class Instance:
    """One thing that was found.

    Attributes:
      mask: (H, W) bool, the size of the image; at least one pixel.
      label: what it is; '' if the segmenter does not know.
      score: how sure the segmenter is, 0 to 1.
    """

    mask: NDArray[np.bool_]
    _: dataclasses.KW_ONLY
    label: str = ''
    score: float = 1.0

    def __post_init__(self) -> None:
        mask = checks.array('instance mask', self.mask, shape=(None, None), dtype=np.bool_)
        if not mask.any():
            raise InvalidRequest('instance mask: expected at least one pixel, got none')
        object.__setattr__(self, 'mask', mask)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """First and last row, first and last column."""
        rows = np.flatnonzero(self.mask.any(axis=1))
        columns = np.flatnonzero(self.mask.any(axis=0))
        return int(rows[0]), int(rows[-1]), int(columns[0]), int(columns[-1])


@dataclasses.dataclass(frozen=True)
class Segmentation:
    """A segmenter's answer: what was found, best first, and whether it needed privileged state."""

    instances: tuple[Instance, ...]
    _: dataclasses.KW_ONLY
    privileged: bool = False
    infer_ms: float = 0.0
