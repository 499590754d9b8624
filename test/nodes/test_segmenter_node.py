"""The segmenter node in this process, asked over ROS."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import numpy as np
import pytest

from rpent_ros.contracts.segmentation import Instance, SegmenterSpec, SegmentRequest
from rpent_ros.driver import DriverCore
from rpent_ros.errors import Busy, InvalidRequest, ModelNotLoaded, SegmentationFailed

rclpy = pytest.importorskip('rclpy')
from rclpy.executors import SingleThreadedExecutor  # noqa: E402

from robots.fake.env_server import FakeRobot  # noqa: E402
from rpent_ros.nodes.segmenter import SegmenterNode  # noqa: E402
from rpent_ros.nodes.segmenter_client import RosSegmenterClient  # noqa: E402

pytestmark = pytest.mark.ros


class Slow:
    """Finds the left half of every image, when it is let."""

    spec = SegmenterSpec('slow', supports_text=True, supports_point=False, privileged=True)

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.began = threading.Event()
        self.failure: Exception | None = None

    def load(self) -> None:
        if self.failure is not None:
            raise self.failure

    def segment(self, request: SegmentRequest) -> tuple[Instance, ...]:
        self.began.set()
        assert self.go.wait(10.0)
        if self.failure is not None:
            raise self.failure
        mask = np.zeros(request.frame.rgb.shape[:2], bool)
        mask[:, : mask.shape[1] // 2] = True
        return (Instance(mask, label=request.text, score=0.5),)


class Bench:
    """Node and client, each with an executor of its own."""

    def __init__(self, segmenter: Slow | None) -> None:
        namespace = f'/t{uuid.uuid4().hex[:8]}'
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = SegmenterNode(segmenter, context=self.context, namespace=namespace)
        self.ours = rclpy.create_node('asker', context=self.context, namespace=namespace)
        self._ended = threading.Event()
        self._executors = []
        for node in (self.node, self.ours):
            executor = SingleThreadedExecutor(context=self.context)
            executor.add_node(node)
            threading.Thread(target=executor.spin, daemon=True).start()
            self._executors.append(executor)
        self._worker = threading.Thread(target=self._run)
        self._worker.start()
        self.client = RosSegmenterClient(self.ours, wait_s=5.0)

    def _run(self) -> None:
        self.node.load()
        self.node.main.run(should_stop=self._ended.is_set, period_s=0.05)

    def close(self) -> None:
        self._ended.set()
        self._worker.join()
        for executor in self._executors:
            executor.shutdown()
        self.node.destroy_node()
        self.ours.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def bench(slow: Slow) -> Iterator[Bench]:
    bench = Bench(slow)
    yield bench
    slow.go.set()
    bench.close()


@pytest.fixture(scope='module')
def frame():
    core = DriverCore(FakeRobot(image_size=64))
    core.reset(seed=1)
    return core.render('agentview', depth=True)


def test_what_it_can_do_and_what_it_finds(bench, frame):
    assert bench.client.describe() == Slow.spec
    answer = bench.client.segment(SegmentRequest(frame, text='left', min_score=0.25))
    assert answer.privileged
    assert answer.infer_ms > 0
    (found,) = answer.instances
    assert (found.label, found.score) == ('left', 0.5)
    assert found.mask[:, :32].all()
    assert not found.mask[:, 32:].any()


def test_busy_while_segmenting_and_describe_stays_live(bench, slow, frame):
    slow.go.clear()
    answers = []
    request = SegmentRequest(frame, text='first')
    first = threading.Thread(target=lambda: answers.append(bench.client.segment(request)))
    first.start()
    assert slow.began.wait(5.0)
    assert bench.client.describe().name == 'slow'
    with pytest.raises(Busy) as error:
        bench.client.segment(SegmentRequest(frame, text='second'))
    assert str(error.value) == (
        'segment: the segmenter is busy with an earlier request; wait for its end'
    )
    slow.go.set()
    first.join()
    assert answers[0].instances[0].label == 'first'


def test_a_segmenter_that_crashes_answers_with_a_sentence(bench, slow, frame):
    slow.failure = RuntimeError('out of memory')
    with pytest.raises(SegmentationFailed) as error:
        bench.client.segment(SegmentRequest(frame, text='x'))
    assert str(error.value) == (
        "segment: RuntimeError: out of memory; see the segmenter node's log"
    )
    slow.failure = InvalidRequest('segment: no such thing')
    with pytest.raises(InvalidRequest, match='segment: no such thing'):
        bench.client.segment(SegmentRequest(frame, text='x'))


def test_one_that_cannot_be_loaded_says_why(slow):
    slow.failure = OSError('no weights')
    context = rclpy.Context()
    rclpy.init(context=context)
    node = SegmenterNode(slow, context=context, namespace=f'/t{uuid.uuid4().hex[:8]}')
    try:
        with pytest.raises(ModelNotLoaded) as error:
            node.load()
        assert str(error.value) == (
            'segmenter slow cannot be loaded (OSError: no weights); install or download what is '
            'missing, or choose another segmenter'
        )
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)
