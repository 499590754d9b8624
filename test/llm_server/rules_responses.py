"""What the Responses API demands of a request, in its own words where they are known."""

from __future__ import annotations

from collections.abc import Iterator

from test.llm_server.openai_errors import check_picture, check_tool
from test.llm_server.wire import Json, Memory, broken

_ROLES = ('assistant', 'system', 'developer', 'user')


def check(body: Json, memory: Memory) -> None:
    """Raise Refused if a request breaks a rule."""
    said = items(body)
    if not said:
        raise broken("Missing required parameter: 'input'.", param='input')
    for index, tool in enumerate(body.get('tools') or []):
        if tool.get('type') == 'function':
            check_tool(f'tools[{index}]', tool)
    _roles(said)
    _unique(said)
    _calls(said)
    _reasoning(said, memory, stored=body.get('store', True))
    for place, url in find_pictures(said):
        check_picture(url, place)


def items(body: Json) -> list[Json]:
    """The input, which may be a single text."""
    said = body.get('input') or []
    return [{'role': 'user', 'content': said}] if isinstance(said, str) else said


def _roles(said: list[Json]) -> None:
    for index, item in enumerate(said):
        if item.get('type', 'message') == 'message' and item.get('role') not in _ROLES:
            raise broken(
                f"Invalid value: '{item.get('role')}'. Supported values are: 'assistant', "
                "'system', 'developer', and 'user'.",
                code='invalid_value', param=f'input[{index}].role',
            )  # fmt: skip


def _unique(said: list[Json]) -> None:
    seen = set()
    for item in said:
        for key in (item.get('id'), (item.get('type'), item.get('call_id'))):
            if not key or key == (item.get('type'), None):
                continue
            if key in seen:
                name = key if isinstance(key, str) else key[1]
                raise broken(
                    f'Duplicate item found with id {name}. Remove duplicate items from your input '
                    'and try again.',
                    param='input',
                )
            seen.add(key)


def _calls(said: list[Json]) -> None:
    """Each answer follows its call, and each call has its answer."""
    left: dict[str, None] = {}
    for item in said:
        if item.get('type') == 'function_call':
            left[item['call_id']] = None
        elif item.get('type') == 'function_call_output':
            if item['call_id'] not in left:
                raise broken(
                    f'No tool call found for function call output with call_id {item["call_id"]}.',
                    param='input',
                )
            del left[item['call_id']]
    for call in left:
        raise broken(f'No tool output found for function call {call}.', param='input')


def _reasoning(said: list[Json], memory: Memory, *, stored: bool) -> None:
    """What a model thought comes back as it was, with the call that it led to."""
    kept = {item['id'] for item in said if item.get('type') == 'reasoning'}
    for index, item in enumerate(said):
        if item.get('type') == 'reasoning':
            _sealed(item, memory, stored)
            if all(later.get('role') == 'user' for later in said[index + 1 :][:1]):
                raise broken(
                    f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                    'following item.',
                    param='input',
                )
        needed = memory.calls.get(item.get('id', ''), '')
        if item.get('type') == 'function_call' and needed and needed not in kept:
            raise broken(
                f"Item '{item['id']}' of type 'function_call' was provided without its required "
                f"'reasoning' item: '{needed}'.",
                param='input',
            )


def _sealed(item: Json, memory: Memory, stored: bool) -> None:
    seal = item.get('encrypted_content')
    if seal is None and not stored:
        raise broken(
            f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set "
            'to false. Try again with `store` set to true, or remove this item from your input.',
            status=404, param='input',
        )  # fmt: skip
    if seal is not None and memory.thoughts.get(item['id']) != seal:
        raise broken(
            f'The encrypted content for item {item["id"]} could not be verified. Reason: '
            'Encrypted content could not be decrypted or parsed.',
            code='invalid_encrypted_content',
        )


def find_pictures(said: list[Json]) -> Iterator[tuple[str, str]]:
    """The place and the URL of each picture."""
    for index, item in enumerate(said):
        for key in ('content', 'output'):
            parts = item.get(key)
            for at, part in enumerate(parts if isinstance(parts, list) else []):
                if part.get('type') == 'input_image' and part.get('image_url'):
                    yield f'input[{index}].{key}[{at}].image_url', part['image_url']
