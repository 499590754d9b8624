"""Cut-outs of recorded pictures, enlarged and with rulers, for eyes that see coarsely."""

from __future__ import annotations

import dataclasses
import io

from PIL import Image, ImageDraw, ImageFont

# Longer side of an enlarged picture [px]; larger ones gain nothing and cost tokens.
MAX_SIDE = 768
MAX_ZOOM = 8
# Room for the rulers' numbers above and left of the picture [px].
_TOP, _LEFT = 14, 30
# Ruler lines are at least this far apart [px].
_LINE_SPACING = 40
_STEPS = (5, 10, 20, 50, 100, 200, 500)


@dataclasses.dataclass(frozen=True)
class CutOut:
    """Part of an image, and where its pixels went.

    Attributes:
      rows, columns: first and last that are shown, both included.
      zoom: each pixel became a square of this many pixels a side.
      offset: row and column of the new picture where the first pixel begins.
    """

    rows: tuple[int, int]
    columns: tuple[int, int]
    zoom: int
    offset: tuple[int, int]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the new picture [px]."""
        return (
            self.offset[1] + (self.columns[1] - self.columns[0] + 1) * self.zoom,
            self.offset[0] + (self.rows[1] - self.rows[0] + 1) * self.zoom,
        )

    def mapping(self, image: str) -> str:
        """How to get from the new picture back to a pixel of `image`, in words."""
        if self.zoom == 1 and self.offset == (self.rows[0], self.columns[0]) == (0, 0):
            return f'[row, column] of this picture is the pixel [row, column] of {image}'
        row = _term(self.rows[0], 'row', self.offset[0], self.zoom)
        column = _term(self.columns[0], 'column', self.offset[1], self.zoom)
        down = ', rounded down,' if self.zoom > 1 else ''
        lines = '; the rulers already count in pixels of it' if any(self.offset) else ''
        return (
            f'[row, column] of this picture is the pixel [{row}, {column}]{down} of {image}{lines}'
        )


def _term(first: int, name: str, offset: int, zoom: int) -> str:
    inner = f'({name} - {offset})' if offset else name
    scaled = f'{inner} / {zoom}' if zoom > 1 else inner
    return f'{first} + {scaled}' if first else scaled


def plan(
    rows: tuple[int, int], columns: tuple[int, int], zoom: int | None, rulers: bool
) -> CutOut:
    """Where the pixels of a part of an image go.

    Args:
      rows: first and last, both included.
      columns: first and last, both included.
      zoom: enlargement; None: as much as fits into MAX_SIDE, at most MAX_ZOOM.
      rulers: leave room for them.
    """
    longer = max(rows[1] - rows[0], columns[1] - columns[0]) + 1
    fits = max(1, min(MAX_ZOOM, MAX_SIDE // longer))
    return CutOut(
        rows,
        columns,
        fits if zoom is None else min(zoom, fits),
        (_TOP, _LEFT) if rulers else (0, 0),
    )


def encode(image: Image.Image, level: int = 1) -> bytes:
    """The picture as PNG; `level` is zlib's: 1 is fast, 9 small."""
    buffer = io.BytesIO()
    image.save(buffer, 'PNG', compress_level=level)
    return buffer.getvalue()


def draw(image: Image.Image, cut: CutOut) -> Image.Image:
    """The cut-out of an RGB image."""
    (top, bottom), (left, right) = cut.rows, cut.columns
    part = image.crop((left, top, right + 1, bottom + 1))
    part = part.resize(
        (part.width * cut.zoom, part.height * cut.zoom), Image.Resampling.LANCZOS
    )
    if not any(cut.offset):
        return part
    out = Image.new('RGB', cut.size, 'white')
    out.paste(part, (cut.offset[1], cut.offset[0]))
    _rule(ImageDraw.Draw(out), cut)
    return out


def _rule(pen: ImageDraw.ImageDraw, cut: CutOut) -> None:
    """Lines through the centres of round-numbered pixels, with their numbers."""
    step = next((s for s in _STEPS if s * cut.zoom >= _LINE_SPACING), _STEPS[-1])
    font = ImageFont.load_default()
    width, height = cut.size
    for row in _multiples(cut.rows, step):
        y = cut.offset[0] + (row - cut.rows[0]) * cut.zoom + cut.zoom // 2
        pen.line([(cut.offset[1], y), (width, y)], fill=(255, 255, 0), width=1)
        pen.text((2, y - 6), str(row), fill='black', font=font)
    for column in _multiples(cut.columns, step):
        x = cut.offset[1] + (column - cut.columns[0]) * cut.zoom + cut.zoom // 2
        pen.line([(x, cut.offset[0]), (x, height)], fill=(255, 255, 0), width=1)
        pen.text((x - 3 * len(str(column)), 1), str(column), fill='black', font=font)


def _multiples(span: tuple[int, int], step: int) -> range:
    return range(-(-span[0] // step) * step, span[1] + 1, step)
