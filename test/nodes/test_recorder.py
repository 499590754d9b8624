"""The recorder node on topics of a test: what is recorded, with which QoS, and refusals."""

import pathlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

rclpy = pytest.importorskip('rclpy')

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import CameraInfo, Image, JointState  # noqa: E402

from rpent_msgs.msg import AgentEvent, DriverState  # noqa: E402
from rpent_ros.bag import verify  # noqa: E402
from rpent_ros.errors import BagFailed, Busy, InvalidRequest, NotRecording  # noqa: E402
from rpent_ros.nodes.recorder import RecorderNode  # noqa: E402
from rpent_ros.nodes.recorder_topics import DEFAULT_TOPICS, TopicChoice  # noqa: E402

pytestmark = pytest.mark.ros

NAMESPACE = '/recorder_test'
CONFIG = pathlib.Path(__file__).resolve().parents[2] / 'config' / 'recorder.yaml'


class Setup:
    """A recorder and a node that publishes, spun on a thread."""

    def __init__(self, **parameters: Any) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.recorder = RecorderNode(
            namespace=NAMESPACE,
            context=self.context,
            parameter_overrides=[Parameter(name, value=v) for name, v in parameters.items()],
        )
        self.publisher = rclpy.create_node(
            'publisher', namespace=NAMESPACE, context=self.context
        )
        self._executor = SingleThreadedExecutor(context=self.context)
        for node in (self.recorder, self.publisher):
            self._executor.add_node(node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that happens on the graph."""
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def close(self) -> None:
        """End both nodes."""
        self._executor.shutdown()
        self._thread.join(5)
        self.publisher.destroy_node()
        self.recorder.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def make() -> Iterator[Callable[..., Setup]]:
    """Makes setups and closes them after the test."""
    made: list[Setup] = []

    def factory(**parameters: Any) -> Setup:
        made.append(Setup(**parameters))
        return made[-1]

    yield factory
    for setup in made:
        setup.close()


def test_first_message_is_recorded_with_the_publishers_qos(
    make: Callable[..., Setup], tmp_path: pathlib.Path
) -> None:
    setup = make()
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    publisher = setup.publisher.create_publisher(JointState, 'joint_states', 7)
    setup.until(lambda: publisher.get_subscription_count() > 0)
    for i in range(5):
        publisher.publish(JointState(name=['j'], position=[float(i)]))
    assert publisher.wait_for_all_acked()
    time.sleep(0.3)
    summary = setup.recorder.stop()
    topic = f'{NAMESPACE}/joint_states'
    assert summary.counts == {topic: 5}
    assert summary.types == {topic: 'sensor_msgs/msg/JointState'}
    assert summary.custom == {'run_id': 'r1', 'dropped': '0'}
    metadata = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    [entry] = metadata['rosbag2_bagfile_information']['topics_with_message_count']
    [qos] = entry['topic_metadata']['offered_qos_profiles']
    assert (qos['reliability'], qos['durability']) == ('reliable', 'volatile')
    assert entry['topic_metadata']['type_description_hash'].startswith('RIHS01_')


def test_latched_message_from_before_the_start(
    make: Callable[..., Setup], tmp_path: pathlib.Path
) -> None:
    setup = make()
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = setup.publisher.create_publisher(DriverState, 'driver/state', latched)
    publisher.publish(DriverState(episode=3))
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    setup.until(lambda: publisher.get_subscription_count() > 0)
    time.sleep(0.3)
    assert setup.recorder.stop().counts == {f'{NAMESPACE}/driver/state': 1}


def test_bag_holds_nothing_of_the_run_before(
    make: Callable[..., Setup], tmp_path: pathlib.Path
) -> None:
    """The agent's events are latched for people who come late, not for the next bag."""
    setup = make()
    latched = QoSProfile(depth=9, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = setup.publisher.create_publisher(AgentEvent, 'agent/events', latched)
    publisher.publish(AgentEvent(run_id='r0'))
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    setup.until(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(AgentEvent(run_id='r1'))
    time.sleep(0.3)
    assert setup.recorder.stop().counts == {f'{NAMESPACE}/agent/events': 1}


def test_best_effort_publisher_is_followed(
    make: Callable[..., Setup], tmp_path: pathlib.Path
) -> None:
    setup = make()
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    qos = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = setup.publisher.create_publisher(JointState, 'joint_states', qos)
    # The recorder listened as to a reliable publisher; it notices and asks for less.
    setup.until(lambda: publisher.get_subscription_count() > 0)
    for _ in range(20):
        publisher.publish(JointState())
        time.sleep(0.02)
    assert setup.recorder.stop().counts[f'{NAMESPACE}/joint_states'] > 0


def test_cameras_are_sampled_and_not_listened_to_in_between(
    make: Callable[..., Setup], tmp_path: pathlib.Path
) -> None:
    setup = make(camera_period=1.0)
    images = setup.publisher.create_publisher(Image, 'agentview/image_raw', 1)
    infos = setup.publisher.create_publisher(CameraInfo, 'agentview/camera_info', 1)
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    sent, listened, end = 0, 0, time.monotonic() + 3.5
    while time.monotonic() < end:
        sent += 1
        listened += images.get_subscription_count() > 0
        images.publish(Image(height=1, width=1, step=3, encoding='rgb8', data=b'abc'))
        infos.publish(CameraInfo(height=1, width=1))
        time.sleep(0.02)
    summary = setup.recorder.stop()
    counts = summary.counts
    assert 2 <= counts[f'{NAMESPACE}/agentview/image_raw'] <= 4
    assert 2 <= counts[f'{NAMESPACE}/agentview/camera_info'] <= 4
    assert listened < sent / 2


@pytest.mark.parametrize('wanted', [False, True])
def test_depth_is_recorded_if_wanted(
    make: Callable[..., Setup], tmp_path: pathlib.Path, wanted: bool
) -> None:
    setup = make(camera_period=1.0, camera_depth=wanted)
    colours = setup.publisher.create_publisher(Image, 'wrist/image_raw', 1)
    depths = setup.publisher.create_publisher(Image, 'wrist/depth', 1)
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        colours.publish(Image(height=1, width=1, step=3, encoding='rgb8', data=b'abc'))
        depths.publish(Image(height=1, width=1, step=4, encoding='32FC1', data=b'abcd'))
        time.sleep(0.02)
    counts = setup.recorder.stop().counts
    assert counts[f'{NAMESPACE}/wrist/image_raw'] >= 1
    assert (f'{NAMESPACE}/wrist/depth' in counts) is wanted


def test_no_cameras(make: Callable[..., Setup], tmp_path: pathlib.Path) -> None:
    setup = make(camera_period=0.0)
    images = setup.publisher.create_publisher(Image, 'agentview/image_raw', 1)
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    time.sleep(1.0)
    assert images.get_subscription_count() == 0
    assert setup.recorder.stop().messages == 0


def test_open_bag_is_closed_with_the_node(
    make: Callable[..., Setup], tmp_path: pathlib.Path
) -> None:
    setup = make()
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    setup.close()
    assert verify(tmp_path / 'bag').custom['run_id'] == 'r1'


def test_refusals(make: Callable[..., Setup], tmp_path: pathlib.Path) -> None:
    setup = make()
    with pytest.raises(
        NotRecording,
        match=rf'^{NAMESPACE}/recorder: expected an open bag, found none; call recorder/start '
        r'first$',
    ):
        setup.recorder.stop()
    setup.recorder.start(str(tmp_path / 'bag'), 'r1')
    with pytest.raises(
        Busy,
        match=rf'^{NAMESPACE}/recorder: expected no open bag, but {tmp_path}/bag is being '
        r'recorded; call recorder/stop first$',
    ):
        setup.recorder.start(str(tmp_path / 'other'), 'r2')
    setup.recorder.stop()
    with pytest.raises(BagFailed, match=r'bag: expected a new folder, but it exists'):
        setup.recorder.start(str(tmp_path / 'bag'), 'r3')


@pytest.mark.parametrize('entry', ['', 'a b c d', 'a b lached'])
def test_wrong_topic_entries(entry: str) -> None:
    with pytest.raises(InvalidRequest, match=r'^recorder topics: expected '):
        TopicChoice.parse(entry)


def test_config_file_holds_the_defaults() -> None:
    section = yaml.safe_load(CONFIG.read_text())['/**/recorder']['ros__parameters']
    assert tuple(section['topics']) == DEFAULT_TOPICS
    assert {key: section[key] for key in section if key != 'topics'} == {
        'camera_period': 2.0,
        'camera_depth': False,
        'queue_megabytes': 128,
        'flush_period': 0.5,
    }
