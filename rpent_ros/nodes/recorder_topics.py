"""Which topics a recorder takes, and with which quality of service."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Sequence
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from rpent_ros.bag import QosProfile
from rpent_ros.errors import InvalidRequest

DEFAULT_TOPICS = (
    'agent/events rpent_msgs/msg/AgentEvent',
    'agent/steps rpent_msgs/msg/StepRecord',
    'agent/user_message std_msgs/msg/String',
    'driver/state rpent_msgs/msg/DriverState latched',
    'joint_states sensor_msgs/msg/JointState',
    'ee_pose geometry_msgs/msg/PoseStamped',
    '/tf tf2_msgs/msg/TFMessage',
    '/tf_static tf2_msgs/msg/TFMessage latched',
)
_QUEUE_DEPTH = 1000  # messages that the middleware keeps while Python is busy


@dataclasses.dataclass(frozen=True)
class TopicChoice:
    """One entry of the parameter `topics`: a name, then maybe its type, then maybe 'latched'.

    A type subscribes before the first publisher appears, so that not even its first message is
    missed.  'latched' also takes the messages that publishers kept from before the bag was opened;
    without it the bag holds nothing that is older than itself.  With a name alone the recorder
    waits for a publisher and asks for all it offers.
    """

    name: str
    type_name: str = ''
    latched: bool = False

    @classmethod
    def parse(cls, entry: str) -> TopicChoice:
        """Read an entry.

        Raises:
          InvalidRequest: it has another form.
        """
        words = entry.split()
        if not 1 <= len(words) <= 3 or words[2:] not in ([], ['latched']):
            raise InvalidRequest(
                "recorder topics: expected 'name', 'name type' or 'name type latched', "
                f'got {entry!r}'
            )
        type_name = words[1] if len(words) > 1 else ''
        return cls(words[0], type_name, latched=len(words) == 3)

    def qos(self, publishers: Sequence[TopicEndpointInfo]) -> QoSProfile:
        """What to ask for, given the publishers that are there."""
        latched = _all_latched(publishers) if publishers else self.latched
        return QoSProfile(
            depth=_QUEUE_DEPTH,
            reliability=ReliabilityPolicy.RELIABLE
            if _all_reliable(publishers)
            else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL
            if latched and (self.latched or not self.type_name)
            else DurabilityPolicy.VOLATILE,
        )


@functools.cache
def message_type(type_name: str) -> Any:
    """The class of a message type.

    Raises:
      ImportError, AttributeError: the type is not installed.
    """
    package, _, name = type_name.partition('/msg/')
    return getattr(importlib.import_module(f'{package}.msg'), name)


def _all_reliable(publishers: Sequence[TopicEndpointInfo]) -> bool:
    return all(p.qos_profile.reliability == ReliabilityPolicy.RELIABLE for p in publishers)


def _all_latched(publishers: Sequence[TopicEndpointInfo]) -> bool:
    return all(p.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)


def accepts(requested: QoSProfile, offered: QoSProfile) -> bool:
    """True if a subscription with `requested` gets the messages of publishers with `offered`."""
    reliable = (
        requested.reliability == ReliabilityPolicy.BEST_EFFORT
        or offered.reliability == ReliabilityPolicy.RELIABLE
    )
    latched = (
        requested.durability == DurabilityPolicy.VOLATILE
        or offered.durability == DurabilityPolicy.TRANSIENT_LOCAL
    )
    return reliable and latched


def stored_qos(qos: QoSProfile) -> QosProfile:
    """A profile as a bag stores it."""
    return QosProfile(
        history=qos.history.short_key,
        depth=qos.depth,
        reliability=qos.reliability.short_key,
        durability=qos.durability.short_key,
        deadline=qos.deadline.nanoseconds,
        lifespan=qos.lifespan.nanoseconds,
        liveliness=qos.liveliness.short_key,
        liveliness_lease_duration=qos.liveliness_lease_duration.nanoseconds,
    )
