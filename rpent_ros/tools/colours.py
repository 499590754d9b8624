"""Colours in words."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

# Upper end of each hue [degrees].
_HUES = (
    (15, 'red'), (40, 'orange'), (70, 'yellow'), (165, 'green'), (200, 'cyan'), (260, 'blue'),
    (300, 'purple'), (345, 'pink'), (360, 'red'),
)  # fmt: skip
# Below this saturation a colour is a shade of grey.
_GREY = 0.18
_BLACK, _WHITE = 0.15, 0.80
# Dark orange and dark yellow are called brown.
_BROWN = 0.55


def colour_word(rgb: Sequence[float]) -> str:
    """The everyday word for a colour of red, green and blue, 0 to 255."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(float(part) / 255 for part in rgb))
    if value < _BLACK:
        return 'black'
    if saturation < _GREY:
        return 'white' if value > _WHITE else 'grey'
    word = next(name for end, name in _HUES if hue * 360 <= end)
    return 'brown' if word in ('orange', 'yellow') and value < _BROWN else word
