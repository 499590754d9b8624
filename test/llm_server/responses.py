"""OpenAI's Responses API."""

from __future__ import annotations

import time
from collections.abc import Mapping

from test.llm_server import openai_errors, responses_stream, rules_responses
from test.llm_server.openai_errors import text_of
from test.llm_server.pictures import decode_url
from test.llm_server.turns import Answer, Block, Call, Status, Thought, Usage
from test.llm_server.wire import Conversation, Json, Memory, Refused, event, new_id

_ECHOED: Json = {
    'instructions': None, 'max_output_tokens': None, 'metadata': {}, 'parallel_tool_calls': True,
    'previous_response_id': None, 'reasoning': {'effort': None, 'summary': None}, 'store': True,
    'temperature': 1.0, 'text': {'format': {'type': 'text'}}, 'tool_choice': 'auto', 'tools': [],
    'top_p': 1.0, 'truncation': 'disabled',
}  # fmt: skip
_CONTEXT = (
    'Your input exceeds the context window of this model. Please adjust your input and try again.'
)


class OpenAIResponses:
    """POST /v1/responses; see `Wire`."""

    def check(self, body: Json, headers: Mapping[str, str], memory: Memory) -> None:
        rules_responses.check(body, memory)

    def read(self, body: Json) -> Conversation:
        items = rules_responses.items(body)
        tools = [tool.get('name', tool.get('type')) for tool in body.get('tools') or []]
        images = [decode_url(url) for _, url in rules_responses.find_pictures(items)]
        results = [
            text_of(item['output']) for item in items if item.get('type') == 'function_call_output'
        ]
        return Conversation(items, tools, images, results)

    def whole(self, body: Json, answer: Answer, memory: Memory) -> Json:
        return _ended(_response(body), answer, _items(body, answer, memory))

    def events(self, body: Json, answer: Answer, memory: Memory) -> list[bytes]:
        begun = _response(body)
        items = _items(body, answer, memory)
        ended = _ended(begun, answer, items)
        datas: list[Json] = [
            {'type': 'response.created', 'response': begun},
            {'type': 'response.in_progress', 'response': begun},
            *responses_stream.steps(items),
            {'type': f'response.{ended["status"]}', 'response': ended},
        ]
        return [
            event({**data, 'sequence_number': number}, data['type'])
            for number, data in enumerate(datas)
        ]

    def wrong_key(self, key: str) -> Refused:
        return openai_errors.wrong_key(key)

    def unknown_model(self, model: str) -> Refused:
        return openai_errors.unknown_model(model)

    def error(self, refused: Refused) -> Json:
        return openai_errors.error(refused)

    def error_event(self, refused: Refused, begun: bool) -> bytes:
        """The event `error` if nothing was said yet, and `response.failed` later."""
        code = refused.code or openai_errors.stream_code(refused.status)
        told = {'code': code, 'message': refused.message}
        if not begun:
            return event({'type': 'error', **told, 'param': None, 'sequence_number': 0}, 'error')
        failed = {**_response({'model': ''}), 'status': 'failed', 'error': told}
        data: Json = {'type': 'response.failed', 'response': failed, 'sequence_number': 9_999}
        return event(data, data['type'])

    def words(self, status: Status, body: Json) -> Refused:
        if status.kind != 'context':
            return openai_errors.words(status)
        return Refused(status.code, _CONTEXT, code='context_length_exceeded', param='input')

    def models(self) -> Json:
        return openai_errors.models()


def _response(body: Json) -> Json:
    """A response that has only begun."""
    return {
        'id': new_id('resp_'), 'object': 'response', 'created_at': int(time.time()),
        'status': 'in_progress', 'background': False, 'error': None, 'incomplete_details': None,
        'model': body['model'], 'output': [], 'usage': None,
        **{key: body.get(key, value) for key, value in _ECHOED.items()},
    }  # fmt: skip


def _ended(begun: Json, answer: Answer, items: list[Json]) -> Json:
    cut = answer.stop == 'max_tokens'
    return {
        **begun,
        'status': 'incomplete' if cut else 'completed',
        'incomplete_details': {'reason': 'max_output_tokens'} if cut else None,
        'output': items,
        'usage': _usage(answer.usage),
    }


def _usage(used: Usage) -> Json:
    """Here, input is all that was read, cached or not."""
    read = used.input + used.cache_read + used.cache_write
    return {
        'input_tokens': read,
        'input_tokens_details': {
            'cached_tokens': used.cache_read, 'cache_write_tokens': used.cache_write,
        },
        'output_tokens': used.output,
        'output_tokens_details': {'reasoning_tokens': 0},
        'total_tokens': read + used.output,
    }  # fmt: skip


def _items(body: Json, answer: Answer, memory: Memory) -> list[Json]:
    """What the model did, as items; remembers what has to come back."""
    sealed = 'reasoning.encrypted_content' in (body.get('include') or [])
    out: list[Json] = []
    thought = ''
    for block in answer.blocks:
        item = _item(block, refusal=answer.stop == 'refusal')
        if isinstance(block, Thought):
            thought = item['id']
            memory.thoughts[thought] = new_id('gAAAAAB')
            if sealed:
                item['encrypted_content'] = memory.thoughts[thought]
        elif isinstance(block, Call):
            memory.calls[item['id']] = thought
        out.append(item)
    if answer.stop == 'max_tokens' and out:
        out[-1]['status'] = 'incomplete'
    return out


def _item(block: Block, *, refusal: bool) -> Json:
    if isinstance(block, Thought):
        summary = [{'type': 'summary_text', 'text': block.text}]
        return {'id': new_id('rs_'), 'type': 'reasoning', 'summary': summary}
    if isinstance(block, Call):
        return {
            'id': new_id('fc_'), 'type': 'function_call', 'status': 'completed',
            'call_id': new_id('call_'), 'name': block.name, 'arguments': block.arguments,
        }  # fmt: skip
    content: Json = {
        'type': 'output_text', 'text': block.text, 'annotations': [], 'logprobs': [],
    }  # fmt: skip
    if refusal:
        content = {'type': 'refusal', 'refusal': block.text}
    return {
        'id': new_id('msg_'), 'type': 'message', 'status': 'completed', 'role': 'assistant',
        'content': [content],
    }  # fmt: skip
