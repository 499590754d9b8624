"""A planner that is somebody else's: whoever connects over MCP calls the tools."""

from __future__ import annotations

import dataclasses
import os

from rpent_ros.cerebrums.base import CerebrumResult, Steering, Tools
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import TimeLimit
from rpent_ros.limits import Limits
from rpent_ros.mcp.jobs import ToolJobs

# How often it is asked whether the run is over for other reasons than a tool call [s].
_CHECK_S = 0.2


def check_ready(llm: LlmOptions) -> None:
    """Nothing can be missing: the model is the client's."""


@dataclasses.dataclass(frozen=True)
class McpCerebrum:
    """Serves the run's tools on 127.0.0.1 until a client calls finish.

    Attributes:
      llm: `mcp_port` is used, the rest is the client's business.
      robot: for clients that look for it.
      namespace: of the graph, likewise.
    """

    llm: LlmOptions
    robot: str = ''
    namespace: str = ''

    @property
    def name(self) -> str:
        """How it is chosen."""
        return 'mcp'

    def solve(
        self,
        system_prompt: str,
        user_message: str,
        toolkit: Tools,
        limits: Limits,
        steering: Steering,
    ) -> CerebrumResult:
        """See `Cerebrum.solve`; the prompts are offered to whoever connects.

        Raises:
          Unavailable: the port is taken.
          BadPath: the file that tells where the server is cannot be written.
        """
        # The server's libraries take half a second to import.
        from rpent_ros.mcp.endpoint import Endpoint, published
        from rpent_ros.mcp.http import McpHttpServer
        from rpent_ros.mcp.server import Task

        jobs = ToolJobs(toolkit, steering)
        task = Task(system_prompt, user_message)
        with McpHttpServer(jobs, port=self.llm.mcp_port, task=task) as server:
            endpoint = Endpoint(
                server.url,
                server.token,
                robot=self.robot,
                namespace=self.namespace.strip('/'),
                domain=os.environ.get('ROS_DOMAIN_ID', ''),
            )
            with published(endpoint) as path:
                toolkit.say(
                    f'waiting for an MCP client at {server.url}; connect one with "rpent mcp" as '
                    f'its command (see rpent mcp --help), or over HTTP with the token in {path}',
                    role='system',
                    name='mcp',
                )
                _await_end(jobs, toolkit)
        if jobs.error is not None:
            raise jobs.error
        return CerebrumResult(jobs.claim)


def _await_end(jobs: ToolJobs, toolkit: Tools) -> None:
    try:
        while not jobs.over.wait(_CHECK_S):
            toolkit.check()
    except TimeLimit as error:
        if jobs.calls == 0:
            raise TimeLimit(f'{error}; no MCP client called a tool') from None
        raise
