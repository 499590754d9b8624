"""A node that is destroyed leaves the graph, with everything that it has made."""

import gc
import time
import uuid

import pytest

pytestmark = pytest.mark.ros
rclpy = pytest.importorskip('rclpy')

from rclpy.action import ActionClient, ActionServer  # noqa: E402

from rpent_msgs.action import ExecuteChunk  # noqa: E402
from rpent_ros.nodes.node import Node  # noqa: E402


@pytest.fixture
def contexts():
    """Two participants, as of two processes."""
    made = [rclpy.Context(), rclpy.Context()]
    for context in made:
        rclpy.init(context=context)
    yield made
    for context in made:
        rclpy.try_shutdown(context=context)


def test_actions_do_not_keep_a_destroyed_node_in_the_graph(contexts):
    namespace = f'/node_{uuid.uuid4().hex[:8]}'
    left, watcher = (Node(n, context=c, namespace=namespace)
                     for n, c in zip(('left', 'watcher'), contexts, strict=True))  # fmt: skip
    server = ActionServer(left, ExecuteChunk, 'chunk', lambda handle: None)
    client = ActionClient(left, ExecuteChunk, 'other')

    def seen(wanted, seconds):
        deadline = time.monotonic() + seconds
        while (f'{namespace}/left' in watcher.get_fully_qualified_node_names()) != wanted:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    assert seen(True, 10.0)
    gc.disable()
    try:
        left.destroy_node()
        # Far less than the lease, after which a dead participant is forgotten.
        assert seen(False, 1.0)
        assert watcher.count_services(f'{namespace}/chunk/_action/send_goal') == 0
    finally:
        gc.enable()
        watcher.destroy_node()
    assert server is not None
    assert client is not None
