"""The servo: direction, speed, arrival and stalling."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robots.fake.env_server import make_spec
from rpent_ros.geometry import Pose, nearest_on_line
from rpent_ros.primitives.servo import (
    Progress,
    Tolerances,
    along_line,
    pose_error,
    servo_action,
    smooth_offset,
)

SPEC = make_spec(32).action


def pose(x=0.0):
    return Pose(np.array([x, 0.0, 0.0]))


def follow(positions, widths=None, *, wait_for_fingers=False):
    widths = widths or [0.0] * len(positions)
    progress = Progress(
        Tolerances(), pose(positions[0]), widths[0], wait_for_fingers=wait_for_fingers
    )
    for x, width in zip(positions[1:], widths[1:], strict=True):
        progress.update(pose(x), width)
    return progress


def test_far_targets_are_approached_at_full_speed_in_their_direction():
    action = servo_action(SPEC, np.array([0.4, -0.2, 0.0]), np.zeros(3), gripper=1.0)
    np.testing.assert_allclose(action, [1.0, -0.5, 0, 0, 0, 0, 1.0])
    slow = servo_action(SPEC, np.array([0.4, -0.2, 0.0]), np.zeros(3), gripper=1.0, speed=0.3)
    np.testing.assert_allclose(slow[:3], [0.3, -0.15, 0])


def test_near_targets_get_what_is_left_and_the_whole_rotation():
    action = servo_action(SPEC, np.array([0.01, 0, 0]), np.array([0, 0, 0.1]), gripper=-1.0)
    np.testing.assert_allclose(action, [0.3, 0, 0, 0, 0, 0.2, -1.0])
    turn = servo_action(SPEC, np.zeros(3), np.array([0, 1.0, 2.0]), gripper=-1.0, speed=0.1)
    np.testing.assert_allclose(turn[3:6], [0, 0.5, 1.0])


def test_bounds_of_the_robot_are_kept():
    """Actions in metres and radians, slower upwards than downwards."""
    low = np.array([-0.02, -0.02, -0.02, -0.1, -0.1, -0.1, 0.0])
    high = np.array([0.02, 0.02, 0.01, 0.1, 0.1, 0.1, 1.0])
    spec = dataclasses.replace(SPEC, low=low, high=high, scale=np.ones(7))
    up = servo_action(spec, np.array([0.1, 0.0, 0.1]), np.array([0, 0, 0.4]), gripper=1.0)
    np.testing.assert_allclose(up, [0.01, 0, 0.01, 0, 0, 0.1, 1.0])
    down = servo_action(spec, np.array([0.1, 0.0, -0.1]), np.zeros(3), gripper=0.0, speed=0.5)
    np.testing.assert_allclose(down, [0.01, 0, -0.01, 0, 0, 0, 0.0])


def test_pose_error_is_in_the_base_frame():
    half = np.sqrt(0.5)
    start = Pose(np.array([1.0, 2.0, 3.0]))
    target = Pose(np.array([1.0, 2.0, 3.5]), np.array([0, 0, half, half]))
    translation, rotation = pose_error(start, target)
    np.testing.assert_allclose(translation, [0, 0, 0.5])
    np.testing.assert_allclose(rotation, [0, 0, np.pi / 2])


def test_settled_means_near_and_at_rest():
    still = [0.0] * 3
    # One step at rest may be the turning point of a swing.
    assert not follow([0.0, 0.0]).settled(0.0, 0.0)
    assert follow(still).settled(0.003, 0.015)
    assert not follow([0.0, 0.0, 0.002]).settled(0.0, 0.0)
    assert not follow(still).settled(0.0031, 0.0)
    assert not follow(still).settled(0.0, 0.0151)


@pytest.mark.parametrize(('steps', 'stalled'), [(14, False), (15, True)])
def test_a_motion_that_rests_for_long_has_stalled(steps, stalled):
    assert follow([0.0] * (steps + 1)).stalled() is stalled


def test_creeping_is_not_stalling():
    assert not follow([0.0005 * n for n in range(40)]).stalled()


def test_commanded_fingers_are_waited_for():
    still = [0.0] * 9
    closing = [0.08 - 0.01 * n for n in range(9)]
    assert not follow(still, closing, wait_for_fingers=True).settled(0.0, 0.0)
    assert follow(still, closing, wait_for_fingers=False).settled(0.0, 0.0)
    rested = closing[:5] + [0.04] * 4
    assert follow(still, rested, wait_for_fingers=True).settled(0.0, 0.0)
    nan = [float('nan')] * 9
    assert follow(still, nan, wait_for_fingers=True).settled(0.0, 0.0)


def test_a_tool_speeds_up_and_brakes_with_the_accelerations():
    tolerances = Tolerances(acceleration=0.4, deceleration=0.1, response=0.5)
    # 0.2 m before the halt the speed may be 0.2 m/s, which is 0.01 m a step: half of the request.
    assert smooth_offset(tolerances, 0.2, 100, rate=20.0) == pytest.approx(0.02)
    assert smooth_offset(tolerances, 0.05, 100, rate=20.0) == pytest.approx(0.01)
    # After one step of 0.05 s it may be 0.02 m/s.
    assert smooth_offset(tolerances, math.inf, 0, rate=20.0) == pytest.approx(0.002)
    assert smooth_offset(tolerances, math.inf, 4, rate=20.0) == pytest.approx(0.01)


def test_a_longest_translation_keeps_the_direction():
    action = servo_action(
        SPEC, np.array([0.03, -0.04, 0.0]), np.zeros(3), gripper=1.0, longest=0.01
    )
    np.testing.assert_allclose(action[:3] * SPEC.scale[:3], [0.006, -0.008, 0.0])


places = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array)


@given(places, places, places, st.floats(0.01, 0.2))
def test_a_tool_beside_its_line_is_led_back_to_it(position, start, end, lookahead):
    left = along_line(position, start, end, lookahead)
    distance = float(np.linalg.norm(end - position))
    assert float(np.linalg.norm(left)) == pytest.approx(distance, abs=1e-9)
    before = nearest_on_line(position, start, end)
    if float(np.linalg.norm(end - before)) <= lookahead:
        np.testing.assert_array_equal(left, end - position)
        return
    # It heads for a place on the line that is the lookahead further on.
    ahead = before + lookahead * (end - before) / float(np.linalg.norm(end - before))
    np.testing.assert_allclose(np.cross(left, ahead - position), 0.0, atol=1e-7)
    assert left @ (ahead - position) > 0


def test_on_its_line_a_tool_goes_straight_on():
    start, end = np.array([0.1, 0.0, 0.3]), np.array([0.5, 0.2, 0.1])
    on = start + 0.25 * (end - start)
    np.testing.assert_allclose(along_line(on, start, end, 0.05), end - on)
    # Nowhere to go: nothing is left.
    np.testing.assert_array_equal(along_line(end, end, end, 0.05), np.zeros(3))
