"""One object, one cluster: scenes in which simpler ways split or merge objects."""

import numpy as np
import pytest

from rpent_ros.tools.clouds import Cloud, inside, joined, surface_height
from rpent_ros.tools.clusters import clusters, pixel_well_inside


def cloud(xyz, view=0, footprint=0.002):
    """A cloud of points whose pixels do not matter."""
    xyz = np.asarray(xyz, float)
    n = len(xyz)
    return Cloud(
        xyz, np.zeros((n, 3), np.uint8), np.full(n, view), np.zeros((n, 2), int),
        np.full(n, footprint),
    )  # fmt: skip


def face(x, y, z, spacing=0.002):
    """Points of an axis-parallel face: two of the three are (first, last), one is a number."""
    axes = [
        np.arange(a[0], a[1] + 1e-9, spacing) if isinstance(a, tuple) else np.array([a])
        for a in (x, y, z)
    ]
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3)


def box_from_the_front(x, y, top):
    """Top and front face (towards +x) of a box that stands at z = 0, as a camera in front sees."""
    return np.concatenate([face(x, y, top), face(x[1], y, (0.008, top))])


def sizes(groups):
    return [len(group) for group in groups]


def test_two_boxes_with_a_gap_between_them():
    left = cloud(box_from_the_front((0.0, 0.05), (0.00, 0.05), 0.06))
    right = cloud(box_from_the_front((0.0, 0.05), (0.07, 0.12), 0.06))
    groups = clusters(joined([left, right]), gap=0.01, min_points=20)
    assert sizes(groups) == [len(left), len(right)]
    # Told to bridge the gap of 20 mm, it is one thing.
    assert sizes(clusters(joined([left, right]), gap=0.025, min_points=20)) == [
        len(left) + len(right)
    ]


def test_a_large_object_is_not_cut_into_pieces():
    # A grid of 0.1 m cells, or a limit on the size, would.
    basket = cloud(np.concatenate([
        face((0.0, 0.4), (0.0, 0.3), 0.1),
        face(0.4, (0.0, 0.3), (0.0, 0.1)),
    ]))  # fmt: skip
    assert sizes(clusters(basket, gap=0.01, min_points=20)) == [len(basket)]


def test_an_object_behind_another_in_the_image_is_another_one():
    # Their pixels touch, their points are 0.1 m apart.
    front = cloud(box_from_the_front((0.2, 0.25), (0.0, 0.06), 0.12))
    behind = cloud(face((0.05, 0.10), (0.02, 0.10), 0.10))
    groups = clusters(joined([front, behind]), gap=0.01, min_points=20)
    assert sizes(groups) == [len(front), len(behind)]


def test_what_a_thin_thing_hides_does_not_split_an_object():
    # A finger, 6 mm wide, crosses the box in the image.
    box = box_from_the_front((0.0, 0.05), (0.0, 0.1), 0.05)
    seen = box[(box[:, 1] < 0.047) | (box[:, 1] > 0.051)]
    finger = face(0.2, (0.046, 0.052), (0.0, 0.2))
    groups = clusters(cloud(np.concatenate([seen, finger])), gap=0.01, min_points=20)
    assert sizes(groups) == [len(seen), len(finger)]


def test_a_step_smaller_than_the_gap_belongs_to_the_object():
    # The sunken lid of a can.
    rim, lid = face((0.0, 0.06), (0.0, 0.005), 0.08), face((0.0, 0.06), (0.008, 0.05), 0.074)
    assert len(clusters(cloud(np.concatenate([rim, lid])), gap=0.01, min_points=20)) == 1


def test_coarse_pixels_do_not_tear_a_surface_apart():
    surface = face((0.0, 0.1), (0.0, 0.1), 0.05, spacing=0.012)
    torn = clusters(cloud(surface, footprint=0.002), gap=0.01, min_points=1)
    whole = clusters(cloud(surface, footprint=0.005), gap=0.01, min_points=1)
    assert (len(torn), len(whole)) == (len(surface), 1)


def test_two_cameras_on_opposite_sides_see_one_object():
    near = cloud(face(0.06, (0.0, 0.06), (0.01, 0.10)), view=0)
    far = cloud(face(0.0, (0.0, 0.06), (0.01, 0.05)), view=1)
    top = cloud(face((0.03, 0.06), (0.0, 0.06), 0.10), view=0)
    groups = clusters(joined([near, far, top]), gap=0.01, min_points=20)
    # The far side's middle lies just outside what the first camera sees of it.
    assert len(groups) == 2
    deeper = cloud(face((0.006, 0.06), (0.0, 0.06), 0.10), view=0)
    groups = clusters(joined([near, far, deeper]), gap=0.01, min_points=20)
    assert sizes(groups) == [len(near) + len(far) + len(deeper)]
    assert set(groups[0].view) == {0, 1}


def test_something_above_is_not_the_far_side():
    below = cloud(face((0.0, 0.06), (0.0, 0.06), 0.05), view=0)
    hand = cloud(face((0.02, 0.04), (0.02, 0.04), 0.12), view=1)
    assert len(clusters(joined([below, hand]), gap=0.01, min_points=20)) == 2


def test_an_object_within_a_ring_that_the_same_camera_sees_stays_apart():
    ring = np.concatenate([
        face(x, (0.0, 0.1), 0.1) if isinstance(x, tuple) else face((0.0, 0.1), x[0], 0.1)
        for x in ((0.0, 0.004), (0.096, 0.1), [(0.0, 0.004)], [(0.096, 0.1)])
    ])  # fmt: skip
    middle = face((0.04, 0.06), (0.04, 0.06), 0.1)
    groups = clusters(cloud(np.concatenate([ring, middle])), gap=0.01, min_points=20)
    assert sizes(groups) == [len(ring), len(middle)]


def test_few_points_are_left_out():
    speck = face((0.3, 0.304), (0.0, 0.004), 0.05)
    both = cloud(np.concatenate([face((0.0, 0.05), (0.0, 0.05), 0.05), speck]))
    assert sizes(clusters(both, gap=0.01, min_points=len(speck) + 1)) == [26 * 26]
    assert sizes(clusters(both, gap=0.01, min_points=len(speck))) == [26 * 26, len(speck)]
    assert clusters(both[np.zeros(len(both), bool)], gap=0.01, min_points=1) == []


def test_box_of_the_base_frame_includes_its_faces():
    points = cloud([[0.0, 0.0, 0.0], [0.1, 0.2, 0.3], [0.1, 0.2, 0.31]])
    kept = inside(points, [0.0, 0.0, 0.0], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(kept.xyz, points.xyz[:2])


@pytest.mark.parametrize('height', [-0.4, 0.0, 0.9])
def test_surface_is_the_height_with_the_largest_area(height):
    rng = np.random.default_rng(0)
    table = face((0.0, 0.6), (0.0, 0.6), height, spacing=0.01)
    table[:, 2] += rng.normal(0.0, 0.001, len(table))
    # A palm close to the camera: many pixels, little area.
    palm = cloud(face((0.2, 0.28), (0.2, 0.28), height + 0.3, spacing=0.001), footprint=0.0003)
    scene = joined([cloud(table), palm])
    assert len(palm) > len(table)
    assert surface_height(scene) == pytest.approx(height, abs=0.0005)


def test_pixel_well_inside_a_shape_with_an_arm():
    pixels = [(r, c) for r in range(10, 21) for c in range(30, 41)]
    pixels += [(15, c) for c in range(41, 90)]
    assert pixel_well_inside(np.array(pixels)) == (15, 35)
    assert pixel_well_inside(np.array([(3, 4)])) == (3, 4)
