"""Episodes that end with the object where it belongs and the hand open and away from it."""

from __future__ import annotations

import pytest

from robots.libero.env_server import LiberoRobot
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode

pytestmark = pytest.mark.libero


def test_a_carton_that_hangs_on_an_open_finger_is_shaken_off(moving_tools) -> None:
    """Its folded top catches a finger, so it would be lifted out of the basket again."""
    robot = LiberoRobot(suite='libero_object', task=9, release_steps=80, privileged=True)
    core = DriverCore(robot, privileged=True)
    try:
        observation, _ = core.reset(seed=0)
        hand = moving_tools(core)
        assert hand.pi0_pick('pick up the orange juice', 40).ok
        placed = hand.pi0_doubled(observation.instruction, 60)
        assert (placed.code, placed.data['stopped_by']) == (ErrorCode.OK, 'success')
        # The predicate holds, and not because the episode has ended.
        assert (placed.data['success'], placed.data['terminated']) == (True, False)
        assert robot._simulation.succeeded()
        assert placed.data['executed']['gripper_width'] > 0.07
        assert robot.scene().touching('orange_juice_1') == {'basket_1'}
        assert robot.judge(robot.simulator_state())
    finally:
        core.close()
