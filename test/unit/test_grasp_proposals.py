"""Grasps proposed from points: shapes for which a simple rule takes the wrong side."""

import math

import numpy as np
import pytest

from rpent_ros.errors import InvalidRequest
from rpent_ros.primitives.hand import Hand
from rpent_ros.tools import grasps

HAND = Hand()
WIDEST = 0.07
FLOOR = np.stack(np.meshgrid(
    np.arange(-0.3, 0.3, 0.004), np.arange(-0.3, 0.3, 0.004), [0.0], indexing='ij'
), axis=-1).reshape(-1, 3)  # fmt: skip


def block(center, size, yaw=0.0, bottom=0.0):
    """Points of the top and the four sides of a box that stands at `bottom`."""
    x, y = (np.arange(-s / 2, s / 2 + 1e-9, 0.002) for s in size[:2])
    z = np.arange(bottom, bottom + size[2] + 1e-9, 0.002)
    grids = [
        np.meshgrid(x, y, z[-1:], indexing='ij'),
        np.meshgrid(x, y[[0, -1]], z, indexing='ij'),
        np.meshgrid(x[[0, -1]], y, z, indexing='ij'),
    ]
    points = np.concatenate([np.stack(grid, axis=-1).reshape(-1, 3) for grid in grids])
    c, s = math.cos(yaw), math.sin(yaw)
    turned = points[:, :2] @ np.array([[c, s], [-s, c]])
    return np.column_stack([turned + center, points[:, 2]])


def propose(own, *others, tool_yaw=0.0, hand=HAND, surface=0.0):
    scene = grasps.Scene(np.concatenate([FLOOR, own, *others]), surface, tool_yaw)
    return grasps.propose(own, scene, hand, WIDEST)


def test_a_flat_box_is_held_across_its_short_side_just_above_the_surface():
    (grasp,) = propose(block([0.05, -0.02], (0.08, 0.04, 0.02), yaw=0.3))
    assert grasp['xyz'] == pytest.approx([0.05, -0.02, 0.012], abs=1e-3)
    assert grasp['yaw'] == pytest.approx(0.3 + math.pi / 2 - math.pi, abs=1e-6)
    assert grasp['width'] == pytest.approx(0.04, abs=1e-3)
    assert grasp['clear'] is None
    assert grasp['upright'] == pytest.approx(1.0)
    assert list(grasp) == ['hold', 'xyz', 'yaw', 'width', 'clear', 'upright']
    assert grasp['hold'] == 'around'


def test_a_tall_box_is_held_below_its_top_and_can_be_held_both_ways():
    across, along = propose(block([0.0, 0.0], (0.06, 0.03, 0.15)))
    assert across['xyz'][2] == pytest.approx(0.15 - HAND.depth, abs=1e-3)
    assert (across['width'], along['width']) == pytest.approx((0.03, 0.06), abs=1e-3)


def test_a_gripper_that_closes_along_its_y_axis():
    hand = Hand(closing_axis='y')
    (grasp,) = propose(block([0.0, 0.0], (0.08, 0.04, 0.02)), hand=hand)
    # The tool's x axis lies along the long side, its y axis across.
    assert grasp['yaw'] == pytest.approx(0.0, abs=1e-6)


def test_a_square_box_is_held_with_the_smaller_turn():
    best = propose(block([0.0, 0.0], (0.05, 0.052, 0.1), yaw=0.2), tool_yaw=0.0)[0]
    assert best['yaw'] == pytest.approx(0.2, abs=1e-6)


def test_something_round_is_held_as_the_tool_stands():
    angles = np.linspace(0, 2 * math.pi, 90, endpoint=False)
    radii = np.arange(0.0, 0.0301, 0.003)
    disc = np.array([
        (r * math.cos(a), r * math.sin(a), 0.1) for r in radii for a in angles
    ])  # fmt: skip
    assert propose(disc, tool_yaw=0.7)[0]['yaw'] == pytest.approx(0.7, abs=0.03)


def test_a_roof_is_held_at_its_flat_ends():
    ridge = [
        (x, y, 0.14 - abs(x)) for x in np.arange(-0.024, 0.0241, 0.002)
        for y in np.arange(-0.028, 0.0281, 0.002)
    ]  # fmt: skip
    best, other = propose(np.array(ridge))
    assert abs(math.sin(best['yaw'])) == pytest.approx(1.0)
    assert best['upright'] == pytest.approx(1.0)
    # Its slopes are nearer to each other, but slip.
    assert other['width'] < best['width']
    assert other['upright'] < 0.5


def test_the_neck_of_a_bottle_counts_not_its_body():
    bottle = np.concatenate([
        block([0.0, 0.0], (0.09, 0.09, 0.10)), block([0.01, 0.0], (0.03, 0.03, 0.15)),
    ])  # fmt: skip
    best = propose(bottle)[0]
    assert best['width'] == pytest.approx(0.03, abs=1e-3)
    assert best['xyz'] == pytest.approx([0.01, 0.0, 0.125], abs=1e-3)


def test_what_is_too_wide_has_no_grasps():
    assert propose(block([0.0, 0.0], (0.12, 0.09, 0.05))) == []


