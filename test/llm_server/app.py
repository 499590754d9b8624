"""The paths of the three APIs, as an ASGI application."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from test.llm_server.anthropic import AnthropicMessages
from test.llm_server.chat import ChatCompletions
from test.llm_server.delivery import Answering
from test.llm_server.responses import OpenAIResponses
from test.llm_server.rules_anthropic import check_conversation
from test.llm_server.turns import Answer, Garbage, Status, Turn
from test.llm_server.wire import Conversation, Json, Memory, Refused, Wire, broken

_ANTHROPIC = AnthropicMessages()
_PATHS: dict[str, Wire] = {
    '/v1/messages': _ANTHROPIC,
    '/v1/responses': OpenAIResponses(),
    '/v1/chat/completions': ChatCompletions(),
}
_MISSING_MODEL = 'no-such-model'
_BYTES_PER_TOKEN = 4


class Host(Protocol):
    """Who knows what to answer."""

    key: str
    memory: Memory

    def next_turn(
        self, path: str, headers: Mapping[str, str], body: Json, said: Conversation
    ) -> Turn:
        """Take note of a request that keeps the rules; what to answer."""

    def violated(self, sentence: str) -> None:
        """Take note of a request that breaks a rule."""

    def left(self) -> None:
        """Take note of a client that went away in the middle of an answer."""


def make_app(find_host: Callable[[], Host]) -> Starlette:
    """The application; paths that it does not know are answered with 404 in plain text.

    Args:
      find_host: who is asked, looked up for each request.
    """

    def post(path: str, wire: Wire, answer: _Answer) -> Route:
        async def endpoint(request: HttpRequest) -> Response | Answering:
            return await _respond(_Exchange(find_host(), wire, request), answer)

        return Route(path, endpoint, methods=['POST'])

    async def models(request: HttpRequest) -> Response | Answering:
        # One path for two vendors, who tell themselves apart by this header.
        theirs = 'anthropic-version' in request.headers
        wire = _ANTHROPIC if theirs else _PATHS['/v1/chat/completions']
        return await _respond(_Exchange(find_host(), wire, request), _models)

    return Starlette(routes=[
        *(post(path, wire, _next_turn) for path, wire in _PATHS.items()),
        post('/v1/messages/count_tokens', _ANTHROPIC, _count_tokens),
        Route('/v1/models', models),
    ])  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Exchange:
    """A request, whom it is for, and in what format."""

    host: Host
    wire: Wire
    request: HttpRequest

    @property
    def key(self) -> str:
        kind, _, bearer = self.request.headers.get('authorization', '').partition(' ')
        return self.request.headers.get('x-api-key') or (bearer if kind == 'Bearer' else '')

    async def body(self, check: Callable[[Json, Mapping[str, str], Memory], None]) -> Json:
        """The body; raise Refused if it breaks a rule."""
        try:
            body = await self.request.json()
            if _MISSING_MODEL in body['model']:
                raise self.wire.unknown_model(body['model'])
            check(body, self.request.headers, self.host.memory)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise broken(f'Invalid request: {type(error).__name__}: {error}') from error
        return body

    def error(self, refused: Refused) -> Response:
        body = self.wire.error(refused)
        return JSONResponse(body, refused.status, headers=refused.headers)


_Answer = Callable[[_Exchange], Awaitable[Response | Answering]]


async def _respond(exchange: _Exchange, answer: _Answer) -> Response | Answering:
    """The answer, or why the request is refused."""
    if exchange.key != exchange.host.key:
        return exchange.error(exchange.wire.wrong_key(exchange.key))
    try:
        return await answer(exchange)
    except Refused as refused:
        if refused.violation:
            exchange.host.violated(f'{exchange.request.url.path}: {refused.message}')
        return exchange.error(refused)


async def _models(exchange: _Exchange) -> Response:
    return JSONResponse(exchange.wire.models())


async def _count_tokens(exchange: _Exchange) -> Response:
    """About how long a request is."""
    await exchange.body(lambda body, headers, memory: check_conversation(body, memory))
    size = len(await exchange.request.body())
    return JSONResponse({'input_tokens': size // _BYTES_PER_TOKEN})


async def _next_turn(exchange: _Exchange) -> Response | Answering:
    """The next turn of the script."""
    wire, request = exchange.wire, exchange.request
    body = await exchange.body(wire.check)
    said = wire.read(body)
    turn = exchange.host.next_turn(request.url.path, request.headers, body, said)
    if isinstance(turn, Garbage):
        return Response(turn.text, media_type=turn.media_type)
    if isinstance(turn, Answer):
        return _deliver(exchange, body, turn)
    refused = wire.words(turn, body)
    if turn.retry_after is not None:
        refused.headers['retry-after'] = f'{turn.retry_after:g}'
    return exchange.error(refused)


def _deliver(exchange: _Exchange, body: Json, answer: Answer) -> Answering:
    wire, how, memory = exchange.wire, answer.delivery, exchange.host.memory
    failure = None if how.error is None else wire.words(Status(how.error), body)
    if body.get('stream'):
        chunks = wire.events(body, answer, memory)
        last = None if failure is None else wire.error_event(failure, begun=bool(how.ends_after))
        return Answering(chunks, 'text/event-stream', how, last, exchange.host.left)
    if failure is not None:
        # What is not streamed has no middle to fail in.
        raise failure
    whole = JSONResponse(wire.whole(body, answer, memory))
    return Answering([bytes(whole.body)], 'application/json', how, None, exchange.host.left)
