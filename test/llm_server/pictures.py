"""Reads the pictures of a request as strictly as the vendors do."""

from __future__ import annotations

import base64
import binascii
import io
import re

from PIL import Image

FORMATS = {'image/png': 'PNG', 'image/jpeg': 'JPEG', 'image/webp': 'WEBP', 'image/gif': 'GIF'}
_DATA_URL = re.compile(r'data:(?P<kind>[\w/+.-]+);base64,(?P<data>.*)', re.DOTALL)


class BadPicture(Exception):
    """Raised for a picture that no vendor takes; `why` is kind, base64, mismatch or unreadable."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def decode(kind: str, data: str) -> Image.Image:
    """A picture of a MIME type in base64.

    Raises:
      BadPicture: it is none.
    """
    if kind not in FORMATS:
        raise BadPicture('kind')
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise BadPicture('base64') from None
    try:
        picture = Image.open(io.BytesIO(raw))
        # The header alone may be right where the rest is missing.
        picture.load()
    except (OSError, SyntaxError):
        raise BadPicture('unreadable') from None
    if picture.format != FORMATS[kind]:
        raise BadPicture('mismatch')
    return picture


def decode_url(url: str) -> Image.Image:
    """A picture in a data URL.

    Raises:
      BadPicture: it is none.
    """
    match = _DATA_URL.fullmatch(url)
    if match is None:
        raise BadPicture('base64')
    return decode(match['kind'], match['data'])
