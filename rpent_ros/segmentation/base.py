"""The protocol of segmenters, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from rpent_ros.contracts.labels import LabelImage
from rpent_ros.contracts.segmentation import Instance, SegmenterSpec, SegmentRequest

# Camera, width, height to the labels of the driver's present state.
LabelSource = Callable[[str, int, int], LabelImage]


class Segmenter(Protocol):
    """Finds things in images.  All methods are called from one thread."""

    @property
    def spec(self) -> SegmenterSpec:
        """What it can do; known before `load`."""

    def load(self) -> None:
        """Load weights, if there are any.

        Raises:
          ModelNotLoaded: they cannot be loaded; the message says what is missing.
        """

    def segment(self, request: SegmentRequest) -> tuple[Instance, ...]:
        """The things that fit the request, best first; empty if there is none.

        Raises:
          InvalidRequest: it cannot look for that kind of thing.
          RpentError: it failed.
        """


@runtime_checkable
class UsesLabels(Protocol):
    """What a privileged segmenter has besides: it asks the driver which object a pixel shows."""

    def connect(self, source: LabelSource) -> None:
        """Take labels from there."""
