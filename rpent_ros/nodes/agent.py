"""AgentNode: runs tasks, serves the tools, tells what happens."""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_msgs.msg import String

from rpent_msgs.action import RunTask
from rpent_msgs.srv import CallTool, Interrupt, ListTools
from rpent_ros import commands, events
from rpent_ros.agent import run_task
from rpent_ros.cerebrums.base import Steering
from rpent_ros.errors import (
    Canceled,
    DeadlineExceeded,
    ErrorCode,
    RpentError,
    RunActive,
    ToolBusy,
    Unavailable,
)
from rpent_ros.manual import ManualTools
from rpent_ros.nodes.agent_messages import (
    FeedbackSink,
    RosSink,
    arguments,
    fill_tool_response,
    result_message,
)
from rpent_ros.nodes.agent_parameters import AgentParameters
from rpent_ros.nodes.env_client import env_client_of
from rpent_ros.nodes.main_thread import MainThread
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.parameters import declare
from rpent_ros.nodes.process import Shutdown, run_node
from rpent_ros.nodes.recorder_client import RosRecorder
from rpent_ros.nodes.segmenter_client import RosSegmenterClient
from rpent_ros.nodes.serving import refused
from rpent_ros.nodes.vla_client import RosVlaClient
from rpent_ros.ports import EnvClient, VlaClient
from rpent_ros.robot import load_robot_package
from rpent_ros.run import RunConfig, RunResult
from rpent_ros.session import StopFlag
from rpent_ros.tools.manipulation import left_out
from rpent_ros.tools.result import ToolResult

# How long a component that was there before is waited for [s]; at the start it is `wait_s`.
_PEER_WAIT_S = 2.0
# How long a run may take to write its files once the process is told to end [s].
_DRAIN_S = 2.5
# How long an interrupt waits for the robot to hold still [s].
_STANDSTILL_S = 5.0


