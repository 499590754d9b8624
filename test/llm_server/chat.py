"""OpenAI's Chat Completions API, as vLLM, Ollama, llama.cpp and others speak it too."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from test.llm_server import openai_errors, rules_chat
from test.llm_server.openai_errors import text_of
from test.llm_server.pictures import decode_url
from test.llm_server.turns import Answer, Call, Status, Text, Thought, Usage
from test.llm_server.wire import Conversation, Json, Memory, Refused, event, new_id, pieces

_DONE = b'data: [DONE]\n\n'


class ChatCompletions:
    """POST /v1/chat/completions; see `Wire`."""

    def check(self, body: Json, headers: Mapping[str, str], memory: Memory) -> None:
        rules_chat.check(body)

    def read(self, body: Json) -> Conversation:
        messages = body['messages']
        tools = [tool['function']['name'] for tool in body.get('tools') or []]
        images = [decode_url(url) for _, url in rules_chat.find_pictures(messages)]
        results = [text_of(m['content']) for m in messages if m['role'] == 'tool']
        return Conversation(messages, tools, images, results)

    def whole(self, body: Json, answer: Answer, memory: Memory) -> Json:
        said = ''.join(b.text for b in answer.blocks if isinstance(b, Text))
        thought = ''.join(b.text for b in answer.blocks if isinstance(b, Thought))
        calls = [_call(b, b.arguments) for b in answer.blocks if isinstance(b, Call)]
        message: Json = {'role': 'assistant', 'content': said or None, 'refusal': None}
        if answer.stop == 'refusal':
            message |= {'content': None, 'refusal': said}
        if thought:
            message['reasoning_content'] = thought
        if calls:
            message['tool_calls'] = calls
        choice = {
            'index': 0, 'message': message, 'logprobs': None, 'finish_reason': _finish(answer),
        }  # fmt: skip
        return {
            **_head(body, 'chat.completion'), 'choices': [choice], 'usage': _usage(answer.usage),
        }  # fmt: skip

    def events(self, body: Json, answer: Answer, memory: Memory) -> list[bytes]:
        head = _head(body, 'chat.completion.chunk')
        usage: Json = {}
        last: list[Json] = []
        if (body.get('stream_options') or {}).get('include_usage'):
            usage = {'usage': None}
            last = [{**head, 'choices': [], 'usage': _usage(answer.usage)}]
        steps: list[tuple[Json, str | None]] = [(delta, None) for delta in _deltas(answer)] + [
            ({}, _finish(answer))
        ]
        chunks = [
            {
                **head,
                'choices': [{
                    'index': 0, 'delta': delta, 'logprobs': None, 'finish_reason': finish,
                }],
                **usage,
            }
            for delta, finish in steps
        ]  # fmt: skip
        return [*(event(chunk) for chunk in [*chunks, *last]), _DONE]

    def wrong_key(self, key: str) -> Refused:
        return openai_errors.wrong_key(key)

    def unknown_model(self, model: str) -> Refused:
        return openai_errors.unknown_model(model)

    def error(self, refused: Refused) -> Json:
        return openai_errors.error(refused)

    def error_event(self, refused: Refused, begun: bool) -> bytes:
        return event(self.error(refused))

    def words(self, status: Status, body: Json) -> Refused:
        if status.kind != 'context':
            return openai_errors.words(status)
        return Refused(
            status.code,
            "This model's maximum context length is 128000 tokens. However, your messages "
            'resulted in 140000 tokens. Please reduce the length of the messages.',
            code='context_length_exceeded',
            param='messages',
        )

    def models(self) -> Json:
        return openai_errors.models()


def _head(body: Json, kind: str) -> Json:
    return {
        'id': new_id('chatcmpl-'), 'object': kind, 'created': int(time.time()),
        'model': body['model'],
    }  # fmt: skip


def _usage(used: Usage) -> Json:
    """Here, input is all that was read, cached or not."""
    read = used.input + used.cache_read + used.cache_write
    details = {'cached_tokens': used.cache_read}
    if used.cache_write:
        details['cache_write_tokens'] = used.cache_write
    return {
        'prompt_tokens': read,
        'completion_tokens': used.output,
        'total_tokens': read + used.output,
        'prompt_tokens_details': details,
    }


def _finish(answer: Answer) -> str:
    if answer.stop == 'max_tokens':
        return 'length'
    called = any(isinstance(block, Call) for block in answer.blocks)
    return 'tool_calls' if called else 'stop'


def _call(block: Call, arguments: str) -> Json:
    return {
        'id': new_id('call_'), 'type': 'function',
        'function': {'name': block.name, 'arguments': arguments},
    }  # fmt: skip


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    yield {'role': 'assistant', 'content': '', 'refusal': None}
    calls = 0
    for block in answer.blocks:
        if isinstance(block, Call):
            yield {'tool_calls': [{'index': calls, **_call(block, '')}]}
            for piece in pieces(block.arguments):
                yield {'tool_calls': [{'index': calls, 'function': {'arguments': piece}}]}
            calls += 1
            continue
        key = 'reasoning_content'
        if isinstance(block, Text):
            key = 'refusal' if answer.stop == 'refusal' else 'content'
        yield from ({key: piece} for piece in pieces(block.text))
