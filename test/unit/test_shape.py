"""The rectangle around points, against rectangles that were drawn by hand."""

import math

import numpy as np
import pytest

from rpent_ros.tools import shape


def rectangle(center, long, short, yaw):
    """A grid of points that fills a rectangle."""
    a, b = np.meshgrid(np.linspace(-0.5, 0.5, 41) * long, np.linspace(-0.5, 0.5, 21) * short)
    c, s = math.cos(yaw), math.sin(yaw)
    return np.column_stack([c * a.ravel() - s * b.ravel(), s * a.ravel() + c * b.ravel()]) + center


@pytest.mark.parametrize('yaw', [0.0, 0.4, 1.2, math.pi / 2, -0.3, -1.5])
def test_a_turned_rectangle(yaw):
    found = shape.footprint(rectangle([0.3, -0.2], 0.08, 0.04, yaw))
    np.testing.assert_allclose(found.center, [0.3, -0.2], atol=1e-12)
    assert (found.long, found.short) == pytest.approx((0.08, 0.04))
    assert found.long_yaw == pytest.approx(yaw)
    assert -math.pi / 2 < found.long_yaw <= math.pi / 2


def test_the_center_is_that_of_the_outline_not_of_the_points():
    # Most points on one side, as a camera sees the near side of a box.
    points = np.concatenate([rectangle([0.0, 0.0], 0.08, 0.04, 0.0)] + [[[-0.04, 0.0]]] * 5000)
    np.testing.assert_allclose(shape.footprint(points).center, [0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ('points', 'long', 'yaw'),
    [
        ([[0.1, 0.2]], 0.0, 0.0),
        ([[0.0, 0.0], [0.03, 0.04]], 0.05, math.atan2(4, 3)),
        ([[0.0, 0.0], [0.0, 0.01], [0.0, 0.04]], 0.04, math.pi / 2),
    ],
)
def test_too_few_points_for_an_area(points, long, yaw):
    found = shape.footprint(np.array(points))
    assert found.long == pytest.approx(long)
    assert found.short == pytest.approx(0.0, abs=1e-12)
    assert found.long_yaw == pytest.approx(yaw)


def test_description():
    corners = rectangle([0.5, 0.1], 0.06, 0.02, 0.3)
    xyz = np.column_stack([corners, np.linspace(0.02, 0.10, len(corners))])
    told = shape.describe(xyz, tool_yaw=math.pi / 2)
    assert list(told) == ['center', 'size', 'top_z', 'bottom_z', 'long_yaw', 'short_yaw']
    assert told['center'] == pytest.approx([0.5, 0.1, 0.06])
    assert told['size'] == pytest.approx([0.06, 0.02, 0.08])
    assert (told['bottom_z'], told['top_z']) == pytest.approx((0.02, 0.10))
    # 0.3 lies within a quarter turn of the tool's pi / 2, and so does 0.3 + pi / 2.
    assert told['long_yaw'] == pytest.approx(0.3)
    assert told['short_yaw'] == pytest.approx(0.3 + math.pi / 2)


def test_sides_are_named_by_the_direction_that_needs_the_smaller_turn():
    xyz = np.column_stack([rectangle([0, 0], 0.06, 0.02, 0.3), np.zeros(41 * 21)])
    told = shape.describe(xyz, tool_yaw=-2.5)
    assert told['long_yaw'] == pytest.approx(0.3 - math.pi)
    assert told['short_yaw'] == pytest.approx(0.3 - math.pi / 2)


def test_something_round_is_given_the_usual_direction():
    angles = np.linspace(0.05, 2 * math.pi + 0.05, 70, endpoint=False)
    disc = 0.03 * np.column_stack([np.cos(angles), np.sin(angles)])
    assert shape.footprint(disc, 0.7).long_yaw % (math.pi / 2) == pytest.approx(0.7)
    # A box has a direction of its own.
    box = rectangle([0, 0], 0.06, 0.055, 0.2)
    assert shape.footprint(box, 0.7).long_yaw == pytest.approx(0.2)
