"""Errors of OpenAI's two APIs, and what both demand of tools and pictures."""

from __future__ import annotations

import re
from typing import Any

from PIL import Image

from test.llm_server.pictures import BadPicture, decode_url
from test.llm_server.turns import Status
from test.llm_server.wire import Json, Refused, broken

_TOOL_NAME = r'^[a-zA-Z0-9_-]+$'
_LONGEST_NAME = 64
_TYPES = {401: 'invalid_request_error', 429: 'requests'}
_CODES = {401: 'invalid_api_key', 429: 'rate_limit_exceeded'}
_WORDS = {
    403: 'Country, region, or territory not supported',
    404: 'Not found',
    408: 'Request timed out',
    429: 'Rate limit reached for requests. Please try again later.',
    500: 'The server had an error while processing your request. Sorry about that!',
    503: 'The engine is currently overloaded, please try again later',
    529: 'Overloaded',
}
_FORMATS = "['png', 'jpeg', 'gif', 'webp']"
_BAD_PICTURES = {
    'kind': (
        'You uploaded an unsupported image. Please make sure your image has of one the following '
        f'formats: {_FORMATS}.',
        'invalid_image_format',
    ),
    'base64': ('Invalid base64 image_url.', 'invalid_base64_image'),
    'unreadable': (
        'You uploaded an unsupported image. Please make sure your image is valid.',
        'image_parse_error',
    ),
    'mismatch': (
        'The image data does not match the media type of its data URL.', 'invalid_image_format',
    ),
}  # fmt: skip


def error(refused: Refused) -> Json:
    """The body of an error."""
    kind = 'server_error' if refused.status >= 500 else 'invalid_request_error'
    return {
        'error': {
            'message': refused.message,
            'type': _TYPES.get(refused.status, kind),
            'param': refused.param,
            'code': refused.code or _CODES.get(refused.status),
        }
    }


def stream_code(status: int) -> str:
    """The code of an error within a stream."""
    return _CODES.get(status, 'server_error')


def wrong_key(key: str) -> Refused:
    """A key that is not accepted."""
    if not key:
        return Refused(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization "
            'header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).',
        )
    masked = f'{key[:8]}{"*" * max(0, len(key) - 12)}{key[-4:]}' if len(key) > 12 else '****'
    return Refused(
        401,
        f'Incorrect API key provided: {masked}. You can find your API key at '
        'https://platform.openai.com/account/api-keys.',
    )


def unknown_model(model: str) -> Refused:
    """A model that does not exist."""
    return Refused(
        404,
        f'The model `{model}` does not exist or you do not have access to it.',
        code='model_not_found',
    )


def words(status: Status) -> Refused:
    """An error in the vendor's words."""
    if status.kind == 'images':
        return Refused(
            status.code,
            'Invalid content type. image_url is only supported by certain models.',
            param='messages.[1].content.[1].type',
        )
    message = status.message or _WORDS.get(status.code, 'Error')
    return Refused(status.code, message)


def models() -> Json:
    """The list of models."""
    model = {'id': 'gpt-5.5', 'object': 'model', 'created': 1_760_000_000, 'owned_by': 'system'}
    return {'object': 'list', 'data': [model]}


def check_tool(place: str, function: Json) -> None:
    """Raise Refused if a function breaks a rule; `place` is where it stands."""
    name = function.get('name') or ''
    if not re.fullmatch(_TOOL_NAME, name):
        raise broken(
            f"Invalid '{place}.name': string does not match pattern. Expected a string that "
            f"matches the pattern '{_TOOL_NAME}'.",
            code='invalid_value', param=f'{place}.name',
        )  # fmt: skip
    if len(name) > _LONGEST_NAME:
        raise broken(
            f"Invalid '{place}.name': string too long. Expected a string with maximum length "
            f'{_LONGEST_NAME}, but got a string with length {len(name)} instead.',
            code='string_above_max_length', param=f'{place}.name',
        )  # fmt: skip
    schema = function.get('parameters') or {'type': 'object'}
    if schema.get('type') != 'object':
        raise broken(
            f"Invalid schema for function '{name}': schema must be a JSON Schema of "
            f"'type: \"object\"', got 'type: \"{schema.get('type')}\"'.",
            code='invalid_function_parameters', param=f'{place}.parameters',
        )  # fmt: skip


def check_picture(url: str, place: str) -> Image.Image:
    """The picture in a data URL; raise Refused if it is none."""
    try:
        return decode_url(url)
    except BadPicture as bad:
        message, code = _BAD_PICTURES[bad.why]
        raise broken(message, code=code, param=place) from None


def text_of(content: Any) -> str:
    """The words in a message or a result."""
    if isinstance(content, str):
        return content
    return '\n'.join(part['text'] for part in content or [] if 'text' in part)
