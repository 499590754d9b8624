"""Passes what an MCP server on this machine offers on to a client that speaks over stdio."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import httpx2
from mcp import types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from rpent_ros import __version__
from rpent_ros.errors import RpentError, Unavailable
from rpent_ros.mcp.content import json_block
from rpent_ros.mcp.endpoint import Endpoint
from rpent_ros.tools.result import ToolResult

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup

Context = ServerRequestContext[Any, Any]
# A new server answers at once; later answers come within the server's own limits [s].
_ANSWER_S = 120.0
_CONNECT_S = 10.0


@contextlib.asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Client]:
    """A client of a server, for as long as the connection lasts.

    Raises:
      Unavailable: it does not answer, or has gone.
    """
    headers = {'Authorization': f'Bearer {endpoint.token}'}
    timeout = httpx2.Timeout(_CONNECT_S, read=_ANSWER_S)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout) as http:
        # One result may hold a megabyte, and the robot's server sees to its size.
        transport = streamable_http_client(
            endpoint.url, http_client=http, max_sse_event_size=None
        )
        try:
            async with Client(transport) as client:
                yield client
        except (MCPError, httpx2.HTTPError, TimeoutError, BaseExceptionGroup) as error:
            # The library's tasks fail together, in a group.
            raise Unavailable(f'{endpoint} does not answer: {first_cause(error)}') from None


def gone(error: BaseException) -> Unavailable:
    """What clients are told when the server behind the bridge has gone."""
    return Unavailable(
        f"the robot's MCP server has gone ({error}): the run has ended; start another one and "
        'connect again'
    )


def first_cause(error: BaseException) -> BaseException:
    """The first exception of a group, which may hold groups; any other as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class Bridge:
    """An MCP server that hands everything on to another one, which may still be starting.

    Args:
      instructions: of the server, as far as they are known.
    """

    def __init__(self, instructions: str | None = None) -> None:
        self._instructions = instructions
        self._client: Client | None = None
        self._ready = anyio.Event()
        self._ended: RpentError | None = None

    def attach(self, client: Client) -> None:
        """The other server is there."""
        self._client = client
        self._ready.set()

    def end(self, error: RpentError) -> None:
        """The other server is gone: every request is answered with this sentence."""
        self._ended = error
        self._ready.set()

    async def serve(self) -> None:
        """Serve on stdin and stdout until stdin ends."""
        server: Server[Any] = Server(
            'rpent',
            version=__version__,
            instructions=self._instructions,
            # Only the server behind knows its tools, and it checks what it is given.
            get_tool_input_schema=lambda _: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def _list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        return await self._ask(lambda client: client.list_tools())

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            await ctx.session.report_progress(progress, total, message)

        try:
            return await self._ask(lambda client: client.call_tool(
                params.name, params.arguments, progress_callback=tell
            ))  # fmt: skip
        except MCPError as error:
            # A model reads results rather than errors of the protocol.
            result = ToolResult.refused(Unavailable(error.message))
            return types.CallToolResult(content=[json_block(result.to_json())], is_error=True)

    async def _list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        return await self._ask(lambda client: client.list_prompts())

    async def _get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        return await self._ask(lambda client: client.get_prompt(params.name))

    async def _list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        return await self._ask(lambda client: client.list_resources())

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await self._ask(lambda client: client.read_resource(params.uri))

    async def _ask(self, request: Callable[[Client], Awaitable[Any]]) -> Any:
        """Hand a request on.

        Raises:
          MCPError: the other server answers with an error, or is gone.
        """
        await self._ready.wait()
        if self._ended is not None or self._client is None:
            raise MCPError(types.INTERNAL_ERROR, str(self._ended))
        try:
            return await request(self._client)
        except (httpx2.HTTPError, MCPError) as error:
            if isinstance(error, MCPError) and error.code != types.CONNECTION_CLOSED:
                raise
            raise MCPError(types.INTERNAL_ERROR, str(gone(error))) from None
