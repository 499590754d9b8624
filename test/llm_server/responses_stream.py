"""The items of a response, as its stream brings them."""

from __future__ import annotations

from collections.abc import Iterator

from test.llm_server.wire import Json, pieces


def steps(items: list[Json]) -> Iterator[Json]:
    """The events between the response's first and last."""
    within = {'message': _message, 'reasoning': _reasoning, 'function_call': _call}
    for index, item in enumerate(items):
        begun = {key: value for key, value in item.items() if key != 'encrypted_content'}
        if item['type'] != 'reasoning':
            begun['status'] = 'in_progress'
        begun |= {
            k: type(v)() for k, v in item.items() if k in ('content', 'summary', 'arguments')
        }
        yield {'type': 'response.output_item.added', 'output_index': index, 'item': begun}
        for step in within[item['type']](item):
            yield {**step, 'item_id': item['id'], 'output_index': index}
        yield {'type': 'response.output_item.done', 'output_index': index, 'item': item}


def _message(item: Json) -> Iterator[Json]:
    for at, part in enumerate(item['content']):
        key = 'refusal' if part['type'] == 'refusal' else 'text'
        name = f'response.{part["type"]}'
        more: Json = {} if key == 'refusal' else {'logprobs': []}
        empty = {**part, key: ''}
        yield {'type': 'response.content_part.added', 'content_index': at, 'part': empty}
        for piece in pieces(part[key]):
            yield {'type': f'{name}.delta', 'content_index': at, 'delta': piece, **more}
        yield {'type': f'{name}.done', 'content_index': at, key: part[key], **more}
        yield {'type': 'response.content_part.done', 'content_index': at, 'part': part}


def _reasoning(item: Json) -> Iterator[Json]:
    name = 'response.reasoning_summary'
    for at, part in enumerate(item['summary']):
        empty = {**part, 'text': ''}
        yield {'type': f'{name}_part.added', 'summary_index': at, 'part': empty}
        for piece in pieces(part['text']):
            yield {'type': f'{name}_text.delta', 'summary_index': at, 'delta': piece}
        yield {'type': f'{name}_text.done', 'summary_index': at, 'text': part['text']}
        yield {'type': f'{name}_part.done', 'summary_index': at, 'part': part}


def _call(item: Json) -> Iterator[Json]:
    name = 'response.function_call_arguments'
    for piece in pieces(item['arguments']):
        yield {'type': f'{name}.delta', 'delta': piece}
    yield {'type': f'{name}.done', 'name': item['name'], 'arguments': item['arguments']}
