"""RecorderNode: writes what a run publishes to one MCAP bag, without decoding it."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Sequence
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from rpent_msgs.srv import StartRecording, StopRecording
from rpent_ros.bag import BagSummary, Recording, load_definition
from rpent_ros.errors import BagFailed, Busy, NotRecording, RpentError
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.parameters import declare, parameter
from rpent_ros.nodes.process import run_node
from rpent_ros.nodes.recorder_topics import (
    DEFAULT_TOPICS,
    TopicChoice,
    accepts,
    message_type,
    stored_qos,
)

_IMAGE = 'sensor_msgs/msg/Image'
_CAMERA_INFO = 'sensor_msgs/msg/CameraInfo'
_DISCOVERY_PERIOD = 0.25  # how long a new topic can go unnoticed [s]
# From here on a camera is subscribed to only while an image is due: a simulator renders for as
# long as somebody listens, and two software-rendered images cost as much as six control steps.
_SAMPLING_PERIOD = 1.0


@dataclasses.dataclass(frozen=True)
class RecorderParameters:
    """The parameters of a RecorderNode, see config/recorder.yaml."""

    topics: tuple[str, ...] = parameter(
        DEFAULT_TOPICS,
        "Topics to record, each 'name', 'name type' or 'name type latched'; with a type not even "
        'the first message is missed.',
        element=str,
    )
    camera_period: float = parameter(
        2.0, 'Time between two recorded images of a camera [s]; 0.0: none.', low=0.0, high=3600.0
    )
    camera_depth: bool = parameter(
        False, 'Record a depth image beside each recorded image of a camera that has one.'
    )
    queue_megabytes: int = parameter(
        128,
        'Messages waiting for the disk; what does not fit is dropped and counted [MiB].',
        low=1,
        high=16384,
    )
    flush_period: float = parameter(
        0.5, 'Longest time that a message waits in memory [s].', low=0.1, high=60.0
    )


class RecorderNode(Node):
    """Record topics as they are on the wire; one bag per `recorder/start`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('recorder', **kwargs)
        self._p = declare(self, RecorderParameters)
        self._image_kinds = ('image_raw', 'depth') if self._p.camera_depth else ('image_raw',)
        self._choices = [TopicChoice.parse(entry) for entry in self._p.topics]
        # Held by whoever opens or closes a bag: a service callback, or the end of the process.
        self._opening = threading.Lock()
        self._recording: Recording | None = None
        self._listening: dict[str, Subscription] = {}
        self._requested: dict[str, QoSProfile] = {}
        self._camera_at: dict[str, int] = {}
        self._lost_in_transport = 0
        self._reported_drops = 0
        self.create_service(StartRecording, 'recorder/start', self._on_start)
        self.create_service(StopRecording, 'recorder/stop', self._on_stop)
        self.create_timer(_DISCOVERY_PERIOD, self._look_around)

    def start(self, path: str, run_id: str) -> None:
        """Open a bag and subscribe.

        Raises:
          Busy: a bag is open already.
          BagFailed: the folder exists or cannot be created.
        """
        with self._opening:
            if self._recording is not None:
                raise Busy(
                    f'{self.get_fully_qualified_name()}: expected no open bag, but '
                    f'{self._recording.path} is being recorded; call recorder/stop first'
                )
            self._lost_in_transport = self._reported_drops = 0
            self._recording = Recording(
                path,
                run_id=run_id,
                queue_bytes=self._p.queue_megabytes << 20,
                flush_period=self._p.flush_period,
            )
        self._look_around()
        self.get_logger().info(f'recording run {run_id!r} to {path}')

    def stop(self) -> BagSummary:
        """Unsubscribe, close the bag and read it back.

        Raises:
          NotRecording: no bag is open.
          BagFailed: it could not be written completely, or not be read back.
        """
        with self._opening:
            recording, self._recording = self._recording, None
            if recording is None:
                raise NotRecording(
                    f'{self.get_fully_qualified_name()}: expected an open bag, found none; call '
                    'recorder/start first'
                )
            for topic in list(self._listening):
                self._unsubscribe(topic)
            summary = recording.stop()
        lost = sum(recording.dropped.values())
        if lost or self._lost_in_transport:
            self.get_logger().warning(
                f'bag {summary.path}: {lost} messages dropped ({_listed(recording.dropped)}), '
                f'{self._lost_in_transport} lost on the way here'
            )
        self.get_logger().info(
            f'closed and verified {summary.path}: {summary.messages} messages on '
            f'{len(summary.counts)} topics'
        )
        return summary

    def destroy_node(self) -> None:
        """Close an open bag, if there is one, and end the node; failures are logged."""
        if self._recording is not None:
            try:
                self.stop()
            except RpentError as error:
                self.get_logger().error(str(error))
        # recorder/stop may be closing the bag on another thread: let it finish.
        with self._opening:
            pass
        super().destroy_node()

    def _on_start(
        self, request: StartRecording.Request, response: StartRecording.Response
    ) -> StartRecording.Response:
        try:
            if not request.path:
                raise BagFailed('bag path: expected the folder of a new bag, got an empty string')
            self.start(request.path, request.run_id)
        except RpentError as error:
            _fill_error(response, error)
        return response

    def _on_stop(
        self, _: StopRecording.Request, response: StopRecording.Response
    ) -> StopRecording.Response:
        if self._recording is not None:
            response.path = self._recording.path
        try:
            response.messages = self.stop().messages
        except RpentError as error:
            _fill_error(response, error)
        return response

    def _look_around(self) -> None:
        """Subscribe to what has appeared, follow publishers that changed, report drops."""
        recording = self._recording
        if recording is None:
            return
        for choice in self._choices:
            topic = self.resolve_topic_name(choice.name)
            publishers = self.get_publishers_info_by_topic(topic)
            if publishers:
                self._subscribe(topic, publishers[0].topic_type, choice.qos(publishers))
            elif choice.type_name:
                self._subscribe(topic, choice.type_name, choice.qos(()))
        self._sample_cameras()
        self._report_drops(recording)

    def _sample_cameras(self) -> None:
        if self._p.camera_period <= 0:
            return
        namespace = self.get_namespace().rstrip('/') + '/'
        now = self.get_clock().now().nanoseconds
        for topic, types in self.get_topic_names_and_types():
            camera, _, kind = topic.rpartition('/')
            if not topic.startswith(namespace) or kind not in self._image_kinds:
                continue
            if _IMAGE not in types or not self._is_due(topic, now):
                continue
            for name, type_name in ((topic, _IMAGE), (f'{camera}/camera_info', _CAMERA_INFO)):
                publishers = self.get_publishers_info_by_topic(name)
                if publishers:
                    qos = TopicChoice(name).qos(publishers)
                    self._subscribe(name, type_name, qos, camera=True)

    def _is_due(self, topic: str, now: int) -> bool:
        last = self._camera_at.get(topic)
        return last is None or now - last >= self._p.camera_period * 1e9

    def _subscribe(
        self, topic: str, type_name: str, qos: QoSProfile, *, camera: bool = False
    ) -> None:
        if topic in self._listening:
            if accepts(self._requested[topic], qos):
                return
            self._unsubscribe(topic)
        try:
            load_definition(type_name)
            message_class = message_type(type_name)
        except (BagFailed, ImportError, AttributeError) as error:
            self.get_logger().warning(
                f'{topic} is not recorded: {error}', throttle_duration_sec=60.0
            )
            return
        handler = self._on_camera if camera else self._on_message
        self._requested[topic] = qos
        self._listening[topic] = self.create_subscription(
            message_class,
            topic,
            # Two positional arguments: rclpy then passes the transport's time stamps as well.
            lambda data, info: handler(topic, type_name, data, info),
            qos,
            event_callbacks=SubscriptionEventCallbacks(
                message_lost=self._on_lost, use_default_callbacks=False
            ),
            raw=True,
        )

    def _unsubscribe(self, topic: str) -> None:
        self.destroy_subscription(self._listening.pop(topic))
        self._requested.pop(topic, None)

    def _on_lost(self, event: Any) -> None:
        self._lost_in_transport += event.total_count_change

    def _on_camera(self, topic: str, type_name: str, data: bytes, info: dict[str, int]) -> None:
        now = self.get_clock().now().nanoseconds
        if not self._is_due(topic, now):
            return
        self._camera_at[topic] = now
        self._on_message(topic, type_name, data, info)
        if self._p.camera_period >= _SAMPLING_PERIOD and topic in self._listening:
            self._unsubscribe(topic)

    def _on_message(self, topic: str, type_name: str, data: bytes, info: dict[str, int]) -> None:
        recording = self._recording
        if recording is None:
            return
        if not recording.knows(topic):
            offers = [
                stored_qos(publisher.qos_profile)
                for publisher in self.get_publishers_info_by_topic(topic)
            ]
            recording.add_topic(topic, type_name, offers)
        recording.write(
            topic,
            self.get_clock().now().nanoseconds,
            data,
            sent=info.get('source_timestamp') or None,
        )

    def _report_drops(self, recording: Recording) -> None:
        dropped = recording.dropped
        lost = sum(dropped.values())
        if recording.error is not None:
            self.get_logger().error(str(recording.error), throttle_duration_sec=10.0)
        elif lost > self._reported_drops:
            self.get_logger().warning(
                f'the disk does not keep up: {lost} messages dropped so far ({_listed(dropped)})',
                throttle_duration_sec=5.0,
            )
            self._reported_drops = lost


def _listed(counts: Any) -> str:
    return ', '.join(f'{name} {count}' for name, count in sorted(counts.items())) or 'none'


def _fill_error(response: Any, error: RpentError) -> None:
    response.error_code = int(error.code)
    response.error_msg = str(error)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the recorder until SIGINT or SIGTERM; an open bag is closed and verified then."""
    return run_node('recorder', RecorderNode, argv)


if __name__ == '__main__':
    sys.exit(main())
