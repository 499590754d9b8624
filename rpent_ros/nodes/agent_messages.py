"""What the agent says in ROS messages: events, state dumps, tool and run results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from rpent_msgs.action import RunTask
from rpent_msgs.msg import AgentEvent, StepRecord
from rpent_msgs.srv import CallTool
from rpent_ros import events
from rpent_ros.errors import BadArguments
from rpent_ros.nodes import convert
from rpent_ros.run import RunResult
from rpent_ros.tools.dump import StepDump
from rpent_ros.tools.result import ToolResult

# Late subscribers see how a run began: it has rarely more events than this.
_EVENTS_QOS = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Records carry pictures: a late subscriber gets the newest, not a hundred megabytes.
_STEPS_QOS = QoSProfile(
    depth=5,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class RosSink:
    """Publishes `agent/events` and `agent/steps`; implements `rpent_ros.events.Sink`."""

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self._events = node.create_publisher(AgentEvent, 'agent/events', _EVENTS_QOS)
        self._steps = node.create_publisher(StepRecord, 'agent/steps', _STEPS_QOS)

    def event(self, event: events.Event) -> None:
        """Publish an event."""
        message = AgentEvent(
            run_id=event.run_id,
            turn=event.turn,
            kind=event.kind,
            name=event.name,
            json=json.dumps(dict(event.data)),
        )
        message.header.stamp = self._clock.now().to_msg()
        self._events.publish(message)

    def step(self, run_id: str, dump: StepDump) -> None:
        """Publish a state dump with its pictures."""
        observation = dump.observation
        self._steps.publish(StepRecord(
            header=convert.header(observation.stamp, observation.frame_id),
            run_id=run_id,
            index=dump.index,
            tool=dump.tool,
            json=json.dumps(dump.entry),
            observation=convert.observation_to_msg(observation),
        ))

    def flush(self, timeout_s: float) -> None:
        """Wait until every subscriber has acknowledged the events, at most `timeout_s`."""
        self._events.wait_for_all_acked(Duration(seconds=timeout_s))


class FeedbackSink:
    """Turns tool calls into feedback of the run_task action."""

    def __init__(self, publish: Callable[[Any], None]) -> None:
        self._publish = publish
        self._lock = threading.Lock()

    def event(self, event: events.Event) -> None:
        """Send feedback when a tool call starts and when it ends."""
        if event.kind == events.TOOL_CALL:
            summary, ended = events.short(event.data.get('arguments', {})), False
        elif event.kind == events.TOOL_RESULT:
            summary, ended = events.summary(event.data), True
        else:
            return
        with self._lock:
            self._publish(RunTask.Feedback(
                turn=event.turn, tool=event.name, ended=ended, summary=summary
            ))

    def step(self, run_id: str, dump: StepDump) -> None:
        """Dumps are on agent/steps."""


def arguments(request: CallTool.Request) -> Any:
    """The arguments of a tool call.

    Raises:
      BadArguments: they are not JSON.
    """
    try:
        return json.loads(request.arguments_json or '{}')
    except ValueError as error:
        raise BadArguments(
            f'{request.name}: expected arguments_json as a JSON object, got '
            f'{request.arguments_json[:60]!r} ({error})'
        ) from None


def fill_tool_response(response: CallTool.Response, result: ToolResult) -> CallTool.Response:
    """A tool's result as the answer of call_tool."""
    response.error_code = int(result.code)
    response.error_msg = result.message
    response.result_json = json.dumps(result.to_json())
    response.image_paths = [str(image.path) for image in result.images]
    return response


def result_message(result: RunResult) -> RunTask.Result:
    """A run's result as the result of run_task."""
    return RunTask.Result(
        error_code=int(result.code),
        error_msg=result.message,
        run_id=result.run_id,
        output_dir=result.output_dir,
        claimed=result.claimed,
        achieved=result.achieved,
        privileged=result.privileged,
        tool_calls=result.tool_calls,
        steps=result.steps,
        seconds=result.seconds,
    )
