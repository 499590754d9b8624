"""The vla node in this process, beside a stand-in for the driver."""

from __future__ import annotations

import dataclasses
import threading
import time
import uuid
from collections.abc import Iterator

import numpy as np
import pytest

from rpent_ros.contracts.motion import ActionChunk, Inference
from rpent_ros.driver import DriverCore
from rpent_ros.errors import (
    BadInstruction,
    Busy,
    ContractMismatch,
    InferenceFailed,
    ModelNotLoaded,
    NoPrivilegedScene,
)
from rpent_ros.policies.oracle.policy import OraclePolicy

rclpy = pytest.importorskip('rclpy')
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from robots.fake.env_server import FakeRobot  # noqa: E402
from rpent_msgs.msg import Scene as SceneMsg  # noqa: E402
from rpent_msgs.srv import DescribeDriver  # noqa: E402
from rpent_ros.nodes import convert  # noqa: E402
from rpent_ros.nodes.driver_topics import LATCHED_QOS  # noqa: E402
from rpent_ros.nodes.node import Node  # noqa: E402
from rpent_ros.nodes.process import Shutdown  # noqa: E402
from rpent_ros.nodes.vla import VlaNode  # noqa: E402
from rpent_ros.nodes.vla_client import RosVlaClient  # noqa: E402

pytestmark = pytest.mark.ros


class StandIn(Node):
    """Answers describe and publishes scenes as a driver does."""

    def __init__(self, core: DriverCore, **kwargs) -> None:
        super().__init__('driver', **kwargs)
        self.core = core
        self.spec = core.spec
        self.described = 0
        self.create_service(DescribeDriver, 'driver/describe', self._describe)
        self._scenes = self.create_publisher(SceneMsg, 'privileged/scene', LATCHED_QOS)

    def _describe(self, request, response):
        self.described += 1
        response.spec = convert.driver_spec_to_msg(self.spec)
        return response

    def publish_scene(self) -> None:
        """Publish the scene of the present step."""
        self._scenes.publish(convert.scene_to_msg(self.core.scene()))


