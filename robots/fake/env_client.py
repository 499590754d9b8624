"""Agent-side client of the fake robot's driver."""

from __future__ import annotations

from rpent_ros.nodes.env_client import RosEnvClient


class FakeEnvClient(RosEnvClient):
    """The generic client: the fake robot adds no calls of its own."""
