"""Points from pixels, against geometry worked out by hand."""

import numpy as np
import pytest

from rpent_ros.errors import BadPixel
from rpent_ros.geometry import Pose, quaternion_from_matrix
from rpent_ros.states import MAX_DEPTH, encode_depth, load_depth
from rpent_ros.tools import projection

K = np.array([[100.0, 0.0, 49.5], [0.0, 100.0, 39.5], [0.0, 0.0, 1.0]])
# Looks straight down from 1 m above the base origin: image right is +x, image down is -y.
DOWN = Pose([0.0, 0.0, 1.0], quaternion_from_matrix(np.diag([1.0, -1.0, -1.0])))


def table_with_box() -> np.ndarray:
    """A table at z = 0 and a box of 0.1 m height in the rows 20-39 and columns 50-69."""
    depth = np.full((80, 100), 1.0)
    depth[20:40, 50:70] = 0.9
    return depth


def test_pixel_on_the_table():
    found = projection.locate_pixel(table_with_box(), K, DOWN, 60, 10, 'top')
    # (10 - 49.5) / 100 * 1.0 to the right, (60 - 39.5) / 100 * 1.0 down the image.
    np.testing.assert_allclose(found.xyz, [-0.395, -0.205, 0.0], atol=1e-12)
    # 5 x 5 pixels of 0.01 m: the middle 80 % span four of them.
    np.testing.assert_allclose(found.spread, [0.02, 0.02, 0.0], atol=1e-12)
    assert found.n_valid == 25


def test_pixel_at_an_edge_has_a_large_spread():
    inside = projection.locate_pixel(table_with_box(), K, DOWN, 30, 60, 'top')
    edge = projection.locate_pixel(table_with_box(), K, DOWN, 20, 60, 'top')
    assert inside.spread[2] == pytest.approx(0.0)
    assert edge.spread[2] == pytest.approx(0.05)


def test_region_with_a_band_of_heights_finds_the_box():
    found = projection.locate_region(
        table_with_box(), K, DOWN, (0, 79), (0, 99), 'top', z_min=0.05, z_max=0.2
    )
    np.testing.assert_allclose(found.xyz, [0.09, 0.09, 0.1], atol=1e-12)
    assert found.n_valid == 400
    np.testing.assert_allclose(found.points[:, 2], np.full(400, 0.1), atol=1e-12)
    np.testing.assert_allclose(found.points[:, :2].min(axis=0), [0.0045, 0.0045], atol=1e-12)


def test_region_is_clipped_to_the_image():
    found = projection.locate_region(table_with_box(), K, DOWN, (70, 500), (90, 500), 'top')
    assert found.n_valid == 100


def test_pixel_outside():
    with pytest.raises(BadPixel) as error:
        projection.locate_pixel(table_with_box(), K, DOWN, 80, 3, 'top (high, step 0)')
    assert str(error.value) == (
        'pixel [80, 3] lies outside the 100 x 80 image of top (high, step 0); '
        'expected row 0 to 79 and column 0 to 99'
    )


def test_pixel_without_depth():
    depth = table_with_box()
    depth[5, 6] = np.nan
    with pytest.raises(BadPixel) as error:
        projection.locate_pixel(depth, K, DOWN, 5, 6, 'top')
    assert str(error.value) == (
        'pixel [5, 6] of top has no valid depth: it shows nothing within range; '
        'choose a pixel on an object'
    )


def test_region_that_misses_the_image():
    with pytest.raises(BadPixel) as error:
        projection.locate_region(table_with_box(), K, DOWN, (30, 20), (0, 9), 'top')
    assert str(error.value) == (
        'region rows [30, 20], columns [0, 9] holds no pixel of the 100 x 80 image of top; '
        'expected first before last, rows 0 to 79 and columns 0 to 99'
    )


def test_region_with_nothing_at_that_height():
    with pytest.raises(BadPixel) as error:
        projection.locate_region(
            table_with_box(), K, DOWN, (20, 39), (50, 69), 'top', z_min=0.3, z_max=0.4
        )
    assert str(error.value) == (
        'region rows [20, 39], columns [50, 69] of top: expected at least 8 pixels with a valid '
        'depth and a height of 0.3 to 0.4 m, got 0 of 400 with heights 0.100 to 0.100 m; '
        'widen the region or the band'
    )


def test_depth_is_stored_to_a_twentieth_of_a_millimetre(tmp_path):
    from PIL import Image

    depth = np.array([[0.12344, 1.5, MAX_DEPTH], [np.nan, np.inf, -1.0], [0.0, 7.0, 2.00006]])
    Image.fromarray(encode_depth(depth.astype(np.float32))).save(tmp_path / 'd.png')
    read = load_depth(tmp_path / 'd.png')
    np.testing.assert_allclose(read[0], depth[0], atol=5.1e-5)
    assert np.isnan(read[1]).all()
    assert np.isnan(read[2, :2]).all()
    assert read[2, 2] == pytest.approx(2.0001, abs=1e-9)
