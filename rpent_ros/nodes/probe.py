"""Measure ROS 2 on this machine between two processes; used by `rpent doctor`.

    python -m rpent_ros.nodes.probe        prints one JSON object

It starts a second process that serves, calls it, receives images from it, and ends it.
"""

from __future__ import annotations

import array
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from rpent_msgs.msg import StepRecord
from rpent_ros.errors import RpentError, Unavailable
from rpent_ros.nodes.client import ServiceCaller
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.process import SpinThread, prepare_environment, run_node

SIZE = 256
ROUNDS = 30
# Generous: the first start of a node on a slow disk.
START_S = 30.0
CALL_S = 5.0


class ProbeServer(Node):
    """Answers `ping` at once; `send_image` publishes one picture, then answers."""

    def __init__(self) -> None:
        super().__init__('server', start_parameter_services=False, enable_rosout=False)
        self._publisher = self.create_publisher(Image, 'image', 1)
        self.create_service(Trigger, 'ping', self._on_ping)
        self.create_service(Trigger, 'send_image', self._on_send_image)

    def _on_ping(self, request: Any, response: Any) -> Any:
        response.success = True
        return response

    def _on_send_image(self, request: Any, response: Any) -> Any:
        image = Image(height=SIZE, width=SIZE, encoding='rgb8', step=3 * SIZE)
        image.data = array.array('B', bytes(3 * SIZE * SIZE))
        # Both processes read the same clock, so the age at arrival is the time of the hop.
        image.header.stamp = self.get_clock().now().to_msg()
        self._publisher.publish(image)
        response.success = True
        return response


def measure(node: Node) -> dict[str, Any]:
    """Call the server that shares the node's namespace.

    Args:
        node: Spun by an executor on another thread.

    Returns:
        `service_ms` and `image_ms`, medians of one round trip and of one 256x256 RGB image hop;
        `discovery_ms`, from this node's start until the first answer.

    Raises:
        RpentError: No server, no answer or no image in time.
    """
    started = time.monotonic()
    arrived = threading.Event()
    ages_ms: list[float] = []

    def on_image(image: Any) -> None:
        stamp = image.header.stamp
        sent_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        ages_ms.append((node.get_clock().now().nanoseconds - sent_ns) / 1e6)
        arrived.set()

    node.create_subscription(Image, 'image', on_image, 1)
    ping = ServiceCaller(node, Trigger, 'ping', wait_s=START_S)
    send_image = ServiceCaller(node, Trigger, 'send_image', wait_s=START_S)
    ping.call(Trigger.Request(), timeout_s=CALL_S)
    discovery_ms = 1e3 * (time.monotonic() - started)
    trips_ms = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        ping.call(Trigger.Request(), timeout_s=CALL_S)
        trips_ms.append(1e3 * (time.perf_counter() - before))
    while node.count_publishers('image') == 0:
        if time.monotonic() > started + START_S:
            raise Unavailable(f'no publisher of {node.resolve_topic_name("image")} was found')
        time.sleep(0.05)
    for attempt in range(ROUNDS):
        arrived.clear()
        send_image.call(Trigger.Request(), timeout_s=CALL_S)
        # The first ones may be sent before the publisher knows its subscriber.
        if not arrived.wait(0.5 if not ages_ms else CALL_S) and ages_ms:
            raise Unavailable(f'image {attempt + 1} of {ROUNDS} did not arrive in {CALL_S:g} s')
    if not ages_ms:
        raise Unavailable(f'none of {ROUNDS} images arrived')
    return {
        'service_ms': round(statistics.median(trips_ms), 2),
        'image_ms': round(statistics.median(ages_ms), 2),
        'discovery_ms': round(discovery_ms, 1),
    }


def main() -> int:
    """Start the server, measure, print; 0 if all worked."""
    prepare_environment()
    namespace = f'/rpent_probe_{os.getpid()}'
    remap = ['--ros-args', '-r', f'__ns:={namespace}']
    server = subprocess.Popen(
        [sys.executable, '-m', 'rpent_ros.nodes.probe', 'serve', *remap],
        stdout=subprocess.DEVNULL,
        env={**os.environ, 'RPENT_PARENT_WATCH': '1'},
    )
    rclpy.init(args=['probe', *remap], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('client', start_parameter_services=False, enable_rosout=False)
    spin = SpinThread(node)
    try:
        result = measure(node)
        others = {
            f'{space.rstrip("/")}/{name}'
            for name, space in node.get_node_names_and_namespaces()
            if not space.startswith('/rpent_probe_')
        }
        result |= {
            'middleware': get_rmw_implementation_identifier(),
            'interfaces': StepRecord.__module__.split('.')[0],
            'other_nodes': sorted(others),
        }
        print(json.dumps(result))
        return 0
    except RpentError as error:
        print(error, file=sys.stderr)
        return 3
    finally:
        server.terminate()
        spin.stop()
        node.destroy_node()
        rclpy.try_shutdown()
        server.wait()


if __name__ == '__main__':
    if sys.argv[1:2] == ['serve']:
        sys.exit(run_node('server', ProbeServer, [sys.argv[0], *sys.argv[2:]]))
    sys.exit(main())
