"""The server: a script of turns, and what was asked."""

from __future__ import annotations

import collections
import dataclasses
import socket
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import uvicorn
from PIL import Image
from starlette.types import Receive, Scope, Send

from test.llm_server.app import make_app
from test.llm_server.delivery import DROP
from test.llm_server.turns import Turn
from test.llm_server.wire import Conversation, Json, Memory, Refused

_HOST = '127.0.0.1'
_START_S = 10.0
_JOIN_S = 5.0


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that kept the rules.

    Attributes:
      path: which API.
      headers: by lower case names.
      body: the JSON.
      messages: the vendor's list of messages; Responses: of input items.
      tools: names of the tools on offer.
      images: all pictures of the conversation, decoded, in order.
      tool_results: the texts of all tool results of the conversation, in order.
    """

    path: str
    headers: Mapping[str, str]
    body: Json
    messages: list[Any]
    tools: list[str]
    images: list[Image.Image]
    tool_results: list[str]


class LlmServer:
    """Language models that say what one test scripts.

    Attributes:
      key: the key that they accept.
      url: where they are, without a path.
      requests: the requests so far that kept the rules.
      aborted: a client went away in the middle of an answer.
    """

    key = 'sk-ant-api03-l0calServerKey-1234567890abcdefghij'

    def __init__(self, url: str) -> None:
        self.url = url
        self.memory = Memory()
        self.requests: list[Request] = []
        self.aborted = False
        self._script: collections.deque[Turn] = collections.deque()
        self._violations: list[str] = []

    def script(self, *turns: Turn) -> None:
        """What is answered from now on, one turn for each request that keeps the rules."""
        self._script.extend(turns)

    def take_violations(self) -> list[str]:
        """The rules that were broken since this was last called: path, and the vendor's words."""
        out, self._violations = self._violations, []
        return out

    def next_turn(
        self, path: str, headers: Mapping[str, str], body: Json, said: Conversation
    ) -> Turn:
        """See `Host`."""
        self.requests.append(Request(path, dict(headers), body, **vars(said)))
        try:
            return self._script.popleft()
        except IndexError:
            raise Refused(
                500,
                f'the script has ended: this is request {len(self.requests)}, and no turn is left',
                headers={'x-should-retry': 'false'},
            ) from None

    def violated(self, sentence: str) -> None:
        """See `Host`."""
        self._violations.append(sentence)

    def left(self) -> None:
        """See `Host`."""
        self.aborted = True


class LlmHost:
    """A thread that answers for one `LlmServer` after the other.  Use it as a context manager.

    Starting and ending it takes longer than most tests; what is still being answered when a test
    ends belongs to the server of that test.

    Attributes:
      url: where it is, without a path.
    """

    def __init__(self) -> None:
        self._socket = socket.create_server((_HOST, 0))
        self.url = f'http://{_HOST}:{self._socket.getsockname()[1]}'
        self._server = LlmServer(self.url)
        self._app = make_app(lambda: self._server)
        self._uvicorn = uvicorn.Server(uvicorn.Config(
            self._answer, http='h11', interface='asgi3', log_config=None, log_level='critical',
            access_log=False, lifespan='off', timeout_graceful_shutdown=0,
        ))  # fmt: skip
        self._thread = threading.Thread(
            target=self._uvicorn.run, kwargs={'sockets': [self._socket]}, daemon=True,
            name='llm server',
        )  # fmt: skip

    def __enter__(self) -> LlmHost:
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._uvicorn.started:
            if not self._thread.is_alive() or time.monotonic() >= deadline:
                raise RuntimeError(f'the server did not start on {self.url}')
            time.sleep(0.001)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(_JOIN_S)
        self._socket.close()

    def new_server(self) -> LlmServer:
        """A server without a script, which knows nothing of the ones before."""
        self._server = LlmServer(self.url)
        return self._server

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI knows no way to drop a connection, so the server's own list of them is used."""

        def drop() -> None:
            for connection in self._uvicorn.server_state.connections:
                if getattr(connection, 'client', None) == scope['client']:
                    connection.transport.close()

        scope[DROP] = drop
        await self._app(scope, receive, send)
