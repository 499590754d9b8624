"""The agent's side of the LIBERO driver."""

from __future__ import annotations

from rpent_ros.nodes.env_client import RosEnvClient


class LiberoEnvClient(RosEnvClient):
    """The calls that every driver has; LIBERO needs no others."""
