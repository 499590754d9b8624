"""The agent's side of a policy, over ROS."""

from __future__ import annotations

from rclpy.node import Node

from rpent_msgs.srv import DescribePolicy, Infer, ResetPolicy
from rpent_ros.contracts.motion import Inference
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import PolicySpec
from rpent_ros.nodes import convert
from rpent_ros.nodes.client import DEFAULT_WAIT_S, ServiceCaller

# The vla node itself may wait 60 s for its driver, and says so if that never comes.
DESCRIBE_TIMEOUT_S = 70.0
INFER_TIMEOUT_S = 70.0
RESET_TIMEOUT_S = 10.0


class RosVlaClient:
    """Implements `rpent_ros.ports.VlaClient` with the vla node's services.

    Args:
      node: spun by an executor on another thread.
      vla: name of the vla node, relative to the node's namespace or absolute.
      wait_s: how long to wait for the vla node to appear [s].
    """

    def __init__(self, node: Node, *, vla: str = 'vla', wait_s: float = DEFAULT_WAIT_S) -> None:
        self._describe = ServiceCaller(node, DescribePolicy, f'{vla}/describe', wait_s=wait_s)
        self._infer = ServiceCaller(node, Infer, f'{vla}/infer', wait_s=wait_s)
        self._reset = ServiceCaller(node, ResetPolicy, f'{vla}/reset_policy', wait_s=wait_s)

    def is_ready(self) -> bool:
        """True if a vla node is there now."""
        return self._infer.is_ready()

    def describe(self) -> PolicySpec:
        """Which policy is served."""
        response = self._describe.call(DescribePolicy.Request(), timeout_s=DESCRIBE_TIMEOUT_S)
        return convert.policy_spec_from_msg(response.spec)

    def infer(self, observation: Observation, instruction: str, *, session: str = '') -> Inference:
        """The policy's next actions."""
        request = Infer.Request(
            instruction=instruction,
            session=session,
            observation=convert.observation_to_msg(observation),
        )
        return convert.inference_from_msg(self._infer.call(request, timeout_s=INFER_TIMEOUT_S))

    def reset(self, session: str = '') -> None:
        """Forget what a session remembers."""
        self._reset.call(ResetPolicy.Request(session=session), timeout_s=RESET_TIMEOUT_S)
