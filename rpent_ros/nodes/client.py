"""The one way to call a service or an action: with a deadline, and noticing when the server dies.

Nothing here spins: the node must be spun by an executor on another thread, and no method may be
called from that thread.  ROS reports nothing when a server disappears in the middle of a call, so
the graph is watched while waiting; `fastdds.xml` makes it forget dead processes in two seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from rpent_ros.errors import Busy, DeadlineExceeded, PeerDied, Unavailable, from_code

# How long a caller waits for a server to appear [s].
DEFAULT_WAIT_S = 5.0
# How often the graph is asked whether the server is still there [s].
_WATCH_PERIOD_S = 0.2
# How often `should_stop` is asked, and a server is looked for [s].
_POLL_PERIOD_S = 0.02


class ServiceCaller:
    """Calls one service.  Safe to use from several threads.

    Args:
      node: spun by an executor on another thread.
      srv_type: service type.
      name: service name, relative to the node's namespace or absolute.
      wait_s: how long to wait for a server to appear [s].
      callback_group: must not be one whose callbacks wait for this caller.
    """

    def __init__(
        self,
        node: Node,
        srv_type: Any,
        name: str,
        *,
        wait_s: float = DEFAULT_WAIT_S,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self._client = node.create_client(srv_type, name, callback_group=callback_group)
        full_name = self._client.service_name
        self._peer = _Peer(node, full_name, full_name, self._client.service_is_ready, wait_s)

    @property
    def name(self) -> str:
        """Fully qualified service name."""
        return self._peer.name

    def is_ready(self) -> bool:
        """True if a server is there now."""
        return self._peer.is_ready()

    def call(self, request: Any, *, timeout_s: float) -> Any:
        """Send a request and return the response.

        Args:
          request: a request of this service's type.
          timeout_s: how long to wait for the answer once the request is sent [s].

        Raises:
          Unavailable: no server appeared.
          DeadlineExceeded: no answer came in time.
          PeerDied: the server disappeared meanwhile.
          RpentError: the response carries an error code; the class is the one of that code.
        """
        self._peer.wait()
        watch = self._peer.watch()
        done = threading.Event()
        future = self._client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        try:
            watch.until(done, time.monotonic() + timeout_s, timeout_s)
        finally:
            self._client.remove_pending_request(future)
        response = future.result()
        code = getattr(response, 'error_code', 0)
        if code:
            raise from_code(code, response.error_msg)
        return response


class ActionCaller:
    """Runs goals of one action.  Safe to use from several threads.  Arguments as ServiceCaller."""

    def __init__(
        self,
        node: Node,
        action_type: Any,
        name: str,
        *,
        wait_s: float = DEFAULT_WAIT_S,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self._client = _OrderedActionClient(node, action_type, name, callback_group=callback_group)
        full_name = node.resolve_service_name(name)
        self._peer = _Peer(
            node,
            full_name,
            f'{full_name}/_action/get_result',
            self._client.server_is_ready,
            wait_s,
        )

    @property
    def name(self) -> str:
        """Fully qualified action name."""
        return self._peer.name

    def is_ready(self) -> bool:
        """True if a server is there now."""
        return self._peer.is_ready()

    def run(
        self,
        goal: Any,
        *,
        timeout_s: float,
        should_stop: Callable[[], bool] | None = None,
        on_feedback: Callable[[Any], None] | None = None,
        cancel_timeout_s: float = 5.0,
    ) -> Any:
        """Send a goal and return its result, whatever error code it carries.

        Args:
          goal: a goal of this action's type.
          timeout_s: how long to wait for the result [s]; then the goal is cancelled.
          should_stop: asked every 20 ms; once true, the goal is cancelled and its result awaited.
          on_feedback: called with each feedback on the executor's thread.
          cancel_timeout_s: how long to wait for the result of a cancelled goal [s].

        Raises:
          Unavailable: no server appeared.
          Busy: the server rejected the goal.
          DeadlineExceeded: no result came in time.
          PeerDied: the server disappeared meanwhile.
        """
        self._peer.wait()
        run = _GoalRun(self._client, self._peer.watch(), goal, on_feedback)
        try:
            run.wait(timeout_s, should_stop, cancel_timeout_s)
        finally:
            run.forget()
        return run.result()


class _Peer:
    """Whoever serves one name."""

    def __init__(
        self, node: Node, name: str, service: str, ready: Callable[[], bool], wait_s: float
    ) -> None:
        self._node = node
        self.name = name
        self._service = service
        self.is_ready = ready
        self._wait_s = wait_s

    def count(self) -> int:
        """Number of servers in the graph."""
        return int(self._node.count_services(self._service))

    def wait(self) -> None:
        """Return once a server is there."""
        deadline = time.monotonic() + self._wait_s
        while not self.is_ready():
            self.check_context()
            if time.monotonic() > deadline:
                raise Unavailable(
                    f'{self.name}: no server after {self._wait_s:g} s; is its node running, with '
                    'the same ROS_DOMAIN_ID?'
                )
            time.sleep(_POLL_PERIOD_S)

    def check_context(self) -> None:
        """Refuse to wait in a process that is shutting down."""
        if not self._node.context.ok():
            raise Unavailable(f'{self.name}: this process is shutting down')

    def watch(self) -> _Watch:
        """Start to watch the servers that are there now."""
        return _Watch(self)


class _Watch:
    """Notices that a server went away since the watch began, also if another one replaced it."""

    def __init__(self, peer: _Peer) -> None:
        self._peer = peer
        self._servers = peer.count()

    @property
    def name(self) -> str:
        return self._peer.name

    def until(
        self,
        done: threading.Event,
        deadline: float,
        timeout_s: float,
        should_stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Wait for `done`; False if `should_stop` turned true first.

        Raises:
          DeadlineExceeded, PeerDied, Unavailable: see ServiceCaller.call.
        """
        look = time.monotonic() + _WATCH_PERIOD_S
        while True:
            now = time.monotonic()
            period = _POLL_PERIOD_S if should_stop else look - now
            if done.wait(max(0.0, min(period, deadline - now))):
                return True
            now = time.monotonic()
            if now >= deadline:
                raise DeadlineExceeded(
                    f'{self.name} gave no answer in {timeout_s:g} s; see the log of its node'
                )
            if should_stop and should_stop():
                return False
            if now >= look:
                self._check()
                look = now + _WATCH_PERIOD_S

    def _check(self) -> None:
        self._peer.check_context()
        servers = self._peer.count()
        if servers < self._servers or not self._peer.is_ready():
            raise PeerDied(
                f'{self.name}: the server disappeared while a call was in flight; '
                'see the log of its node'
            )
        self._servers = servers


