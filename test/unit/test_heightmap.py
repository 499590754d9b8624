"""The scene from above."""

from __future__ import annotations

import numpy as np
import pytest

from rpent_ros.contracts.scene import SceneBody
from rpent_ros.geometry import Pose, quaternion_from_matrix, rotation_about_z
from rpent_ros.policies.oracle.heightmap import NOTHING, HeightMap, half_spaces, vertical_top


def box(size: tuple[float, float, float]) -> np.ndarray:
    """Corners of a box of half lengths `size` about its origin."""
    signs = [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    return (np.array(signs) * np.array(size)).astype(np.float32)


def body(name: str, hull: np.ndarray, position, rotation=None) -> SceneBody:
    """A movable body with one hull."""
    turn = np.eye(3) if rotation is None else rotation
    pose = Pose(np.array(position, float), quaternion_from_matrix(turn))
    return SceneBody(name, parent=name, movable=True, pose=pose, hulls=(hull,))


def test_box_on_the_floor() -> None:
    low = body('low', box((0.052, 0.022, 0.03)), (0.1, 0.0, 0.03))
    view = HeightMap([low], np.array([0.1, 0.0]), 0.1, 0.01, floor=-0.5)
    heights, owner = view.sample(np.array([0.1, 0.145, 0.16, 0.1]), np.array([0.0, 0.01, 0, 0.03]))
    assert heights == pytest.approx([0.06, 0.06, -0.5, -0.5])
    assert owner.tolist() == [0, 0, NOTHING, NOTHING]
    assert (view.owner == 0).sum() == 11 * 5


def test_the_higher_body_wins() -> None:
    bodies = [
        body('tall', box((0.02, 0.02, 0.10)), (0.0, 0.0, 0.10)),
        body('flat', box((0.06, 0.06, 0.01)), (0.0, 0.0, 0.01)),
    ]
    view = HeightMap(bodies, np.zeros(2), 0.1, 0.01, floor=0.0)
    heights, owner = view.sample(np.array([0.0, 0.05]), np.array([0.0, 0.0]))
    assert heights == pytest.approx([0.20, 0.02])
    assert owner.tolist() == [0, 1]


def test_turned_box_covers_the_turned_area() -> None:
    turned = body('b', box((0.05, 0.01, 0.02)), (0, 0, 0.02), rotation_about_z(np.pi / 2))
    view = HeightMap([turned], np.zeros(2), 0.08, 0.01, floor=0.0)
    heights, _ = view.sample(np.array([0.0, 0.04]), np.array([0.04, 0.0]))
    assert heights == pytest.approx([0.04, 0.0])


def test_outside_of_the_grid_is_floor() -> None:
    view = HeightMap([], np.zeros(2), 0.05, 0.01, floor=0.3)
    heights, owner = view.sample(np.array([9.0]), np.array([0.0]))
    assert heights == pytest.approx([0.3])
    assert owner.tolist() == [NOTHING]


def test_slope_is_followed() -> None:
    """A wedge rises from 0 to 0.1 m over 0.2 m."""
    wedge = np.array(
        [[-0.1, y, 0.0] for y in (-0.1, 0.1)]
        + [[0.1, y, z] for y in (-0.1, 0.1) for z in (0.0, 0.1)],
        np.float32,
    )
    faces = half_spaces(wedge.tobytes())
    top = vertical_top(faces[:, :3], faces[:, 3], np.array([-0.05, 0.0, 0.05, 0.2]), np.zeros(1))
    assert top[:3, 0] == pytest.approx([0.025, 0.05, 0.075], abs=1e-6)
    assert top[3, 0] == -np.inf


def test_flat_hull_has_a_height() -> None:
    plate = box((0.05, 0.05, 0.0))
    view = HeightMap([body('p', plate, (0, 0, 0.2))], np.zeros(2), 0.05, 0.01, floor=0.0)
    assert view.sample(np.zeros(1), np.zeros(1))[0] == pytest.approx([0.2], abs=1e-3)
