"""Segments with the simulator's own labels.  PRIVILEGED: no real robot has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rpent_ros.contracts.segmentation import Instance, SegmenterSpec, SegmentRequest
from rpent_ros.errors import InvalidRequest, Unavailable
from rpent_ros.segmentation.base import LabelSource

_WORD = re.compile(r'[a-z]+')
# Say nothing about which object is meant.
_STOP_WORDS = frozenset({
    'a', 'an', 'the', 'of', 'on', 'in', 'to', 'at', 'and', 'next', 'from', 'with', 'it', 'pick',
    'up', 'place', 'put',
})  # fmt: skip


class PrivilegedSegmenter:
    """Knows every object by name, at the driver's present moment only."""

    spec = SegmenterSpec(
        'privileged', supports_text=True, supports_point=True, privileged=True
    )

    def __init__(self) -> None:
        self._source: LabelSource | None = None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> PrivilegedSegmenter:
        """Made without parameters."""
        return cls()

    def load(self) -> None:
        """There is nothing to load."""

    def connect(self, source: LabelSource) -> None:
        """Take labels from there."""
        self._source = source

    def segment(self, request: SegmentRequest) -> tuple[Instance, ...]:
        """Objects whose names share words with the text, the one at the point, or all.

        Raises:
          InvalidRequest: the image does not show the driver's present state.
          Unavailable: there is no driver to ask.
        """
        if self._source is None:
            raise Unavailable('segment: the privileged segmenter has no driver to ask')
        width, height = request.frame.size
        image = self._source(request.frame.name, width, height)
        if (image.episode, image.step) != (request.episode, request.step):
            raise InvalidRequest(
                'segment: the privileged segmenter knows the present only, episode '
                f'{image.episode} step {image.step}; the image shows episode {request.episode} '
                f'step {request.step}; ask about the newest state dump'
            )
        if request.point is not None:
            wanted = {int(image.ids[request.point]): 1.0}
            wanted.pop(0, None)
        else:
            wanted = {
                number: _likeness(request.text, label.name) if request.text else 1.0
                for number, label in enumerate(image.labels, start=1)
            }
        found = [
            Instance(image.ids == number, label=image.labels[number - 1].name, score=score)
            for number, score in wanted.items()
            if score > 0.0 and score >= request.min_score and (image.ids == number).any()
        ]
        sizes = {instance.label: int(np.count_nonzero(instance.mask)) for instance in found}
        return tuple(sorted(found, key=lambda i: (-i.score, -sizes[i.label])))


def _likeness(text: str, name: str) -> float:
    """Share of the words of a name that a text has; the number at a name's end is no word."""
    said = set(_WORD.findall(text.lower())) - _STOP_WORDS
    words = set(_WORD.findall(name.lower())) - _STOP_WORDS
    return len(words & said) / len(words) if words else 0.0
