"""The MCP server over the tools of a run: what clients see, and how long they wait for it."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import anyio
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from rpent_ros import __version__
from rpent_ros.errors import ErrorCode, InvalidRequest, RpentError
from rpent_ros.mcp import definitions
from rpent_ros.mcp.content import json_block, to_content
from rpent_ros.mcp.jobs import Job, ToolJobs
from rpent_ros.tools import schema
from rpent_ros.tools.result import ToolResult

# Key in an ASGI scope: an asyncio.Event that is set when the client has gone.
GONE = 'rpent.gone'
# How long a client whose connection broke may take to come back before the robot is stopped [s].
GRACE_S = 5.0
# How long `cancel` waits for the robot to hold still [s].
STOP_S = 10.0
_PROGRESS_S = 1.0

Context = ServerRequestContext[Any, Any]


@dataclasses.dataclass(frozen=True)
class Task:
    """What a run is about, for clients that bring their own model; empty: not offered."""

    system_prompt: str = ''
    user_message: str = ''

    @property
    def text(self) -> str:
        """Both prompts."""
        return f'{self.system_prompt}\n\n{self.user_message}'.strip()


class McpTools:
    """Handlers of one MCP server; all transports and clients share one.

    Args:
      jobs: runs the calls.
      answer_within_s: a call that takes longer is answered with a handle [s].
      task: prompts to offer.
    """

    def __init__(
        self, jobs: ToolJobs, *, answer_within_s: float = 45.0, task: Task | None = None
    ) -> None:
        self._jobs = jobs
        self._within = answer_within_s
        self._task = task or Task()
        self._own = definitions.own_tools(answer_within_s, with_task=bool(self._task.text))

    def build(self, name: str) -> Server[Any]:
        """A server with these handlers."""
        server: Server[Any] = Server(
            name,
            version=__version__,
            instructions=self._task.text or None,
            get_tool_input_schema=self._schemas().get,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts if self._task.text else None,
            on_get_prompt=self._get_prompt if self._task.text else None,
            on_list_resources=self._list_resources if self._task.text else None,
            on_read_resource=self._read_resource if self._task.text else None,
        )
        return server

    def _schemas(self) -> dict[str, Mapping[str, Any]]:
        specs = [*self._jobs.specs, *(tool.spec() for tool in self._own.values())]
        return {spec['name']: spec['input_schema'] for spec in specs}

    async def _list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        tools = [
            definitions.to_mcp(spec, reads_only=self._jobs.reads_only(spec['name']))
            for spec in self._jobs.specs
        ]
        tools += [definitions.to_mcp(tool.spec(), reads_only=True) for tool in self._own.values()]
        return types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        given = params.arguments or {}
        try:
            if params.name in self._own:
                own = self._own[params.name]
                checked = schema.check(own.name, own.input_schema, given)
                return await getattr(self, f'_{own.name}')(ctx, **checked)
            job = self._jobs.start(params.name, given)
        except RpentError as error:
            return _refused(error)
        return await self._answer(ctx, job, self._within)

    async def _wait(
        self, ctx: Context, handle: str | None, seconds: float
    ) -> types.CallToolResult:
        return await self._answer(ctx, self._jobs.find(handle), min(seconds, self._within))

    async def _cancel(self, ctx: Context, handle: str | None) -> types.CallToolResult:
        job = self._jobs.find(handle) if handle else self._jobs.moving
        if job is None:
            self._jobs.cancel_all()
            return _said(ok=True, message='nothing was moving; the robot holds still')
        if job.reads_only:
            raise InvalidRequest(f'cancel: {job.name} ({job.handle}) does not move the robot')
        self._jobs.cancel(job)
        await _finished(job, STOP_S)
        if not job.done:
            return _said(
                ok=False, code=ErrorCode.TIMEOUT, handle=job.handle,
                message=f'{job.name} was asked to stop {STOP_S:g} s ago and still runs',
            )  # fmt: skip
        said = _said(
            ok=True, handle=job.handle,
            message=f'{job.name} ended after {job.seconds:.1f} s; the robot holds still',
        )  # fmt: skip
        if not job.fetched and job.followers == 0:
            said.content += self._result(job).content
        return said

    async def _read_task(self, ctx: Context) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=self._task.text)])

    async def _answer(self, ctx: Context, job: Job, seconds: float) -> types.CallToolResult:
        """The result of a call, or that it still runs after `seconds`."""
        job.followers += 1
        try:
            gone = await self._follow(ctx, job, seconds)
        except anyio.get_cancelled_exc_class():
            # The client takes the call back, or its session ends.
            self._jobs.cancel(job)
            raise
        finally:
            job.followers -= 1
        if gone:
            await self._await_return(job)
        elif job.done:
            return self._result(job)
        return _said(
            ok=True, running=True, handle=job.handle, seconds=round(job.seconds, 1),
            message=f'{job.name} still runs; call wait with handle {job.handle} for its result, '
            'or cancel to stop the robot',
        )  # fmt: skip

    async def _follow(self, ctx: Context, job: Job, seconds: float) -> bool:
        """Wait for the end of a call and tell the client how it goes; True if the client left."""
        gone: asyncio.Event | None = ctx.request.scope.get(GONE) if ctx.request else None
        deadline = time.monotonic() + seconds
        while not job.done:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await _finished(job, min(left, _PROGRESS_S), gone)
            if gone is not None and gone.is_set():
                return True
            if not job.done:
                with anyio.move_on_after(_PROGRESS_S):
                    await ctx.session.report_progress(
                        round(job.seconds, 1), message=f'{job.name}: {job.seconds:.0f} s'
                    )
        return False

    async def _await_return(self, job: Job) -> None:
        """Stop the robot unless somebody asks for the call within the time of grace."""
        deadline = time.monotonic() + GRACE_S
        while not job.done and job.followers == 0:
            if time.monotonic() >= deadline:
                self._jobs.cancel(job)
                return
            await _finished(job, 0.1)

    def _result(self, job: Job) -> types.CallToolResult:
        result = job.future.result()
        job.fetched = True
        if job.failed:
            return types.CallToolResult(content=[json_block(result.to_json())], is_error=True)
        moving = self._jobs.moving
        if result.code == ErrorCode.TOOL_BUSY and moving is not None:
            message = f'{result.message} (its handle is {moving.handle})'
            result = dataclasses.replace(result, message=message)
        return types.CallToolResult(content=to_content(result, self._jobs.take_messages()))

    async def _list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[definitions.TASK_PROMPT])

    async def _get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        message = types.PromptMessage(
            role='user', content=types.TextContent(text=self._task.text)
        )
        return types.GetPromptResult(messages=[message])

    async def _list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[definitions.TASK_RESOURCE])

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = types.TextResourceContents(
            uri=str(params.uri), mime_type='text/markdown', text=self._task.text
        )
        return types.ReadResourceResult(contents=[text])


async def _finished(job: Job, seconds: float, or_event: asyncio.Event | None = None) -> None:
    """Return when a call has ended, the event is set, or the time is up."""
    waiting: set[asyncio.Future[Any]] = {asyncio.wrap_future(job.future)}
    watcher = asyncio.ensure_future(or_event.wait()) if or_event is not None else None
    try:
        await asyncio.wait(
            waiting if watcher is None else {*waiting, watcher},
            timeout=seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
    finally:
        if watcher is not None:
            watcher.cancel()


def _said(*, ok: bool, code: ErrorCode = ErrorCode.OK, **more: Any) -> types.CallToolResult:
    """An answer about a call rather than from a tool."""
    return types.CallToolResult(content=[json_block({'ok': ok, 'code': code.name, **more})])


def _refused(error: RpentError) -> types.CallToolResult:
    """The answer to a call that did not begin."""
    result = ToolResult.refused(error)
    return types.CallToolResult(content=[json_block(result.to_json())], is_error=True)