class Graph:
    """A vla node, the stand-in and a client, each spun as in a process of its own."""

    def __init__(self, policy, *, spec_change=None, scene_timeout: float = 0.3) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        options = {'context': self.context, 'namespace': f'vla_{uuid.uuid4().hex[:8]}'}
        core = DriverCore(FakeRobot(image_size=32), privileged=True)
        core.reset(suite='fake_pick', task=0, seed=0)
        self.driver = StandIn(core, **options)
        if spec_change:
            self.driver.spec = spec_change(core.spec)
        self.vla = VlaNode(
            policy,
            parameter_overrides=[
                Parameter('scene_timeout', value=scene_timeout),
                Parameter('wait_s', value=5.0),
            ],
            **options,
        )
        self.user = Node('user', **options)
        self.client = RosVlaClient(self.user)
        self._executors = []
        for node in (self.driver, self.vla, self.user):
            executor = SingleThreadedExecutor(context=self.context)
            executor.add_node(node)
            self._executors.append(executor)
            threading.Thread(target=executor.spin, daemon=True).start()
        self._shutdown = Shutdown()
        self.worker = threading.Thread(
            target=self.vla.main_loop, args=[self._shutdown], daemon=True
        )
        self.worker.start()

    def close(self) -> None:
        """End all threads, then the nodes."""
        self._shutdown.request()
        self.worker.join(5.0)
        for executor in self._executors:
            executor.shutdown(timeout_sec=2.0)
        for node in (self.user, self.vla, self.driver):
            node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def graph() -> Iterator:
    made = []

    def make(policy=None, **kwargs) -> Graph:
        made.append(Graph(policy or OraclePolicy(), **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.close()


class Odd(OraclePolicy):
    """Returns what it is told to."""

    def __init__(self, answer) -> None:
        super().__init__()
        self.answer = answer

    def infer(self, observation, instruction, session):
        return Inference(self.answer())


def test_infers_with_the_scene_of_the_observation(graph) -> None:
    g = graph()
    spec = g.client.describe()
    assert (spec.name, spec.privileged) == ('oracle', True)
    core = g.driver.core
    for _ in range(3):
        g.driver.publish_scene()
        inference = g.client.infer(core.observe(), core.observe().instruction, session='a')
        assert inference.privileged
        assert inference.infer_ms > 0
        core.execute_chunk(inference.chunk)
    g.client.reset('a')


def test_a_missing_scene_names_the_cure(graph) -> None:
    g = graph()
    with pytest.raises(NoPrivilegedScene) as caught:
        g.client.infer(g.driver.core.observe(), 'pick up the red cube')
    assert str(caught.value) == (
        'expected the privileged scene of episode 1 step 0 within 0.3 s, got none; start the '
        "driver 'driver' with privileged:=true"
    )


def test_a_mismatch_refuses_every_inference(graph) -> None:
    g = graph(spec_change=lambda spec: dataclasses.replace(spec, privileged=False))
    g.driver.publish_scene()
    for _ in range(2):
        with pytest.raises(ContractMismatch, match='does not fit robot fake: privileged scene'):
            g.client.infer(g.driver.core.observe(), 'pick up the red cube')


def test_a_driver_that_was_replaced_is_compared_again(graph) -> None:
    g = graph(spec_change=lambda spec: dataclasses.replace(spec, privileged=False))
    g.driver.publish_scene()
    observation = g.driver.core.observe()
    with pytest.raises(ContractMismatch):
        g.client.infer(observation, 'pick up the red cube')
    g.driver.spec = g.driver.core.spec
    assert g.client.infer(observation, 'pick up the red cube').privileged
    # A driver that fits no longer is noticed where something new begins.
    slow = dataclasses.replace(g.driver.spec.action, rate=5.0, names=tuple('abcdefg'))
    g.driver.spec = dataclasses.replace(g.driver.spec, action=slow)
    g.client.reset('a')
    with pytest.raises(ContractMismatch) as caught:
        g.client.infer(observation, 'pick up the red cube', session='a')
    assert str(caught.value) == (
        'oracle: expected a robot with actions x y z roll pitch yaw gripper, got a b c d e f g'
    )


def test_compares_before_anybody_asks(graph) -> None:
    g = graph()
    deadline = time.monotonic() + 10.0
    while not g.driver.described:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_old_observation_is_refused(graph) -> None:
    g = graph()
    core = g.driver.core
    old = core.observe()
    core.step(np.zeros(7))
    g.driver.publish_scene()
    with pytest.raises(NoPrivilegedScene) as caught:
        g.client.infer(old, 'pick up the red cube')
    assert str(caught.value) == (
        'expected the privileged scene of episode 1 step 0 within 0.3 s, got episode 1 step 1; '
        'infer from an observation of the present state'
    )


def test_errors_of_the_policy_keep_their_code(graph) -> None:
    g = graph()
    g.driver.publish_scene()
    with pytest.raises(BadInstruction, match="'the teapot' could be nothing here"):
        g.client.infer(g.driver.core.observe(), 'pick up the teapot')


@pytest.mark.parametrize(
    ('answer', 'message'),
    [
        (lambda: ActionChunk(np.zeros((2, 6))), 'expected up to 5 rows of 7 values, got 2 of 6'),
        (lambda: ActionChunk(np.zeros((9, 7))), 'expected up to 5 rows of 7 values, got 9 of 7'),
        (lambda: ActionChunk(np.full((1, 7), 3.0)), 'expected x from -1 to 1, got 3 in row 0'),
        (
            lambda: ActionChunk(np.full((1, 2), np.nan)),
            'policy oracle: action chunk: expected finite numbers, got [[nan, nan]]',
        ),
        (
            lambda: ActionChunk(np.zeros(7)),
            'policy oracle: action chunk: expected shape (any, any), got (7,)',
        ),
        (lambda: 1 / 0, "infer: ZeroDivisionError: division by zero; see the vla node's log"),
    ],
)
def test_unusable_answers_are_refused(graph, answer, message: str) -> None:
    g = graph(Odd(answer))
    with pytest.raises(InferenceFailed) as caught:
        g.client.infer(g.driver.core.observe(), 'pick up the red cube')
    assert message in str(caught.value)


class Missing(OraclePolicy):
    """Needs a library that is not there."""

    def load(self) -> None:
        raise ModuleNotFoundError("No module named 'weights'")


def test_a_policy_that_cannot_be_loaded_says_why() -> None:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = VlaNode(Missing(), context=context, namespace=f'vla_{uuid.uuid4().hex[:8]}')
    try:
        with pytest.raises(ModelNotLoaded) as caught:
            node.load()
    finally:
        node.destroy_node()
        context.try_shutdown()
    assert str(caught.value) == (
        "policy oracle cannot be loaded (ModuleNotFoundError: No module named 'weights'); install "
        'or download what is missing, or choose another policy'
    )


def test_busy_while_inferring_and_describe_stays_live(graph) -> None:
    release = threading.Event()

    def slow() -> ActionChunk:
        release.wait(10.0)
        return ActionChunk(np.zeros((1, 7)))

    g = graph(Odd(slow))
    g.client.describe()
    first = threading.Thread(
        target=lambda: g.client.infer(g.driver.core.observe(), 'pick up the red cube')
    )
    first.start()
    time.sleep(0.3)
    started = time.monotonic()
    assert g.client.describe().name == 'oracle'
    assert time.monotonic() - started < 2.0
    with pytest.raises(Busy, match='the policy is busy with an earlier request'):
        g.client.infer(g.driver.core.observe(), 'pick up the red cube')
    release.set()
    first.join(5.0)
    assert not first.is_alive()
