"""The agent's side of a driver, over ROS."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from std_srvs.srv import Trigger

from rpent_msgs.action import ExecuteChunk, MoveTo
from rpent_msgs.srv import DescribeDriver, Observe, Reset, Step
from rpent_ros.contracts.motion import (
    ActionChunk,
    MotionResult,
    StepResult,
    Waypoint,
    as_waypoints,
)
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import DriverSpec
from rpent_ros.errors import BadAction, RobotFailed
from rpent_ros.nodes import convert
from rpent_ros.nodes.client import DEFAULT_WAIT_S, ActionCaller, ServiceCaller
from rpent_ros.nodes.convert.geometry import doubles
from rpent_ros.ports import ShouldStop


@dataclasses.dataclass(frozen=True)
class Deadlines:
    """How long the driver may take to answer [s]; a dead driver is noticed much sooner.

    Attributes:
      per_step: slowest control step that is still waited for.
      motion: added to `per_step` times the number of steps.
      cancel: time for a cancelled motion to come to rest.
    """

    describe: float = 5.0
    reset: float = 180.0
    step: float = 20.0
    observe: float = 60.0
    stop: float = 10.0
    per_step: float = 0.5
    motion: float = 10.0
    cancel: float = 5.0


class RosEnvClient:
    """Implements `rpent_ros.ports.EnvClient` with the driver's services and actions.

    A robot's env_client.py subclasses it to add calls that only this robot has.

    Args:
      node: spun by an executor on another thread.
      driver: name of the driver node, relative to the node's namespace or absolute.
      wait_s: how long to wait for the driver to appear [s].
      deadlines: how long its answers may take.
    """

    def __init__(
        self,
        node: Node,
        *,
        driver: str = 'driver',
        wait_s: float = DEFAULT_WAIT_S,
        deadlines: Deadlines = Deadlines(),
    ) -> None:
        self._deadlines = deadlines
        self._spec: DriverSpec | None = None

        def service(kind: Any, name: str) -> ServiceCaller:
            return ServiceCaller(node, kind, f'{driver}/{name}', wait_s=wait_s)

        self._describe = service(DescribeDriver, 'describe')
        self._reset = service(Reset, 'reset')
        self._step = service(Step, 'step')
        self._observe = service(Observe, 'observe')
        self._stop = service(Trigger, 'stop')
        self._resume = service(Trigger, 'resume')
        self._chunk = ActionCaller(node, ExecuteChunk, f'{driver}/execute_chunk', wait_s=wait_s)
        self._move = ActionCaller(node, MoveTo, f'{driver}/move_to', wait_s=wait_s)

    def describe(self) -> DriverSpec:
        """What the driver offers."""
        response = self._describe.call(
            DescribeDriver.Request(), timeout_s=self._deadlines.describe
        )
        self._spec = convert.driver_spec_from_msg(response.spec)
        return self._spec

    def reset(
        self, *, suite: str = '', task: int = -1, seed: int = 0
    ) -> tuple[Observation, Mapping[str, Any]]:
        """Start an episode; returns the state and the facts worth storing with results."""
        request = Reset.Request(suite=suite, task=task, seed=seed)
        response = self._reset.call(request, timeout_s=self._deadlines.reset)
        facts = json.loads(response.info_json) if response.info_json else {}
        return convert.observation_from_msg(response.observation), facts

    def step(self, action: NDArray[np.float64], *, images: bool = False) -> StepResult:
        """Execute one control step; the result holds the observation, with images if asked for."""
        observe = Step.Request.OBSERVE_IMAGES if images else Step.Request.OBSERVE_STATE
        return self._call_step(action, observe)

    def step_blind(self, action: NDArray[np.float64]) -> StepResult:
        """Execute one control step and get back no observation, which is fastest."""
        return self._call_step(action, Step.Request.OBSERVE_NONE)

    def _call_step(self, action: NDArray[np.float64], observe: int) -> StepResult:
        action = np.asarray(action, float)
        if action.ndim != 1:
            raise BadAction(f'step: expected one row of values, got shape {action.shape}')
        request = Step.Request(action=doubles(action), observe=observe)
        response = self._step.call(request, timeout_s=self._deadlines.step)
        return convert.step_result_from_msg(response)

    def observe(
        self,
        cameras: Sequence[str] = (),
        *,
        width: int = 0,
        height: int = 0,
        depth: bool = False,
    ) -> Observation:
        """Read the robot without moving it; size 0 means the camera's default."""
        request = Observe.Request(cameras=list(cameras), width=width, height=height, depth=depth)
        response = self._observe.call(request, timeout_s=self._deadlines.observe)
        return convert.observation_from_msg(response.observation)

    def execute_chunk(
        self, chunk: ActionChunk, *, first: int = 0, should_stop: ShouldStop | None = None
    ) -> MotionResult:
        """Execute the first rows of a chunk (0: all); holds when `should_stop` turns true."""
        goal = ExecuteChunk.Goal(chunk=convert.action_chunk_to_msg(chunk), first=first)
        result = self._chunk.run(
            goal,
            timeout_s=self._motion_limit(first or chunk.horizon),
            should_stop=should_stop,
            cancel_timeout_s=self._deadlines.cancel,
        )
        return convert.execute_chunk_result_from_msg(result)

    def move_to(
        self,
        waypoints: Waypoint | Sequence[Waypoint],
        *,
        should_stop: ShouldStop | None = None,
    ) -> MotionResult:
        """Move the tool centre point through waypoints; holds when `should_stop` turns true."""
        spec = self._spec or self.describe()
        result = self._move.run(
            convert.move_to_goal_to_msg(as_waypoints(waypoints), spec.base_frame),
            timeout_s=self._motion_limit(spec.limits.max_steps),
            should_stop=should_stop,
            cancel_timeout_s=self._deadlines.cancel,
        )
        return convert.move_to_result_from_msg(result)

    def stop(self) -> None:
        """Stop at once and stay stopped until `resume`."""
        self._trigger(self._stop)

    def resume(self) -> None:
        """Allow motion again after `stop`."""
        self._trigger(self._resume)

    def _trigger(self, service: ServiceCaller) -> None:
        response = service.call(Trigger.Request(), timeout_s=self._deadlines.stop)
        if not response.success:
            raise RobotFailed(f'{service.name}: {response.message}')

    def _motion_limit(self, steps: int) -> float:
        return self._deadlines.motion + self._deadlines.per_step * steps


def env_client_of(package: ModuleType) -> type[RosEnvClient]:
    """The class of a robot package's client: its own, or the generic one."""
    client = package.get_env_spec().env_client
    return client() if client is not None else RosEnvClient
