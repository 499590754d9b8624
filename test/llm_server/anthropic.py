"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from PIL import Image

from test.llm_server import rules_anthropic
from test.llm_server.anthropic_content import make_content, steps
from test.llm_server.pictures import decode
from test.llm_server.rules_anthropic_pictures import blocks
from test.llm_server.turns import Answer, Call, Status, Text, Usage
from test.llm_server.wire import Conversation, Json, Memory, Refused, event, new_id

_TYPES = {
    401: 'authentication_error', 402: 'billing_error', 403: 'permission_error',
    404: 'not_found_error', 408: 'timeout_error', 413: 'request_too_large',
    429: 'rate_limit_error', 504: 'timeout_error', 529: 'overloaded_error',
}  # fmt: skip
_WORDS = {
    403: 'Your API key does not have permission to use the specified resource.',
    404: 'Not Found',
    408: 'Request timed out',
    413: 'Request exceeds the maximum size',
    429: "This request would exceed your account's rate limit. Please try again later.",
    500: 'Internal server error',
    503: 'Service unavailable',
    529: 'Overloaded',
}
_STOPS = {'max_tokens': 'max_tokens', 'refusal': 'refusal'}


class AnthropicMessages:
    """POST /v1/messages; see `Wire`."""

    def check(self, body: Json, headers: Mapping[str, str], memory: Memory) -> None:
        rules_anthropic.check(body, headers, memory)

    def read(self, body: Json) -> Conversation:
        messages = body['messages']
        images: list[Image.Image] = []
        results: list[str] = []
        for message in messages:
            for block in blocks(message['content']):
                inner = [block]
                if block['type'] == 'tool_result':
                    inner = blocks(block.get('content', ''))
                    results.append('\n'.join(b['text'] for b in inner if b['type'] == 'text'))
                images += [_picture(b) for b in inner if _is_picture(b)]
        tools = [tool.get('name', tool.get('type')) for tool in body.get('tools', [])]
        return Conversation(messages, tools, images, results)

    def whole(self, body: Json, answer: Answer, memory: Memory) -> Json:
        return {
            **_message(body, answer, _usage(answer.usage)),
            'content': make_content(answer, memory),
            **_stop(answer),
        }

    def events(self, body: Json, answer: Answer, memory: Memory) -> list[bytes]:
        datas = self._events(body, answer, memory)
        return [event(data, data['type']) for data in datas]

    def _events(self, body: Json, answer: Answer, memory: Memory) -> Iterator[Json]:
        used = _usage(answer.usage)
        started = _message(body, answer, used | {'output_tokens': 1})
        yield {'type': 'message_start', 'message': started}
        yield {'type': 'ping'}
        yield from steps(answer, make_content(answer, memory))
        yield {'type': 'message_delta', 'delta': _stop(answer), 'usage': used}
        yield {'type': 'message_stop'}

    def wrong_key(self, key: str) -> Refused:
        return Refused(401, 'invalid x-api-key' if key else 'x-api-key header is required')

    def unknown_model(self, model: str) -> Refused:
        return Refused(404, f'model: {model}')

    def error(self, refused: Refused) -> Json:
        kind = _TYPES.get(refused.status)
        if kind is None:
            kind = 'api_error' if refused.status >= 500 else 'invalid_request_error'
        return {
            'type': 'error',
            'error': {'type': kind, 'message': refused.message},
            'request_id': new_id('req_'),
        }

    def error_event(self, refused: Refused, begun: bool) -> bytes:
        return event(self.error(refused), 'error')

    def words(self, status: Status, body: Json) -> Refused:
        message = status.message or _WORDS.get(status.code, 'Error')
        if status.kind == 'images':
            message = f"'{body['model']}' does not support image input."
        elif status.kind == 'context':
            message = 'prompt is too long: 213462 tokens > 200000 maximum'
        return Refused(status.code, message)

    def models(self) -> Json:
        name = 'claude-opus-4-8'
        model = {
            'type': 'model', 'id': name, 'display_name': name,
            'created_at': '2026-05-01T00:00:00Z', 'lifecycle': 'active',
        }  # fmt: skip
        return {'data': [model], 'has_more': False, 'first_id': name, 'last_id': name}


def _is_picture(block: Json) -> bool:
    return block['type'] == 'image' and block['source']['type'] == 'base64'


def _picture(block: Json) -> Image.Image:
    return decode(block['source']['media_type'], block['source']['data'])


def _usage(used: Usage) -> dict[str, Any]:
    return {
        'input_tokens': used.input,
        'cache_creation_input_tokens': used.cache_write,
        'cache_read_input_tokens': used.cache_read,
        'output_tokens': used.output,
    }


def _message(body: Json, answer: Answer, usage: Json) -> Json:
    return {
        'id': new_id('msg_01'), 'type': 'message', 'role': 'assistant', 'model': body['model'],
        'content': [], 'stop_reason': None, 'stop_sequence': None, 'usage': usage,
    }  # fmt: skip


def _stop(answer: Answer) -> Json:
    """Why the answer ended; a refusal is told here, and nothing is said."""
    called = any(isinstance(block, Call) for block in answer.blocks)
    reason = _STOPS.get(answer.stop, 'tool_use' if called else 'end_turn')
    out: Json = {'stop_reason': reason, 'stop_sequence': None}
    if answer.stop == 'refusal':
        why = ' '.join(b.text for b in answer.blocks if isinstance(b, Text))
        out['stop_details'] = {'type': 'refusal', 'category': None, 'explanation': why}
    return out
