"""Measures of a parallel gripper that points down."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Gripper:
    """All lengths in metres, relative to the tool centre point between the finger pads.

    The defaults are those of the Franka hand as robosuite models it, read off its collision shapes
    relative to `grip_site`.

    Attributes:
      tip_below: finger tips below the tool centre point.
      palm_above: the palm's underside above it.
      finger_inner, finger_outer: an open finger reaches from here to here, from the centre.
      finger_half_width: half of a finger's width, across the opening direction.
      hand_half_length, hand_half_width: the hand's footprint along and across that direction.
      usable_half_opening: material between the fingers must not reach further out than this.
      comfortable_width: wider objects are grasped, but not gladly.
      open_width: distance between the pads from which they count as open.
    """

    tip_below: float = 0.0092
    palm_above: float = 0.031
    finger_inner: float = 0.040
    finger_outer: float = 0.069
    finger_half_width: float = 0.012
    hand_half_length: float = 0.105
    hand_half_width: float = 0.033
    usable_half_opening: float = 0.036
    comfortable_width: float = 0.066
    open_width: float = 0.070
