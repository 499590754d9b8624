"""Measures of a gripper."""

from __future__ import annotations

import dataclasses

from rpent_ros.errors import InvalidRequest


@dataclasses.dataclass(frozen=True)
class Hand:
    """Measures of a parallel gripper that points down, relative to the tool centre point [m].

    Attributes:
      half_length: the hand's extent from the middle along the direction in which it closes.
      half_width: and across that direction.
      fingers_start: open fingers begin this far from the middle.
      fingers_end: and end this far from it.
      finger_half_width: their extent across that direction.
      tip_below: finger tips below the tool centre point.
      palm_above: underside of the hand above it.
      depth: favourite depth of the tool centre point below a thing's top.
      closing_axis: axis of the tool frame along which it closes, 'x' or 'y'.
    """

    half_length: float = 0.105
    half_width: float = 0.034
    fingers_start: float = 0.038
    fingers_end: float = 0.07
    finger_half_width: float = 0.012
    tip_below: float = 0.01
    palm_above: float = 0.031
    depth: float = 0.025
    closing_axis: str = 'x'

    def __post_init__(self) -> None:
        if self.closing_axis not in ('x', 'y'):
            raise InvalidRequest(
                f'closing_axis: expected x or y of the tool frame, got {self.closing_axis!r}'
            )
