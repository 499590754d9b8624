"""Segmenters by name; a segmenter's module is imported only when it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpent_ros.registry import choose
from rpent_ros.segmentation.base import Segmenter

# Name to module and class.
_SEGMENTERS = {
    'classical': ('rpent_ros.segmentation.classical', 'ClassicalSegmenter'),
    'privileged': ('rpent_ros.segmentation.privileged', 'PrivilegedSegmenter'),
    'sam3': ('rpent_ros.segmentation.sam3', 'Sam3Segmenter'),
}
# These ask the driver for labels that only a simulator has.
PRIVILEGED_SEGMENTERS = ('privileged',)


def known_segmenters() -> tuple[str, ...]:
    """Names of all segmenters that come with rpent_ros."""
    return tuple(_SEGMENTERS)


def make_segmenter(name: str, parameters: Mapping[str, Any]) -> Segmenter:
    """Make a segmenter; nothing is loaded yet.

    Args:
      name: one of `known_segmenters`.
      parameters: the segmenter node's parameters.

    Raises:
      InvalidRequest: unknown segmenter.
    """
    cls = choose('segmenter', 'segmenters', _SEGMENTERS, name)
    segmenter: Segmenter = cls.from_parameters(parameters)
    return segmenter
