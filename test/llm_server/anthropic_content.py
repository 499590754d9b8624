"""The content of an answer of the Messages API, whole and as its stream brings it."""

from __future__ import annotations

from collections.abc import Iterator

from test.llm_server.turns import Answer, Block, Call, Text, Thought
from test.llm_server.wire import Json, Memory, new_id, object_of, pieces


def make_content(answer: Answer, memory: Memory) -> list[Json]:
    """The blocks of an answer; remembers what has to come back."""
    if answer.stop == 'refusal':
        return []
    out: list[Json] = []
    signature = ''
    for block in answer.blocks:
        made = _block(block)
        if isinstance(block, Thought):
            signature = made['signature']
            memory.thoughts[signature] = block.text
        elif isinstance(block, Call):
            memory.calls[made['id']] = signature
        out.append(made)
    return out


def _block(block: Block) -> Json:
    if isinstance(block, Thought):
        return {'type': 'thinking', 'thinking': block.text, 'signature': new_id('Eq')}
    if isinstance(block, Text):
        return {'type': 'text', 'text': block.text}
    return {
        'type': 'tool_use',
        'id': new_id('toolu_01'),
        'name': block.name,
        'input': object_of(block.arguments),
    }


def steps(answer: Answer, content: list[Json]) -> Iterator[Json]:
    """The events of a stream that bring the blocks."""
    for index, (block, said) in enumerate(zip(content, answer.blocks, strict=False)):
        yield {'type': 'content_block_start', 'index': index, 'content_block': _empty(block)}
        for delta in _deltas(block, said):
            yield {'type': 'content_block_delta', 'index': index, 'delta': delta}
        yield {'type': 'content_block_stop', 'index': index}


def _empty(block: Json) -> Json:
    """A block as its stream begins."""
    begin: Json = {'thinking': '', 'signature': '', 'text': '', 'input': {}}
    return {key: begin.get(key, value) for key, value in block.items()}


def _deltas(block: Json, said: Block) -> Iterator[Json]:
    if isinstance(said, Text):
        yield from ({'type': 'text_delta', 'text': piece} for piece in pieces(said.text))
    elif isinstance(said, Thought):
        for piece in pieces(said.text):
            yield {'type': 'thinking_delta', 'thinking': piece}
        yield {'type': 'signature_delta', 'signature': block['signature']}
    else:
        for piece in ['', *pieces(said.arguments)]:
            yield {'type': 'input_json_delta', 'partial_json': piece}
