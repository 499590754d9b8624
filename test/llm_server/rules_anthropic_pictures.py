"""What the Messages API demands of pictures, from platform.claude.com/docs, vision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PIL import Image

from test.llm_server.pictures import BadPicture, decode
from test.llm_server.wire import Json, broken

# Of the base64 [bytes].
_IMAGE_BYTES = 5 * 1024 * 1024
# More pictures than these must be smaller; longest sides [px].
_MANY_IMAGES = 20
_SIDE = 8000
_SIDE_OF_MANY = 2000
_BAD_PICTURES = {
    'kind': "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    'base64': 'data: The image data is not valid base64',
    'unreadable': 'data: Could not process image',
    'mismatch': 'data: The image was specified using another media type than it appears to be',
}


def check(messages: list[Json]) -> None:
    """Raise Refused if a picture of these messages breaks a rule."""
    found = list(_find_pictures(messages))
    many = len(found) > _MANY_IMAGES
    for place, source in found:
        if len(source['data']) > _IMAGE_BYTES:
            raise broken(
                f'{place}: image exceeds 5 MB maximum: {len(source["data"])} bytes > '
                f'{_IMAGE_BYTES} bytes'
            )
        picture = _decode(place, source)
        if max(picture.size) > (_SIDE_OF_MANY if many else _SIDE):
            limit = f' for many-image requests: {_SIDE_OF_MANY}' if many else f': {_SIDE}'
            raise broken(
                f'{place}.data: At least one of the image dimensions exceed max allowed size'
                f'{limit} pixels'
            )


def _decode(place: str, source: Json) -> Image.Image:
    try:
        return decode(source['media_type'], source['data'])
    except BadPicture as error:
        raise broken(f'{place}.{_BAD_PICTURES[error.why]}') from None


def _find_pictures(messages: list[Json]) -> Iterator[tuple[str, Json]]:
    """The place and the source of each picture."""
    for index, message in enumerate(messages):
        for at, block in enumerate(blocks(message['content'])):
            place = f'messages.{index}.content.{at}'
            inner = [(place, block)]
            if block['type'] == 'tool_result':
                results = blocks(block.get('content', ''))
                inner = [(f'{place}.content.{i}', b) for i, b in enumerate(results)]
            for where, b in inner:
                if b['type'] == 'image' and b['source']['type'] == 'base64':
                    yield f'{where}.image.source.base64', b['source']


def blocks(content: Any) -> list[Json]:
    """The blocks of a message or of a result."""
    return [{'type': 'text', 'text': content}] if isinstance(content, str) else content