class AgentNode(Node):
    """Serve runs and tools of one robot.

    Tools and runs work on a thread of their own, so the executor always answers.
    """

    def __init__(
        self, *, env: EnvClient | None = None, vla: VlaClient | None = None, **kwargs: Any
    ) -> None:
        super().__init__('agent', **kwargs)
        self._p = declare(self, AgentParameters)
        self._package = load_robot_package(self._p.robot)
        self._env: EnvClient = env or env_client_of(self._package)(self, wait_s=_PEER_WAIT_S)
        self._vla = vla
        if vla is None and self._p.use_vla:
            self._vla = RosVlaClient(self, wait_s=_PEER_WAIT_S)
        self._segmenter = (
            RosSegmenterClient(self, wait_s=_PEER_WAIT_S) if self._p.use_segmenter else None
        )
        self._sink = RosSink(self)
        self._recorder = RosRecorder(
            self, wait_s=self._p.wait_s, before_stop=lambda: self._sink.flush(1.0)
        )
        self._console = events.LineSink(lambda line: print(line, flush=True))
        self._manual = ManualTools(
            self._p.robot,
            suite=self._p.suite,
            task=self._p.task,
            seed=self._p.seed,
            root=self._p.root,
            env=self._env,
            vla=self._vla,
            segmenter=self._segmenter,
            options=self._p.options,
            on_dump=lambda dump: self._sink.step('manual', dump),
        )
        self._lock = threading.Lock()
        self._active: _ActiveRun | None = None
        self._tool_active = ''
        self._closing = threading.Event()
        self._idle = threading.Event()
        self.last_result: RunResult | None = None
        self._work = MainThread()
        threading.Thread(target=self._run_worker, name='agent', daemon=True).start()
        self.create_subscription(String, 'agent/user_message', self._on_user_message, 10)
        # A tool called by hand awaits the driver's answers, which arrive in the default group.
        by_hand = ReentrantCallbackGroup()
        self.create_service(ListTools, 'agent/list_tools', self._on_list_tools)
        self.create_service(
            CallTool, 'agent/call_tool', self._on_call_tool, callback_group=by_hand
        )
        self.create_service(
            Interrupt, 'agent/interrupt', self._on_interrupt, callback_group=by_hand
        )
        self._server = ActionServer(
            self,
            RunTask,
            'agent/run_task',
            execute_callback=self._on_run_task,
            cancel_callback=self._on_cancel,
        )

    @property
    def parameters(self) -> AgentParameters:
        """The values that the node was started with."""
        return self._p

    def autorun(self, done: Callable[[], None]) -> None:
        """Start the run that the parameters describe; `done` is called when it has ended."""
        run = self._begin(RunTask.Goal(), None)
        future = self._work.submit(lambda: self._run(run, FeedbackSink(lambda _: None)))
        future.add_done_callback(lambda _: done())

    def interrupt(self) -> None:
        """End the active run, if there is one; safe in a signal handler."""
        self._closing.set()
        run = self._active
        if run is not None:
            run.stop.set('interrupted')
        self._manual.cancel()
        self._work.wake()

    def drain(self) -> None:
        """Wait until the active run has stopped the robot and written its files."""
        self.interrupt()
        deadline = time.monotonic() + _DRAIN_S
        while True:
            try:
                # Not Thread.join: when a signal interrupts it, it takes the thread for finished.
                self._idle.wait(max(0.0, deadline - time.monotonic()))
                return
            except KeyboardInterrupt:
                # The signal is already being obeyed; an impatient second one changes nothing.
                continue

    def destroy_node(self) -> None:
        """End the run and the node."""
        self.drain()
        super().destroy_node()

    async def _on_run_task(self, handle: Any) -> RunTask.Result:
        try:
            run = self._begin(handle.request, handle)
        except RpentError as error:
            handle.abort()
            return refused(RunTask.Result(), error)
        feedback = FeedbackSink(handle.publish_feedback)
        result: RunResult = await self._work.awaited(
            lambda: self._run(run, feedback), self.executor
        )
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.achieved:
            handle.succeed()
        else:
            handle.abort()
        return result_message(result)

    def _on_cancel(self, handle: Any) -> CancelResponse:
        run = self._active
        # The handle given here is another Python object for the same goal.
        if run is None or run.handle is None or bytes(run.handle.goal_id.uuid) != bytes(
            handle.goal_id.uuid
        ):
            return CancelResponse.REJECT
        run.stop.set('cancelled')
        return CancelResponse.ACCEPT

    async def _on_call_tool(
        self, request: CallTool.Request, response: CallTool.Response
    ) -> CallTool.Response:
        try:
            given = arguments(request)
            self._claim_tool(request.name)
        except RpentError as error:
            return fill_tool_response(response, ToolResult.refused(error))
        try:
            result = await self._work.awaited(
                lambda: self._manual.call(request.name, given), self.executor
            )
        except RpentError as error:
            result = ToolResult.refused(error)
        except Exception as error:
            # The edge of the service: the caller gets an answer, the log the traceback.
            self.get_logger().error(f'{request.name} failed', exc_info=error)
            result = ToolResult(ErrorCode.UNKNOWN, f'{type(error).__name__}: {error}')
        finally:
            self._tool_active = ''
        return fill_tool_response(response, result)

    def _claim_tool(self, name: str) -> None:
        with self._lock:
            if self._active is not None:
                raise RunActive(
                    f'{name}: run {self._active.config.run_id} is active and its tools answer to '
                    'its planner; wait for its end or cancel it'
                )
            if self._tool_active:
                raise ToolBusy(
                    f'{name}: {self._tool_active} is still running; wait for its result'
                )
            self._tool_active = name

    def _on_list_tools(
        self, _: ListTools.Request, response: ListTools.Response
    ) -> ListTools.Response:
        module = importlib.import_module(f'{self._package.__name__}.toolkit')
        missing = left_out(
            policy=self._vla is not None,
            segmenter=self._segmenter is not None,
            text_only=self._p.text_only,
        )
        for spec in module.TOOLS_SPEC:
            if spec['name'] not in missing:
                response.names.append(spec['name'])
                response.specs_json.append(json.dumps(spec))
        return response

    def _on_user_message(self, message: String) -> None:
        run = self._active
        if run is None:
            self.get_logger().warning('user message ignored: no run is active')
            return
        try:
            said = commands.parse(message.data)
        except RpentError as error:
            self.get_logger().warning(f'user message ignored: {error}')
            return
        if isinstance(said, commands.Message):
            run.steering.push(said.text)
        elif isinstance(said, commands.Interrupt):
            run.steering.interrupt(said.text)
        elif isinstance(said, commands.Quit):
            run.stop.set('cancelled')
        elif isinstance(said, commands.Help):
            self.get_logger().info(commands.HELP_TEXT)

    async def _on_interrupt(
        self, request: Interrupt.Request, response: Interrupt.Response
    ) -> Interrupt.Response:
        run = self._active
        if run is None:
            return refused(response, Unavailable('interrupt: no run is active; nothing to stop'))
        interrupt = run.steering.interrupt(request.message)
        settled = Future()

        def wait() -> None:
            interrupt.wait(_STANDSTILL_S)
            settled.set_result(None)
            self.executor.wake()

        # The executor must stay free: the driver's answer to the cancel comes through it.
        threading.Thread(target=wait, name='interrupt', daemon=True).start()
        await settled
        if interrupt.standstill_s is None:
            return refused(response, DeadlineExceeded(
                f'the tool that runs was told to stop and has not ended in {_STANDSTILL_S:g} s; '
                'call driver/stop'
            ))  # fmt: skip
        response.tool, response.standstill_s = interrupt.tool, interrupt.standstill_s
        return response

    def _begin(self, goal: RunTask.Goal, handle: Any) -> _ActiveRun:
        """Take the one place for a run.

        Raises:
          RunActive: it is taken.
          ToolBusy: a tool called by hand is running.
        """
        config = self._p.config(goal)
        with self._lock:
            if self._active is not None:
                raise RunActive(
                    f'run {self._active.config.run_id} is active; wait for its end or cancel it'
                )
            if self._tool_active:
                raise ToolBusy(f'{self._tool_active} is still running; wait for its result')
            steering = Steering(interactive=self._p.interactive)
            self._active = _ActiveRun(config, handle, steering=steering)
            return self._active

    def _run(self, run: _ActiveRun, feedback: FeedbackSink) -> RunResult:
        """Carry out a run; on the worker thread."""
        try:
            self._manual.forget()
            self.last_result = run_task(
                run.config,
                self._env,
                self._vla,
                events.Fanout([self._console, self._sink, feedback]),
                run.stop,
                recorder=self._recorder if self._p.record else None,
                segmenter=self._segmenter,
                steering=run.steering,
                await_components=lambda: self._await_components(run.stop),
            )
            if self.last_result.status in ('refused', 'failed'):
                print(self.last_result.message, file=sys.stderr, flush=True)
            return self.last_result
        finally:
            with self._lock:
                self._active = None

    def _await_components(self, stop: StopFlag) -> None:
        """Return when driver and policy answer.

        Raises:
          Unavailable: one did not appear within `wait_s`.
          Canceled: the run was asked to end meanwhile.
        """
        deadline = time.monotonic() + self._p.wait_s
        for peer in (self._env, self._vla):
            while peer is not None:
                try:
                    peer.describe()
                    break
                except Unavailable as error:
                    if stop():
                        raise Canceled(f'the run was {stop.reason} before it began') from None
                    if time.monotonic() >= deadline:
                        raise Unavailable(f'{error} (waited {self._p.wait_s:g} s)') from None

    def _run_worker(self) -> None:
        try:
            self._work.run(should_stop=self._closing.is_set, period_s=0.5)
        finally:
            self._idle.set()


@dataclasses.dataclass
class _ActiveRun:
    """The run that is under way; `handle` is its goal, None if the node began it itself."""

    config: RunConfig
    handle: Any
    stop: StopFlag = dataclasses.field(default_factory=StopFlag)
    steering: Steering = dataclasses.field(default_factory=Steering)


def _main_loop(node: AgentNode, shutdown: Shutdown) -> None:
    shutdown.on_request(node.interrupt)
    if node.parameters.autorun:
        node.autorun(shutdown.request if node.parameters.exit_when_done else lambda: None)
    shutdown.wait()
    node.drain()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent.

    Returns:
      0 ended by a signal; with exit_when_done the run's: 0 achieved, 1 not, 2 refused, 3 failed.
    """
    nodes: list[AgentNode] = []

    def make() -> AgentNode:
        nodes.append(AgentNode())
        return nodes[-1]

    code = run_node('agent', make, argv, main_loop=_main_loop)
    if code == 0 and nodes and nodes[0].parameters.exit_when_done and nodes[0].last_result:
        return nodes[0].last_result.exit_code
    return code


if __name__ == '__main__':
    sys.exit(main())
