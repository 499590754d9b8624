"""What the tools say about the hand, against what the simulator knows."""

from __future__ import annotations

import numpy as np
import pytest

from robots.libero.env_server import LiberoRobot
from robots.libero.toolkit import LiberoPrimitives
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode

pytestmark = pytest.mark.libero

FINGERS = {'finger_left', 'finger_right'}


@pytest.fixture
def primitives(robot: LiberoRobot, moving_tools):
    def make(suite: str, task: int, seed: int) -> LiberoPrimitives:
        core = DriverCore(robot, privileged=True)
        core.reset(suite=suite, task=task, seed=seed)
        return moving_tools(core)

    return make


def in_hand(robot: LiberoRobot, name: str) -> bool:
    return robot.scene().touching(name) >= FINGERS


def test_a_bowl_is_held_by_its_rim_and_then_is_gone(primitives, robot) -> None:
    hand = primitives('libero_spatial', 0, 0)
    bowl = 'akita_black_bowl_1'
    picked = hand.pi0_pick('pick up the black bowl', 40)
    assert (picked.code, picked.data['stopped_by']) == (ErrorCode.OK, 'lifted')
    assert picked.data['holding'] is True
    assert in_hand(robot, bowl)
    assert 0.003 < picked.data['executed']['gripper_width'] < 0.012
    x, y, z = picked.data['executed']['xyz']
    assert hand.move_to([x, y, z + 0.05]).data['holding'] is True
    # Somebody takes the bowl away while the arm goes on.
    env = robot._simulation.env
    joint = env.objects_dict[bowl].joints[-1]
    pose = env.sim.data.get_joint_qpos(joint).copy()
    env.sim.data.set_joint_qpos(joint, pose + [0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    carried = hand.move_to([x, y, z + 0.10])
    assert (carried.code, carried.data['holding']) == (ErrorCode.OK, False)
    placed = hand.pi0_doubled('place it on the plate', 60)
    assert placed.code == ErrorCode.BAD_INSTRUCTION


def test_fingers_that_still_close_are_not_believed(primitives, robot) -> None:
    """The bowl in the drawer springs out of the hand when it is lifted."""
    hand = primitives('libero_spatial', 4, 8)
    picked = hand.pi0_pick('pick up the black bowl in the top drawer of the wooden cabinet', 12)
    assert picked.code == ErrorCode.NOT_GRASPED
    assert picked.data['stopped_by'] == 'max_chunks'
    assert picked.data['holding'] is not True
    assert not in_hand(robot, 'akita_black_bowl_1')


def test_a_grasp_beside_everything(primitives, robot) -> None:
    hand = primitives('libero_object', 0, 0)
    x, y, _ = robot.tool_position()
    missed = hand.scripted_grasp([x, y, 0.12])
    assert missed.code == ErrorCode.NOT_GRASPED
    assert missed.message.startswith(
        'scripted_grasp: expected a finger width of 0.003 to 0.070 m and at least 1.5 N with an '
        'object in between, got 0.00'
    )
    assert missed.data['holding'] is False
    assert missed.data['executed']['gripper_width'] < 0.0025
    shut = hand.set_gripper('close')
    assert shut.data['holding'] is False
    assert np.isclose(shut.data['executed']['gripper_width'], 0.001, atol=0.001)
