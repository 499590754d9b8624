"""Pictures of tool results, as models take them, each under a line that names it."""

from __future__ import annotations

import dataclasses
import io

from PIL import Image
from pydantic_ai.messages import BinaryContent

from rpent_ros.tools.result import ToolImage

# The Messages API refuses larger pictures once a conversation holds more than 20 [px].
MAX_SIDE = 2000
# The Messages API refuses larger files: 5 MB of base64 [bytes].
MAX_BYTES = 3_500_000
_JPEG_QUALITY = 85


@dataclasses.dataclass(frozen=True, eq=False)
class Picture:
    """A picture in a conversation.

    Attributes:
      camera: what it shows, for people and models.
      call: number of the tool call that it came from.
      label: the line above it.
      content: the picture itself.
    """

    camera: str
    call: int
    label: str
    content: BinaryContent

    @property
    def size(self) -> int:
        """Its size [bytes]."""
        return len(self.content.data)

    @property
    def absence(self) -> str:
        """The line that takes its place."""
        return f'[picture {self.camera} of call {self.call} was left out to save room]'


def load(image: ToolImage, call: int) -> Picture | str:
    """Read a picture; a line that says why where that is impossible."""
    label = f'{image.camera}, {image.width} x {image.height} px'
    try:
        kind, data, shown = _fit(image.path.read_bytes())
    except OSError as error:
        return f'{label}: the picture cannot be read: {error.strerror or error}'
    if shown != (image.width, image.height):
        label += f', shown at {shown[0]} x {shown[1]} px'
    content = BinaryContent(data, media_type=kind, identifier=f'{image.camera}-{call}')
    return Picture(image.camera, call, f'{label}:', content)


def _fit(data: bytes) -> tuple[str, bytes, tuple[int, int]]:
    """MIME type, bytes and size of a picture that providers take; as it is if it does already."""
    with Image.open(io.BytesIO(data)) as image:
        if max(image.size) <= MAX_SIDE and len(data) <= MAX_BYTES and image.format == 'PNG':
            return 'image/png', data, image.size
        picture = image.convert('RGB')
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, 'JPEG', quality=_JPEG_QUALITY)
    return 'image/jpeg', buffer.getvalue(), picture.size