class _OrderedActionClient(ActionClient):
    """Keeps a fast answer from overtaking the bookkeeping of the request that it answers.

    The base class notes a request after sending it; an executor on another thread can receive the
    answer in between and would drop it as unexpected.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sending = threading.Lock()
        super().__init__(*args, **kwargs)

    def send_goal_async(self, *args: Any, **kwargs: Any) -> Future:
        with self._sending:
            return super().send_goal_async(*args, **kwargs)

    def _cancel_goal_async(self, goal_handle: ClientGoalHandle) -> Future:
        with self._sending:
            return super()._cancel_goal_async(goal_handle)

    async def execute(self, taken_data: Any) -> None:
        with self._sending:
            pass
        await super().execute(taken_data)


class _GoalRun:
    """One goal from sending to result."""

    def __init__(
        self,
        client: ActionClient,
        watch: _Watch,
        goal: Any,
        on_feedback: Callable[[Any], None] | None,
    ) -> None:
        self._watch = watch
        self._done = threading.Event()
        self._answered = threading.Event()
        self._handle: ClientGoalHandle | None = None
        self._result_future: Future | None = None
        self._on_feedback = on_feedback
        callback = self._take_feedback if on_feedback else None
        self._goal_future = client.send_goal_async(goal, feedback_callback=callback)
        self._goal_future.add_done_callback(self._goal_answered)

    def _take_feedback(self, message: Any) -> None:
        if self._on_feedback is not None:
            self._on_feedback(message.feedback)

    def _goal_answered(self, future: Future) -> None:
        # Runs on the executor's thread: asking for the result here saves the caller a thread hop.
        self._handle = future.result()
        if self._handle is not None and self._handle.accepted:
            self._result_future = self._handle.get_result_async()
            self._result_future.add_done_callback(lambda _: self._done.set())
        else:
            self._done.set()
        self._answered.set()

    def wait(
        self, timeout_s: float, should_stop: Callable[[], bool] | None, cancel_timeout_s: float
    ) -> None:
        """Return when the result is there, after cancelling the goal if told to."""
        deadline = time.monotonic() + timeout_s
        try:
            if self._watch.until(self._done, deadline, timeout_s, should_stop):
                return
        except DeadlineExceeded:
            self._cancel(cancel_timeout_s)
            raise
        self._cancel(cancel_timeout_s)
        if not self._done.is_set():
            raise DeadlineExceeded(
                f'{self._watch.name}: cancelled, but no result in {cancel_timeout_s:g} s; the '
                'robot may still move: call driver/stop, and see the log of its node'
            )

    def _cancel(self, timeout_s: float) -> None:
        """Cancel the goal and wait for its result, at most `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        try:
            self._watch.until(self._answered, deadline, timeout_s)
            if self._handle is not None and self._handle.accepted:
                self._handle.cancel_goal_async()
            self._watch.until(self._done, deadline, timeout_s)
        except DeadlineExceeded:
            return

    def forget(self) -> None:
        """Drop the callbacks, so that a late answer reaches nobody."""
        self._on_feedback = None
        for future in (self._goal_future, self._result_future):
            if future is not None and not future.done():
                future.cancel()

    def result(self) -> Any:
        """The goal's result.

        Raises:
          Busy: the goal was rejected.
          PeerDied: the server does not know the goal any more.
        """
        if self._result_future is None:
            raise Busy(f'{self._watch.name} rejected the goal; is another one running?')
        answer = self._result_future.result()
        if answer.status == GoalStatus.STATUS_UNKNOWN:
            raise PeerDied(f'{self._watch.name}: the server forgot the goal; was it restarted?')
        return answer.result
