"""Tool results as MCP content: the JSON first, then each picture under a line that names it.

Three habits of clients decide the form:

- Claude Code and Codex show a model the structured content alone where there is any, and lose the
  pictures, so there is none (anthropics/claude-code issue 54737, openai/codex issue 38287).
- Claude Code shows only the first block of a result that is marked as an error
  (anthropics/claude-code issue 39976), so a motion that failed, whose pictures tell why, is an
  ordinary result with "ok": false; marked are only calls that never ran, in a single block.
- Claude Desktop refuses results above 1 MB, and so does the official Python client by default.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from mcp import types
from PIL import Image

from rpent_ros.tools.result import ToolImage, ToolResult

# Base64 text of all pictures of a result [bytes]; the JSON needs the rest of the 1 MB.
IMAGE_BYTES = 750_000
# The Messages API refuses larger pictures once a conversation holds more than 20 [px].
MAX_SIDE = 2000
_JPEG_QUALITIES = (92, 80, 60)


def to_content(result: ToolResult, messages: Iterable[str] = ()) -> list[types.ContentBlock]:
    """The blocks of a result.

    Args:
      result: what the tool answered.
      messages: what people have to say to the planner.
    """
    blocks: list[types.ContentBlock] = [json_block(result.to_json())]
    share = IMAGE_BYTES // max(1, len(result.images))
    for image in result.images:
        blocks += _picture(image, share)
    blocks += [text_block(f'Message from the operator: {message}') for message in messages]
    return blocks


def json_block(value: Mapping[str, Any]) -> types.TextContent:
    """A JSON object as a block of text."""
    return text_block(json.dumps(value, ensure_ascii=False))


def text_block(text: str) -> types.TextContent:
    """A block of text."""
    return types.TextContent(text=text)


def _picture(image: ToolImage, limit: int) -> list[types.ContentBlock]:
    """A line about a picture, and the picture in at most `limit` bytes of base64."""
    label = f'{image.camera}, {image.width} x {image.height} px'
    try:
        data = image.path.read_bytes()
        kind, data, shown = _fit(data, limit)
    except OSError as error:
        reason = error.strerror or error
        return [text_block(f'{label}: the picture cannot be read: {reason}')]
    if shown != (image.width, image.height):
        label += f', shown at {shown[0]} x {shown[1]} px'
    return [
        text_block(f'{label}:'),
        types.ImageContent(data=base64.b64encode(data).decode(), mime_type=kind),
    ]


def _fit(data: bytes, limit: int) -> tuple[str, bytes, tuple[int, int]]:
    """MIME type, bytes and size of a picture that fits; as it is if it does already."""
    with Image.open(io.BytesIO(data)) as image:
        small = _base64_size(data) <= limit
        if small and max(image.size) <= MAX_SIDE and image.format in ('PNG', 'JPEG'):
            return f'image/{image.format.lower()}', data, image.size
        picture = image.convert('RGB')
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    while True:
        for quality in _JPEG_QUALITIES:
            buffer = io.BytesIO()
            picture.save(buffer, 'JPEG', quality=quality)
            if _base64_size(buffer.getvalue()) <= limit:
                return 'image/jpeg', buffer.getvalue(), picture.size
        picture = picture.resize((max(1, picture.width // 2), max(1, picture.height // 2)))


def _base64_size(data: bytes) -> int:
    return -(-len(data) // 3) * 4
