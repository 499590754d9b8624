"""What the Chat Completions API demands of a request, in its own words where they are known."""

from __future__ import annotations

from collections.abc import Iterator

from test.llm_server.openai_errors import check_picture, check_tool
from test.llm_server.wire import Json, broken

_ROLES = ('system', 'assistant', 'user', 'function', 'tool', 'developer')


def check(body: Json) -> None:
    """Raise Refused if a request breaks a rule."""
    messages = body.get('messages')
    if not messages:
        raise broken("Missing required parameter: 'messages'.", param='messages')
    for index, message in enumerate(messages):
        if message.get('role') not in _ROLES:
            raise broken(
                f"Invalid value: '{message.get('role')}'. Supported values are: "
                "'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
                code='invalid_value', param=f'messages[{index}].role',
            )  # fmt: skip
    for index, tool in enumerate(body.get('tools') or []):
        check_tool(f'tools[{index}].function', tool['function'])
    _calls(messages)
    for place, url in find_pictures(messages):
        check_picture(url, place)


def _calls(messages: list[Json]) -> None:
    """The answers of all calls stand right behind them; there is no answer without a call."""
    seen: set[str] = set()
    left: list[str] = []
    for index, message in enumerate(messages):
        if message['role'] == 'tool':
            if message.get('tool_call_id') not in left:
                raise broken(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'.",
                    param=f'messages.[{index}].role',
                )
            left.remove(message['tool_call_id'])
            continue
        _answered(index, left)
        left = [call['id'] for call in message.get('tool_calls') or []]
        for call in left:
            if call in seen:
                raise broken(
                    f"Duplicate value for 'tool_call_id' of '{call}'",
                    param=f'messages.[{index}].tool_calls',
                )
            seen.add(call)
    _answered(len(messages), left)


def _answered(index: int, left: list[str]) -> None:
    if left:
        raise broken(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f'{", ".join(left)}',
            param=f'messages.[{index}].role',
        )


def find_pictures(messages: list[Json]) -> Iterator[tuple[str, str]]:
    """The place and the URL of each picture."""
    for index, message in enumerate(messages):
        content = message.get('content')
        for at, part in enumerate(content if isinstance(content, list) else []):
            if part['type'] != 'image_url':
                continue
            place = f'messages[{index}].content[{at}].image_url'
            if message['role'] != 'user':
                raise broken(
                    f"Image URLs are only allowed for messages with role 'user', but this message "
                    f"with role '{message['role']}' contains an image URL.",
                    code='invalid_request_error', param=f'messages.[{index}].role',
                )  # fmt: skip
            yield place, part['image_url']['url']
