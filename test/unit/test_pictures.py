"""Every pixel of a cut-out comes from where its mapping says."""

import numpy as np
import pytest
from PIL import Image

from rpent_ros.tools import pictures
from rpent_ros.tools.colours import colour_word


def numbered(height, width):
    """An image whose colours are the row and the column."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0], pixels[..., 1] = np.indices((height, width))
    return Image.fromarray(pixels)


@pytest.mark.parametrize('rulers', [False, True])
@pytest.mark.parametrize('zoom', [1, 3])
def test_pixels_are_where_the_offset_and_zoom_say(zoom, rulers):
    cut = pictures.plan((20, 49), (100, 139), zoom, rulers)
    picture = pictures.draw(numbered(120, 160), cut)
    assert picture.size == cut.size
    top, left = cut.offset
    shown = np.array(picture)
    off = 0
    for row in range(20, 50):
        for column in range(100, 140):
            # The middle of the square that the pixel became.
            r = top + (row - 20) * zoom + zoom // 2
            c = left + (column - 100) * zoom + zoom // 2
            wrong = np.abs(shown[r, c, :2].astype(int) - [row, column]).max() > 1
            off += wrong
            # Lines of the rulers lie on round numbers only.
            assert not wrong or (rulers and (row % 5 == 0 or column % 5 == 0))
    assert (off > 0) == rulers


def test_rulers_run_through_the_centres_of_round_pixels():
    cut = pictures.plan((95, 134), (0, 39), 4, True)
    picture = np.array(pictures.draw(numbered(140, 60), cut))
    yellow = (picture == [255, 255, 0]).all(axis=-1)
    rows = np.flatnonzero(yellow[:, cut.offset[1] :].all(axis=1))
    assert [95 + (row - cut.offset[0]) // 4 for row in rows] == [100, 110, 120, 130]


@pytest.mark.parametrize(
    ('rows', 'columns', 'zoom', 'got'),
    [
        ((0, 99), (0, 49), None, 7),
        ((0, 9), (0, 9), None, pictures.MAX_ZOOM),
        ((0, 511), (0, 511), None, 1),
        ((0, 1023), (0, 99), None, 1),
        ((0, 99), (0, 49), 3, 3),
        ((0, 99), (0, 49), 8, 7),
    ],
)
def test_zoom_fits_the_largest_picture(rows, columns, zoom, got):
    assert pictures.plan(rows, columns, zoom, False).zoom == got


@pytest.mark.parametrize(
    ('cut', 'words'),
    [
        (
            pictures.CutOut((0, 63), (0, 63), 1, (0, 0)),
            '[row, column] of this picture is the pixel [row, column] of x',
        ),
        (
            pictures.CutOut((20, 49), (0, 39), 1, (0, 0)),
            '[row, column] of this picture is the pixel [20 + row, column] of x',
        ),
        (
            pictures.CutOut((20, 49), (100, 139), 3, (14, 30)),
            '[row, column] of this picture is the pixel [20 + (row - 14) / 3, '
            '100 + (column - 30) / 3], rounded down, of x; the rulers already count in pixels '
            'of it',
        ),
    ],
)
def test_mapping_in_words(cut, words):
    assert cut.mapping('x') == words


@pytest.mark.parametrize(
    ('rgb', 'word'),
    [
        ((200, 40, 40), 'red'), ((40, 70, 200), 'blue'), ((40, 160, 70), 'green'),
        ((230, 200, 40), 'yellow'), ((240, 130, 20), 'orange'), ((90, 60, 30), 'brown'),
        ((10, 12, 9), 'black'), ((250, 250, 245), 'white'), ((128, 126, 130), 'grey'),
        ((150, 60, 200), 'purple'), ((240, 90, 150), 'pink'), ((60, 190, 200), 'cyan'),
        ((180, 20, 40), 'red'),
    ],
)  # fmt: skip
def test_colours_in_words(rgb, word):
    assert colour_word(rgb) == word
