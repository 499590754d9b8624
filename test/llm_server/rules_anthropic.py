"""What the Messages API demands of a request, in its own words where they are known.

From platform.claude.com/docs: api/messages, build-with-claude/vision, /prompt-caching,
/extended-thinking and agents-and-tools/tool-use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from test.llm_server import rules_anthropic_pictures
from test.llm_server.rules_anthropic_pictures import blocks
from test.llm_server.wire import Json, Memory, broken

_TOOL_NAME = r'^[a-zA-Z0-9_-]{1,128}$'
_MARKS = 4
_LEAST_BUDGET = 1024


def check(body: Json, headers: Mapping[str, str], memory: Memory) -> None:
    """Raise Refused if a request breaks a rule."""
    if not headers.get('anthropic-version'):
        raise broken('anthropic-version: header is required')
    _lengths(body)
    check_conversation(body, memory)


def check_conversation(body: Json, memory: Memory) -> None:
    """The rules that hold for count_tokens too."""
    if not body.get('messages'):
        raise broken('messages: at least one message is required')
    _roles(body['messages'])
    _not_empty(body['messages'])
    _tools(body.get('tools', []))
    _calls(body['messages'])
    _thoughts(body, memory)
    rules_anthropic_pictures.check(body['messages'])
    _marks(body)


def _lengths(body: Json) -> None:
    longest = body.get('max_tokens')
    if longest is None:
        raise broken('max_tokens: Field required')
    if not isinstance(longest, int) or longest < 1:
        raise broken('max_tokens: Input should be greater than or equal to 1')
    thinking = body.get('thinking') or {}
    if thinking.get('type') != 'enabled':
        return
    if thinking.get('budget_tokens', 0) < _LEAST_BUDGET:
        raise broken(
            'thinking.enabled.budget_tokens: Input should be greater than or equal to '
            f'{_LEAST_BUDGET}'
        )
    if thinking['budget_tokens'] >= longest:
        raise broken('`max_tokens` must be greater than `thinking.budget_tokens`.')


def _roles(messages: list[Json]) -> None:
    for index, message in enumerate(messages):
        if message.get('role') not in ('user', 'assistant', 'system'):
            raise broken(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    if messages[0]['role'] != 'user':
        raise broken('messages: first message must use the "user" role')
    if messages[-1]['role'] == 'assistant':
        raise broken(
            'This model does not support assistant message prefill. The conversation must end '
            'with a user message.'
        )


def _not_empty(messages: list[Json]) -> None:
    for index, message in enumerate(messages):
        if not message['content']:
            raise broken(
                f'messages.{index}: all messages must have non-empty content except for the '
                'optional final assistant message'
            )
        for block in blocks(message['content']):
            if block['type'] == 'text' and not block['text']:
                raise broken('messages: text content blocks must be non-empty')


def _tools(tools: list[Json]) -> None:
    names = [tool.get('name') for tool in tools]
    for index, tool in enumerate(tools):
        if tool.get('type', 'custom') != 'custom':
            continue
        if not re.fullmatch(_TOOL_NAME, tool['name']):
            raise broken(f"tools.{index}.custom.name: String should match pattern '{_TOOL_NAME}'")
        schema = tool.get('input_schema')
        if not isinstance(schema, dict) or schema.get('type') != 'object':
            raise broken(f"tools.{index}.custom.input_schema.type: Input should be 'object'")
    if len(set(names)) != len(names):
        raise broken('tools: Tool names must be unique.')


def _turns(messages: list[Json]) -> Iterator[tuple[int, str, list[Json]]]:
    """Number, role and blocks of each turn; what one side says in a row is one turn."""
    said: list[Json] = []
    role, begun = '', 0
    for index, message in enumerate(messages):
        if message['role'] != role:
            if said:
                yield begun, role, said
            role, said, begun = message['role'], [], index
        said = said + blocks(message['content'])
    yield begun, role, said


def _calls(messages: list[Json]) -> None:
    """Calls are answered in the next message, before anything else; nothing else is answered."""
    seen: set[str] = set()
    open_calls: list[str] = []
    before = 0
    for index, _, said in _turns(messages):
        answers = [b['tool_use_id'] for b in said if b['type'] == 'tool_result']
        for at, block in enumerate(said):
            if block['type'] == 'tool_result' and block['tool_use_id'] not in open_calls:
                raise broken(
                    f'messages.{index}.content.{at}: unexpected `tool_use_id` found in '
                    f'`tool_result` blocks: {block["tool_use_id"]}. Each `tool_result` block must '
                    'have a corresponding `tool_use` block in the previous message.'
                )
        if len(set(answers)) != len(answers):
            raise broken(
                f'messages.{index}: each tool_use must have a single result. Found multiple '
                '`tool_result` blocks with the same id'
            )
        first = {b['tool_use_id'] for b in said[: len(answers)] if b['type'] == 'tool_result'}
        _answered(before, [call for call in open_calls if call not in first])
        open_calls = [b['id'] for b in said if b['type'] == 'tool_use']
        if len({*seen, *open_calls}) != len(seen) + len(open_calls):
            raise broken(f'messages.{index}: `tool_use` ids must be unique')
        if any(not isinstance(b['input'], dict) for b in said if b['type'] == 'tool_use'):
            raise broken(f'messages.{index}: tool_use.input: Input should be a valid dictionary')
        seen.update(open_calls)
        before = index
    _answered(before, open_calls)


def _answered(index: int, left: list[str]) -> None:
    if left:
        raise broken(
            f'messages.{index}: `tool_use` ids were found without `tool_result` blocks '
            f'immediately after: {", ".join(left)}. Each `tool_use` block must have a '
            'corresponding `tool_result` block in the next message.'
        )


def _thoughts(body: Json, memory: Memory) -> None:
    """Thoughts come back as they were, and are not left out before the calls they led to."""
    mode = (body.get('thinking') or {}).get('type')
    # A model that was told to think has done so; one that may think perhaps has.
    unknown = {'enabled': 'some thought', 'adaptive': ''}.get(mode or '')
    last: list[Json] = []
    for index, role, said in _turns(body['messages']):
        for at, block in enumerate(said):
            if block['type'] != 'thinking':
                continue
            if memory.thoughts.get(block.get('signature', '')) != block['thinking']:
                raise broken(
                    f'messages.{index}.content.{at}: Invalid `signature` in `thinking` block'
                )
        if role == 'assistant':
            last = said
    kept = {block['signature'] for block in last if block['type'] == 'thinking'}
    called = [block['id'] for block in last if block['type'] == 'tool_use']
    for needed in [memory.calls.get(i, unknown) for i in called if unknown is not None]:
        if needed and needed not in kept:
            raise broken(
                'messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`. '
                'When `thinking` is enabled, a final `assistant` message must start with a '
                'thinking block (preceeding the lastmost set of `tool_use` and `tool_result` '
                'blocks).'
            )


def _marks(body: Json) -> None:
    found = sum(_count_marks(body.get(key)) for key in ('system', 'tools', 'messages'))
    found += bool(body.get('cache_control'))
    if found > _MARKS:
        raise broken(
            f'A maximum of {_MARKS} blocks with cache_control may be provided. Found {found}.'
        )


def _count_marks(value: Any) -> int:
    if isinstance(value, list):
        return sum(_count_marks(item) for item in value)
    if not isinstance(value, dict):
        return 0
    # Arguments and schemas are the client's own.
    inner = value.get('content') if value.get('type') != 'tool_use' else None
    return bool(value.get('cache_control')) + _count_marks(inner)
