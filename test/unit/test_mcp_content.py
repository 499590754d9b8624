"""Tool results as MCP content: pictures that fit into what clients take."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from rpent_ros.errors import ErrorCode
from rpent_ros.mcp.content import IMAGE_BYTES, to_content
from rpent_ros.tools.result import ToolImage, ToolResult


@pytest.fixture
def picture(tmp_path):
    """Makes a picture file; noise compresses to nothing less than its pixels."""

    def make(width, height, *, noise=False, kind='PNG', name='picture'):
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[: height // 2] = (200, 30, 30)
        if noise:
            pixels = np.random.default_rng(0).integers(0, 256, pixels.shape, np.uint8)
        path = tmp_path / f'{name}.{kind.lower()}'
        Image.fromarray(pixels).save(path, kind)
        return ToolImage(name, path, width, height)

    return make


def decoded(block):
    return Image.open(io.BytesIO(base64.b64decode(block.data)))


@pytest.mark.parametrize(('kind', 'mime'), [('PNG', 'image/png'), ('JPEG', 'image/jpeg')])
def test_a_picture_that_fits_is_sent_as_it_is(picture, kind, mime):
    image = picture(320, 240, kind=kind, name='wrist')
    _, label, block = to_content(ToolResult(images=(image,)))
    assert (label.text, block.mime_type) == ('wrist, 320 x 240 px:', mime)
    assert base64.b64decode(block.data) == image.path.read_bytes()


def test_a_large_png_becomes_a_jpeg_of_the_same_size(picture):
    image = picture(480, 480, noise=True)
    assert image.path.stat().st_size > 600_000
    _, label, block = to_content(ToolResult(images=(image,)))
    assert (label.text, block.mime_type) == ('picture, 480 x 480 px:', 'image/jpeg')
    assert (decoded(block).format, decoded(block).size) == ('JPEG', (480, 480))
    assert len(block.data) <= IMAGE_BYTES


def test_all_pictures_of_a_result_share_the_room(picture):
    images = [picture(700, 500, noise=True, name=f'camera{n}') for n in range(6)]
    blocks = to_content(ToolResult(images=tuple(images)))
    shown = [block for block in blocks if block.type == 'image']
    assert len(shown) == 6
    assert sum(len(block.data) for block in shown) <= IMAGE_BYTES
    # Coordinates in a smaller picture mean something else, so it is said.
    assert blocks[1].text == 'camera0, 700 x 500 px, shown at 350 x 250 px:'
    assert decoded(shown[0]).size == (350, 250)


def test_no_side_is_longer_than_a_long_conversation_may_have(picture):
    _, label, block = to_content(ToolResult(images=(picture(2400, 600),)))
    assert label.text == 'picture, 2400 x 600 px, shown at 2000 x 500 px:'
    assert decoded(block).size == (2000, 500)


def test_a_picture_that_is_gone_is_said(picture, tmp_path):
    image = ToolImage('wrist', tmp_path / 'gone.png', 64, 64)
    (tmp_path / 'broken.png').write_bytes(b'no picture')
    broken = ToolImage('agentview', tmp_path / 'broken.png', 64, 64)
    _, gone, unreadable = to_content(ToolResult(images=(image, broken)))
    assert gone.text == (
        'wrist, 64 x 64 px: the picture cannot be read: No such file or directory'
    )
    assert unreadable.text.startswith('agentview, 64 x 64 px: the picture cannot be read: cannot')


def test_json_first_and_messages_last(picture):
    result = ToolResult(
        ErrorCode.NOT_REACHED, 'stopped at 0.1 m', {'distance': 0.1, 'note': 'größer'},
        (picture(8, 8),),
    )  # fmt: skip
    blocks = to_content(result, ['stop', 'go home'])
    assert json.loads(blocks[0].text) == {
        'ok': False, 'code': 'NOT_REACHED', 'message': 'stopped at 0.1 m', 'distance': 0.1,
        'note': 'größer', 'images': [{'camera': 'picture', 'width': 8, 'height': 8}],
    }  # fmt: skip
    assert 'größer' in blocks[0].text
    assert [block.text for block in blocks[3:]] == [
        'Message from the operator: stop', 'Message from the operator: go home',
    ]  # fmt: skip
