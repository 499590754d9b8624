"""The vla node: one policy, served over ROS.  Run it with `python -m rpent_ros.nodes.vla`.

The policy belongs to the process's main thread, which loads it and runs it; callbacks, on the
executor's thread, only hand jobs over and await them, so describe is answered during an inference.
"""

from __future__ import annotations

import dataclasses
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.serialization import serialize_message

from rpent_msgs.msg import Scene as SceneMsg
from rpent_msgs.srv import DescribeDriver, DescribePolicy, Infer, ResetPolicy
from rpent_ros.contracts.compatibility import check_compatible
from rpent_ros.contracts.motion import Inference
from rpent_ros.contracts.specs import DriverSpec, PolicySpec
from rpent_ros.errors import (
    BadAction,
    Busy,
    DeadlineExceeded,
    ErrorCode,
    InferenceFailed,
    PeerDied,
    RpentError,
    Unavailable,
)
from rpent_ros.nodes import convert
from rpent_ros.nodes.client import ServiceCaller
from rpent_ros.nodes.driver_topics import LATCHED_QOS
from rpent_ros.nodes.main_thread import MainThread
from rpent_ros.nodes.model import load_model
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.parameters import declare, parameter
from rpent_ros.nodes.process import Shutdown, run_node
from rpent_ros.nodes.scene_waiter import SceneWaiter
from rpent_ros.policies.base import Policy
from rpent_ros.robot import load_robot_package

_DESCRIBE_TIMEOUT_S = 5.0


@dataclasses.dataclass(frozen=True)
class VlaParameters:
    """See config/vla.yaml."""

    robot: str = parameter('fake', 'Robot package that may bring policies of its own.')
    policy: str = parameter('oracle', 'Policy to serve.')
    endpoint: str = parameter('', 'Address of a model server that already runs; empty: none.')
    driver: str = parameter('driver', 'Name of the driver node whose robot is to be driven.')
    wait_s: float = parameter(60.0, 'How long to wait for the driver to appear [s].', low=0.0)
    scene_timeout: float = parameter(
        2.0, 'How long a privileged policy waits for the scene of an observation [s].', low=0.0
    )


