"""The agent's side of the recorder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.node import Node

from rpent_msgs.srv import StartRecording, StopRecording
from rpent_ros.nodes.client import ServiceCaller

# Opening a bag, and closing one and reading it back [s].
_START_S = 10.0
_STOP_S = 60.0


class RosRecorder:
    """Implements `rpent_ros.agent.Recorder`.

    Args:
      node: spun by an executor on another thread.
      wait_s: how long to wait for the recorder to appear [s].
      before_stop: called before the bag is closed, to let the last messages arrive.
    """

    def __init__(
        self, node: Node, *, wait_s: float, before_stop: Callable[[], None] = lambda: None
    ) -> None:
        self._before_stop = before_stop
        self._start = ServiceCaller(node, StartRecording, 'recorder/start', wait_s=wait_s)
        # By then it has been there: if it is gone, it will not come back.
        self._stop = ServiceCaller(node, StopRecording, 'recorder/stop', wait_s=0.5)

    def start(self, run_id: str, path: str) -> None:
        """Open a new bag in the folder `path`; returns when it records."""
        request = StartRecording.Request(run_id=run_id, path=path)
        self._start.call(request, timeout_s=_START_S)

    def stop(self) -> Mapping[str, Any]:
        """Close the bag; returns its path and the number of messages read back from it."""
        self._before_stop()
        response = self._stop.call(StopRecording.Request(), timeout_s=_STOP_S)
        return {'path': response.path, 'messages': int(response.messages)}
