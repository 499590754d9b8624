"""The MCP server over HTTP, for clients on this machine that know the token."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
import threading
import time
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rpent_ros.errors import Unavailable
from rpent_ros.mcp.jobs import ToolJobs
from rpent_ros.mcp.server import GONE, McpTools, Task

HOST = '127.0.0.1'
PATH = '/mcp'
_START_S = 10.0
# How long answers that are under way may take once the server is to end [s].
_ANSWERS_S = 0.5
_JOIN_S = 2.0


class McpHttpServer:
    """Serves the tools of a run at `url` for as long as the block lasts.

    Sessions carry cancellation and progress; calls belong to the server, not to a session, so a
    client that comes back finds its calls again.

    Args:
      jobs: runs the calls.
      port: port on 127.0.0.1; 0: a free one.
      token: what clients send as `Authorization: Bearer ...`; '': a random one.
      answer_within_s: a call that takes longer is answered with a handle [s].
      name: of the server.
      task: prompts to offer; None: none.

    Attributes:
      port: the port that it listens on.
      url: where clients connect.
      token: what they send.

    Raises:
      Unavailable: the port is taken.
    """

    def __init__(
        self,
        jobs: ToolJobs,
        *,
        port: int = 0,
        token: str = '',
        answer_within_s: float = 45.0,
        name: str = 'rpent',
        task: Task | None = None,
    ) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._jobs = jobs
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f'http://{HOST}:{self.port}{PATH}'
        server = McpTools(jobs, answer_within_s=answer_within_s, task=task).build(name)
        # Sessions live until their client ends them: a person may think for an hour.
        app = server.streamable_http_app(streamable_http_path=PATH, session_idle_timeout=None)
        self._guard = _Guard(app, self.token)
        self._uvicorn = uvicorn.Server(uvicorn.Config(
            self._guard, log_config=None, log_level='critical', access_log=False, lifespan='on',
            timeout_graceful_shutdown=0,
        ))  # fmt: skip
        self._thread = threading.Thread(target=self._serve, name='mcp http', daemon=True)

    def __enter__(self) -> McpHttpServer:
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._uvicorn.started:
            if not self._thread.is_alive() or time.monotonic() >= deadline:
                raise Unavailable(f'the MCP server did not start on {self.url}')
            time.sleep(0.005)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the robot, answer what is asked, and end; safe to call twice."""
        self._jobs.close()
        self._guard.await_answers(_ANSWERS_S)
        self._uvicorn.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        self._socket.close()

    def _serve(self) -> None:
        self._uvicorn.run(sockets=[self._socket])


def _listen(port: int) -> socket.socket:
    out = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        out.bind((HOST, port))
    except OSError as error:
        out.close()
        raise Unavailable(
            f'mcp_port {port}: cannot listen on {HOST}: {error.strerror or error}; choose another '
            'port, or 0 for a free one'
        ) from None
    return out


class _Guard:
    """Lets requests through that come from this machine and carry the token.

    A web page can make a browser send requests to this machine under a name of its own (DNS
    rebinding), so the Host and the Origin must be this machine too.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f'Bearer {token}'.encode()
        self._answering = 0
        self._idle = threading.Condition()

    def await_answers(self, timeout_s: float) -> None:
        """Return when no request is being answered, or the time is up."""
        with self._idle:
            self._idle.wait_for(lambda: self._answering == 0, timeout_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(dict(scope['headers']))
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        gone = asyncio.Event()
        scope[GONE] = gone

        async def watched() -> Message:
            message = await receive()
            if message['type'] == 'http.disconnect':
                gone.set()
            return message

        # A GET is the stream on which a client listens for as long as it is there.
        counts = scope['method'] == 'POST'
        self._count(counts)
        try:
            await self._app(scope, watched, send)
        finally:
            self._count(-counts)

    def _count(self, change: int) -> None:
        with self._idle:
            self._answering += change
            self._idle.notify_all()

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b'host', b'').decode('latin-1')
        if not _is_here(host):
            return 421, f'Host {host!r} refused: this server answers to {HOST} and localhost only'
        origin = headers.get(b'origin', b'').decode('latin-1')
        if origin and not _is_here(origin.partition('://')[2]):
            return 403, f'Origin {origin!r} refused: web pages of other hosts may not call tools'
        given = headers.get(b'authorization', b'')
        if not hmac.compare_digest(given, self._expected):
            return 401, (
                'expected the header "Authorization: Bearer TOKEN" with the token of this server, '
                f'got {"another token" if given else "none"}; rpent mcp knows it'
            )
        return None


def _is_here(host: str) -> bool:
    # Any port: people forward them, and the check is against foreign names.
    name, _, port = host.rpartition(':')
    return port.isdecimal() and name in (HOST, 'localhost', '[::1]')


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({'error': sentence}).encode()
    headers = [(b'content-type', b'application/json'), (b'content-length', b'%d' % len(body))]
    if status == 401:
        headers.append((b'www-authenticate', b'Bearer'))
    await send({'type': 'http.response.start', 'status': status, 'headers': headers})
    await send({'type': 'http.response.body', 'body': body})
