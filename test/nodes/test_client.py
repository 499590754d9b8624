"""Calls that get no answer: what the caller is told, and how soon."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from rpent_ros.errors import DeadlineExceeded, PeerDied, Unavailable

rclpy = pytest.importorskip('rclpy')
from std_srvs.srv import Trigger  # noqa: E402

from rpent_ros.nodes.client import ServiceCaller  # noqa: E402
from rpent_ros.nodes.node import Node  # noqa: E402
from rpent_ros.nodes.process import SpinThread  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture
def nodes() -> Iterator:
    """A client and a server whose service answers once `release` is set."""
    context = rclpy.Context()
    rclpy.init(context=context)
    namespace = f'client_{uuid.uuid4().hex[:8]}'
    client, server = (Node(n, context=context, namespace=namespace) for n in ('user', 'server'))
    release = threading.Event()
    # The server's survives what happens to a callback whose service is gone.
    with SpinThread(client), SpinThread(server):
        yield client, server, release
        release.set()
    for node in (client, server):
        node.destroy_node()
    context.try_shutdown()


def serve(server: Node, release: threading.Event) -> None:
    def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        release.wait(20.0)
        return response

    server.create_service(Trigger, 'stuck', answer)


def test_a_server_that_never_answers(nodes: tuple) -> None:
    client, server, release = nodes
    serve(server, release)
    caller = ServiceCaller(client, Trigger, 'stuck')
    with pytest.raises(DeadlineExceeded) as caught:
        caller.call(Trigger.Request(), timeout_s=0.5)
    assert str(caught.value) == (
        f'{client.get_namespace()}/stuck gave no answer in 0.5 s; see the log of its node'
    )


def test_a_server_that_is_not_there(nodes: tuple) -> None:
    client, _, _ = nodes
    caller = ServiceCaller(client, Trigger, 'stuck', wait_s=0.2)
    with pytest.raises(Unavailable) as caught:
        caller.call(Trigger.Request(), timeout_s=5.0)
    assert str(caught.value) == (
        f'{client.get_namespace()}/stuck: no server after 0.2 s; is its node running, with the '
        'same ROS_DOMAIN_ID?'
    )


def test_a_server_that_goes_away_meanwhile(nodes: tuple) -> None:
    client, server, release = nodes
    service = server.create_service(
        Trigger, 'stuck', lambda request, response: release.wait(2.0) and response
    )
    caller = ServiceCaller(client, Trigger, 'stuck')
    threading.Timer(0.5, lambda: server.destroy_service(service)).start()
    with pytest.raises(PeerDied) as caught:
        caller.call(Trigger.Request(), timeout_s=20.0)
    assert str(caught.value) == (
        f'{client.get_namespace()}/stuck: the server disappeared while a call was in flight; see '
        'the log of its node'
    )