class VlaNode(Node):
    """Serves one policy.

    Args:
      policy: the policy to serve; None makes the one that the parameters name.
      **kwargs: passed to `Node`, e.g. context, namespace, parameter_overrides.
    """

    def __init__(self, policy: Policy | None = None, **kwargs: Any) -> None:
        super().__init__('vla', **kwargs)
        self._settings = p = declare(self, VlaParameters)
        self._policy = policy or make_policy(p)
        self._main = MainThread()
        self._driver: DriverSpec | None = None
        # What `_driver` was made from: equal bytes mean that nothing has changed.
        self._described = b''
        self._greeted = False
        self._mismatch: RpentError | None = None
        self._inferring = False
        self._scenes = SceneWaiter(p.scene_timeout, p.driver)
        # Coroutines that await the policy's thread: any number may be under way at once.
        self._group = ReentrantCallbackGroup()
        if self._policy.spec.privileged:
            self.create_subscription(
                SceneMsg, 'privileged/scene', self._scenes.put, LATCHED_QOS,
                callback_group=self._group,
            )  # fmt: skip
        self._describe_driver = ServiceCaller(
            self, DescribeDriver, f'{p.driver}/describe', wait_s=p.wait_s,
            callback_group=self._group,
        )  # fmt: skip
        self._serve(Infer, 'infer', self._on_infer)
        self._serve(ResetPolicy, 'reset_policy', self._on_reset)
        self._serve(DescribePolicy, 'describe', self._on_describe)

    def main_loop(self, shutdown: Shutdown) -> None:
        """Own the policy on this thread until the process is to end."""
        shutdown.on_request(self._main.wake)
        self.load()
        self._main.run(should_stop=shutdown.requested, idle=self._greet)

    def load(self) -> None:
        """Load the policy; on the thread that then calls `run`.

        Raises:
          ModelNotLoaded: it cannot be loaded.
        """
        load_model(self.get_logger(), 'policy', self._policy)

    @property
    def main(self) -> MainThread:
        """The queue of the policy's thread."""
        return self._main

    def destroy_node(self) -> None:
        """Take no more requests."""
        self._main.close()
        super().destroy_node()

    async def _on_infer(self, request: Infer.Request, response: Infer.Response) -> None:
        if self._inferring:
            raise Busy('infer: the policy is busy with an earlier request; wait for its answer')
        self._inferring = True
        try:
            inference = await self._main.awaited(lambda: self._infer(request), self.executor)
        finally:
            self._inferring = False
        answer = convert.inference_to_msg(inference)
        for name in ('chunk', 'done', 'infer_ms', 'privileged', 'status'):
            setattr(response, name, getattr(answer, name))

    async def _on_reset(
        self, request: ResetPolicy.Request, response: ResetPolicy.Response
    ) -> None:
        await self._main.awaited(lambda: self._reset(request.session), self.executor)

    async def _on_describe(
        self, request: DescribePolicy.Request, response: DescribePolicy.Response
    ) -> None:
        if not self._described:
            await self._main.awaited(self._connect, self.executor)
        response.spec = convert.policy_spec_to_msg(self._policy.spec)

    # On the policy's thread.

    def _greet(self) -> None:
        """Compare once when the driver appears, so that the log tells before anybody asks."""
        if not self._greeted and self._describe_driver.is_ready():
            self._greeted = True
            self._connect()

    def _connect(self) -> None:
        """Learn which robot is driven now and compare; if nobody answers, nothing changes."""
        try:
            answer = self._describe_driver.call(
                DescribeDriver.Request(), timeout_s=_DESCRIBE_TIMEOUT_S
            )
        except (Unavailable, DeadlineExceeded, PeerDied) as error:
            self.get_logger().warning(f'the policy is not compared with its robot: {error}')
            return
        described = serialize_message(answer.spec)
        if described == self._described:
            return
        self._described = described
        self._mismatch = None
        try:
            self._driver = convert.driver_spec_from_msg(answer.spec)
            self._policy.connect(self._driver, self._scenes.at)
            check_compatible(self._driver, self._policy.spec)
        except RpentError as error:
            self._mismatch = error
            self.get_logger().error(str(error))

    def _reset(self, session: str) -> None:
        # Something new begins; the driver may have been replaced since the last time.
        if self._describe_driver.is_ready():
            self._connect()
        self._policy.reset(session)

    def _infer(self, request: Infer.Request) -> Inference:
        refused = self._mismatch is not None and self._describe_driver.is_ready()
        if refused or not self._described:
            self._connect()
        if self._mismatch is not None:
            raise self._mismatch
        if self._driver is None:
            raise Unavailable(
                f'{self._describe_driver.name}: no driver to compare the policy with; start one'
            )
        started = time.monotonic()
        observation = convert.observation_from_msg(request.observation)
        try:
            inference = self._policy.infer(observation, request.instruction, request.session)
        except BadAction as error:
            # A chunk that could not be made is the policy's failure, not the caller's.
            raise InferenceFailed(f'policy {self._policy.spec.name}: {error}') from error
        check_chunk(inference, self._policy.spec)
        return dataclasses.replace(
            inference,
            infer_ms=1000 * (time.monotonic() - started),
            privileged=self._policy.spec.privileged,
        )

    # Plumbing: every request ends in an answer.

    def _serve(
        self, kind: Any, name: str, callback: Callable[[Any, Any], Awaitable[None]]
    ) -> None:
        failure = ErrorCode.INFERENCE_FAILED if name == 'infer' else ErrorCode.UNKNOWN

        async def answer(request: Any, response: Any) -> Any:
            try:
                await callback(request, response)
            except RpentError as error:
                response.error_code, response.error_msg = int(error.code), str(error)
            except Exception as error:  # The edge: a failure becomes a code and a sentence.
                self.get_logger().error(traceback.format_exc())
                response.error_code = int(failure)
                response.error_msg = (
                    f"{name}: {type(error).__name__}: {error}; see the vla node's log"
                )
            return response

        self.create_service(kind, f'vla/{name}', answer, callback_group=self._group)


def check_chunk(inference: Inference, spec: PolicySpec) -> None:
    """Refuse what no robot should be sent; a chunk's numbers are finite by construction.

    Raises:
      InferenceFailed: wrong width, or longer than the policy's own horizon.
    """
    rows, width = inference.chunk.data.shape
    if width != spec.action.dim or rows > spec.horizon:
        raise InferenceFailed(
            f'policy {spec.name}: expected up to {spec.horizon} rows of {spec.action.dim} values, '
            f'got {rows} of {width}'
        )
    outside = (inference.chunk.data < np.float32(spec.action.low)) | (
        inference.chunk.data > np.float32(spec.action.high)
    )
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise InferenceFailed(
            f'policy {spec.name}: expected {spec.action.names[column]} from '
            f'{spec.action.low[column]:g} to {spec.action.high[column]:g}, got '
            f'{inference.chunk.data[row, column]:g} in row {row}'
        )


def make_policy(p: VlaParameters) -> Policy:
    """Make the policy that the parameters name; the robot's own come first.

    Raises:
      RpentError: unknown robot or policy.
    """
    spec = load_robot_package(p.robot).get_env_spec()
    if spec.make_policy is not None:
        policy: Policy = spec.make_policy(p.policy, dataclasses.asdict(p))
        return policy
    from rpent_ros.policies.registry import make_policy as make

    return make(p.policy, dataclasses.asdict(p))


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a policy until SIGINT or SIGTERM."""
    return run_node('vla', VlaNode, argv, main_loop=VlaNode.main_loop)


if __name__ == '__main__':
    sys.exit(main())
