"""Values that writing, verifying and repairing a bag share."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

_INFINITE = 2**63 - 1  # how ROS writes an unlimited duration [ns]


@dataclasses.dataclass(frozen=True)
class QosProfile:
    """What the publishers of a topic offered; durations in nanoseconds."""

    history: str = 'keep_last'
    depth: int = 10
    reliability: str = 'reliable'
    durability: str = 'volatile'
    deadline: int = _INFINITE
    lifespan: int = _INFINITE
    liveliness: str = 'automatic'
    liveliness_lease_duration: int = _INFINITE

    def as_rosbag2(self) -> dict[str, Any]:
        """The mapping that rosbag2 stores."""
        out: dict[str, Any] = dataclasses.asdict(self)
        for name in ('deadline', 'lifespan', 'liveliness_lease_duration'):
            seconds, nanoseconds = divmod(out[name], 10**9)
            out[name] = {'sec': seconds, 'nsec': nanoseconds}
        return out | {'avoid_ros_namespace_conventions': False}


@dataclasses.dataclass(frozen=True)
class BagSummary:
    """What a bag holds.

    Attributes:
      path: its folder.
      counts: messages per topic, also of topics without messages.
      types: message type per topic.
      start, end: receive times of the first and last message [ns]; 0 in an empty bag.
      custom: values stored with the bag, e.g. run_id, dropped.
    """

    path: pathlib.Path
    _: dataclasses.KW_ONLY
    counts: Mapping[str, int]
    types: Mapping[str, str]
    start: int = 0
    end: int = 0
    custom: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def messages(self) -> int:
        """Messages of all topics."""
        return sum(self.counts.values())
