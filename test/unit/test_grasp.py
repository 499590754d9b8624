"""Grasps of simple shapes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.scene import Scene, SceneBody
from rpent_ros.errors import NoPlan
from rpent_ros.geometry import Pose, nearest_half_turn
from rpent_ros.policies.oracle.grasp import plan_grasps
from rpent_ros.policies.oracle.gripper import Gripper
from rpent_ros.policies.oracle.world import World

HOME = math.pi / 2


def block(name: str, centre, half) -> SceneBody:
    """A box-shaped object."""
    signs = [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    hull = (np.array(signs) * np.array(half)).astype(np.float32)
    return SceneBody(name, parent=name, movable=True, pose=Pose(np.array(centre)), hulls=(hull,))


def world(*bodies: SceneBody) -> World:
    """These bodies and an arm high above them."""
    observation = Observation(
        0, frame_id='world', episode=1, step=0, state=np.zeros(8), joint_names=(),
        joint_positions=np.zeros(0), joint_velocities=np.zeros(0),
        ee_pose=Pose(np.array([0.0, 0.0, 0.5]), np.array([1.0, 0.0, 0.0, 0.0])),
        ee_twist=np.zeros(6), gripper_width=0.08,
    )  # fmt: skip
    scene = Scene(
        stamp=0, frame_id='world', episode=1, step=0, bodies=bodies, regions=(), goals=(),
    )  # fmt: skip
    return World(observation, scene)


@pytest.mark.parametrize(
    ('half', 'yaw'), [((0.06, 0.022, 0.04), HOME), ((0.022, 0.06, 0.04), 0.0)]
)
def test_a_box_is_gripped_across_its_narrow_side(half, yaw: float) -> None:
    best = plan_grasps(world(block('b', (0.1, 0.2, 0.04), half)), 'b', Gripper(), HOME)[0]
    assert abs(nearest_half_turn(best.yaw - yaw, 0.0)) < 1e-9
    assert best.position[:2] == pytest.approx([0.1, 0.2], abs=0.0051)
    # The grid of 5 mm sees material only where a grid point lies on it.
    assert best.width == pytest.approx(0.044, abs=0.009)
    # 25 mm below the top is the favourite depth.
    assert best.position[2] == pytest.approx(0.08 - 0.025)


def test_a_flat_box_is_gripped_just_above_the_table() -> None:
    thin = block('b', (0.0, 0.0, 0.009), (0.03, 0.03, 0.009))
    best = plan_grasps(world(thin), 'b', Gripper(), HOME)[0]
    assert best.position[2] - Gripper().tip_below > 0.001


def test_a_wall_beside_the_box_turns_the_grasp() -> None:
    cube = block('b', (0.0, 0.0, 0.02), (0.02, 0.02, 0.02))
    free = plan_grasps(world(cube), 'b', Gripper(), HOME)[0]
    assert abs(nearest_half_turn(free.yaw - HOME, 0.0)) < 1e-9
    # Fingers opening along y would come down on the walls.
    walls = [block(f'w{s}', (0.0, s * 0.055, 0.03), (0.02, 0.015, 0.03)) for s in (-1, 1)]
    best = plan_grasps(world(cube, *walls), 'b', Gripper(), HOME)[0]
    assert abs(nearest_half_turn(best.yaw, 0.0)) < math.radians(31)


@pytest.mark.parametrize(
    'bodies',
    [
        # Wider than the hand opens, both ways.
        (block('b', (0.0, 0.0, 0.05), (0.05, 0.05, 0.05)),),
        # In a pit: the hand does not fit between the walls.
        (
            block('b', (0.0, 0.0, 0.02), (0.02, 0.02, 0.02)),
            *(
                block(f'w{x}{y}', (x * 0.08, y * 0.08, 0.1), (0.05, 0.05, 0.1))
                for x in (-1, 0, 1)
                for y in (-1, 0, 1)
                if x or y
            ),
        ),
    ],
)
def test_no_grasp_is_said_in_a_sentence(bodies) -> None:
    with pytest.raises(NoPlan, match='no grasp of b from above: something is in the way, or it'):
        plan_grasps(world(*bodies), 'b', Gripper(), HOME)


@pytest.mark.parametrize(
    ('yaw', 'reference', 'wanted'), [(0.0, 1.5, 0.0), (0.0, 1.6, math.pi), (3.0, 0.0, 3 - math.pi)]
)
def test_nearest_half_turn(yaw: float, reference: float, wanted: float) -> None:
    assert nearest_half_turn(yaw, reference) == pytest.approx(wanted)