def test_a_tall_neighbour_turns_the_grasp_of_a_cube():
    cube, wall = block([0.0, 0.0], (0.05, 0.05, 0.05)), block([0.09, 0.0], (0.04, 0.2, 0.2))
    best, other = propose(cube, wall, tool_yaw=0.0)
    assert abs(math.sin(best['yaw'])) == pytest.approx(1.0)
    assert best['clear'] is None
    assert other['clear'] == pytest.approx(0.07, abs=0.003)


def test_a_low_neighbour_is_in_nobodys_way():
    cube, low = block([0.0, 0.0], (0.05, 0.05, 0.05)), block([0.095, 0.0], (0.04, 0.2, 0.03))
    assert propose(cube, low, tool_yaw=0.0)[0]['clear'] is None


def test_a_low_neighbour_close_by_is_in_the_way_of_a_finger():
    cube, low = block([0.0, 0.0], (0.05, 0.05, 0.05)), block([0.06, 0.0], (0.04, 0.2, 0.035))
    best, other = propose(cube, low, tool_yaw=0.0)
    assert abs(math.sin(best['yaw'])) == pytest.approx(1.0)
    assert other['clear'] == pytest.approx(0.04, abs=0.003)


def test_a_long_box_is_held_beside_its_middle_if_a_neighbour_stands_there():
    box = block([0.0, 0.0], (0.09, 0.04, 0.02))
    post = block([0.03, 0.09], (0.03, 0.03, 0.1))
    (grasp,) = propose(box, post)
    # The post reaches to x = 0.015; a hand of half width 0.034 passes 0.02 m further back.
    assert grasp['xyz'][0] == pytest.approx(-0.02, abs=0.003)
    assert grasp['clear'] is None


def test_on_a_shelf_the_grasp_stays_above_the_shelf():
    shelf = block([0.0, 0.0], (0.3, 0.3, 0.2))
    (grasp,) = propose(block([0.0, 0.0], (0.08, 0.04, 0.02), bottom=0.2), shelf)
    assert grasp['xyz'][2] == pytest.approx(0.212, abs=1e-3)
    assert grasp['clear'] is None


def test_closing_axis_is_x_or_y():
    with pytest.raises(InvalidRequest) as error:
        Hand(closing_axis='z')
    assert str(error.value) == "closing_axis: expected x or y of the tool frame, got 'z'"


def bowl(center, radius=0.055, height=0.05, wall=0.004):
    """Points of a bowl's wall, inside and outside, and of its bottom."""
    angles = np.linspace(0, 2 * math.pi, 240, endpoint=False)
    rows = [
        (r, z) for r in (radius, radius - wall) for z in np.arange(0.012, height + 1e-9, 0.002)
    ]  # fmt: skip
    rows += [(r, height) for r in np.arange(radius - wall, radius, 0.001)]
    rows += [(r, 0.012) for r in np.arange(0.0, radius, 0.004)]
    return np.array([
        (center[0] + r * math.cos(a), center[1] + r * math.sin(a), z)
        for r, z in rows for a in angles
    ])  # fmt: skip


def test_a_bowl_is_held_at_its_rim():
    best = propose(bowl([0.02, 0.03]), tool_yaw=0.0)[0]
    assert best['hold'] == 'rim'
    x, y, z = np.array(best['xyz']) - [0.02, 0.03, 0.0]
    assert math.hypot(x, y) == pytest.approx(0.053, abs=0.002)
    # The fingers close along the radius, one inside and one outside.
    assert abs(math.sin(best['yaw'] - math.atan2(y, x))) < 0.01
    # The tool keeps its direction.
    assert best['yaw'] == pytest.approx(0.0, abs=0.01)
    assert z == pytest.approx(0.05 - HAND.depth, abs=1e-3)
    assert best['width'] == pytest.approx(0.004, abs=0.002)


def test_places_on_a_rim_are_a_choice():
    found = propose(bowl([0.0, 0.0]))
    assert len(found) == 4
    places = np.array([grasp['xyz'][:2] for grasp in found])
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)[np.triu_indices(4, 1)]
    assert apart.min() > 0.03
    # All around, not on one side only.
    assert (places.max(axis=0) > 0.0).all() and (places.min(axis=0) < 0.0).all()


def test_a_bowl_beside_a_wall_is_held_on_the_free_side():
    wall = block([0.09, 0.0], (0.03, 0.3, 0.2))
    found = propose(bowl([0.0, 0.0]), wall, tool_yaw=0.0)
    assert all(grasp['clear'] is None or grasp['clear'] >= HAND.half_length for grasp in found)
    # The hand reaches to either side of the point that it holds; the wall begins at 0.075.
    reaches = [g['xyz'][0] + HAND.half_length * abs(math.cos(g['yaw'])) for g in found]
    assert found
    assert max(reaches) < 0.08


def test_a_shallow_bowl_keeps_the_inner_finger_off_the_bottom():
    best = propose(bowl([0.0, 0.0], height=0.036))[0]
    assert best['hold'] == 'rim'
    # 0.011 would be the favourite depth; its bottom is 0.012 high.
    assert best['xyz'][2] == pytest.approx(0.012 + HAND.tip_below + 0.002, abs=1e-6)


def test_a_filled_block_has_no_rim():
    assert propose(block([0.0, 0.0], (0.10, 0.10, 0.08))) == []
