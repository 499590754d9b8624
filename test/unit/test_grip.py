"""What one reading of a gripper tells: an object, an empty hand, or nothing yet."""

import math

import numpy as np
import pytest

from rpent_ros.contracts.observation import Observation
from rpent_ros.geometry import Pose
from rpent_ros.primitives.grip import Grip
from rpent_ros.primitives.settings import ManipulationSettings

NAMES = ('joint1', 'finger_left', 'finger_right')
SETTINGS = ManipulationSettings(
    min_grasp_width=0.003, max_grasp_width=0.07, min_grasp_effort=1.5, rest_finger_speed=0.003
)


def reading(width, *, speed=0.0, effort=None, names=NAMES):
    """An observation whose arm joint is fast and strong: only fingers count."""
    return Observation(
        0,
        frame_id='base',
        episode=1,
        step=1,
        state=np.zeros(0),
        joint_names=names,
        joint_positions=np.zeros(len(names)),
        joint_velocities=np.array([0.5, speed, -speed / 2][: len(names)]),
        joint_efforts=np.array([] if effort is None else [50.0, -effort, effort / 2]),
        ee_pose=Pose(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])),
        ee_twist=np.zeros(6),
        gripper_width=width,
    )


# Widths, speeds and efforts as LIBERO's Panda measures them.
@pytest.mark.parametrize(
    ('observation', 'holding', 'shut'),
    [
        pytest.param(reading(0.0630, effort=20.0), True, False, id='can'),
        pytest.param(reading(0.0043, speed=0.0003, effort=2.1), True, False, id='rim of a bowl'),
        pytest.param(reading(0.0027, speed=0.0054, effort=1.5), None, False, id='still closing'),
        pytest.param(reading(0.0057, speed=0.0304, effort=3.7), None, False, id='closing fast'),
        pytest.param(reading(0.0023, speed=0.0020, effort=1.2), False, True, id='empty'),
        pytest.param(reading(0.0010, effort=0.5), False, True, id='empty and at rest'),
        pytest.param(reading(0.0040, effort=1.4), False, False, id='no force'),
        pytest.param(reading(0.0790, effort=0.2), False, False, id='open'),
        pytest.param(reading(0.0043), True, False, id='no efforts measured'),
        pytest.param(reading(math.nan, effort=5.0), None, False, id='no width measured'),
    ],
)
def test_holds(observation, holding, shut):
    assert SETTINGS.holds(observation) is holding
    assert SETTINGS.is_shut(observation) is shut


def test_only_fingers_count():
    grip = Grip.of(reading(0.02, speed=0.004, effort=6.0))
    assert grip == Grip(0.02, speed=0.004, effort=6.0)
    assert str(grip) == '0.020 m and 6.0 N'
    without = Grip.of(reading(0.02, names=('joint1',)))
    assert (without.width, without.speed) == (0.02, 0.0)
    assert math.isnan(without.effort)
    assert str(without) == '0.020 m'


def test_what_is_looked_for_in_words():
    assert SETTINGS.grasp() == (
        'a finger width of 0.003 to 0.070 m and at least 1.5 N with an object in between'
    )
    assert ManipulationSettings().grasp() == (
        'a finger width of 0.002 to 0.060 m with an object in between'
    )
