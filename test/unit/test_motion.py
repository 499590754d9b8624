"""Motions through waypoints: what is kept, what is passed, what is gone around or refused."""

import dataclasses

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from rpent_ros.contracts.motion import Gripper, Waypoint, as_waypoints
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode, InvalidRequest, OutOfReach, OutOfWorkspace
from rpent_ros.geometry import Pose, ToolAngles, quaternion_from_matrix, tool_angles
from rpent_ros.motion import resolve
from rpent_ros.primitives.arm import waypoint
from rpent_ros.primitives.route import detours

HOME = np.array([0.40, 0.0, 0.30])


class Shaken(FakeRobot):
    """Every step turns and shifts the tool a little, as contacts do."""

    shake = 0.0

    def step(self, action):
        status = super().step(action)
        self._world.position[1] += self.shake
        return status


class Stiff(FakeRobot):
    """Cannot pass through a column around x = 0.5, y = 0, nor stop in it."""

    def path_errors(self, path):
        here = np.array(self._world.position)
        errors = []
        for pose in path:
            line = np.linspace(here, pose.position, 50)
            blocked = np.hypot(line[:, 0] - 0.5, line[:, 1]).min() < 0.05
            errors.append((0.07, 0.2) if blocked else (0.0, 0.0))
            here = pose.position
        return errors


def driver(robot):
    core = DriverCore(robot)
    core.reset(seed=1)
    return core


def down(*xyz, **kwargs):
    return waypoint(xyz, **kwargs)


def test_waypoints_are_reached_in_order():
    core = driver(FakeRobot(image_size=32))
    seen = []
    result = core.move_to(
        [down(0.45, 0.1, 0.3), down(0.45, 0.1, 0.2), waypoint(gripper=Gripper.CLOSE)],
        on_step=lambda progress: seen.append(progress.reached),
    )
    assert (result.code, result.reached, result.settled) == (ErrorCode.OK, 3, True)
    assert sorted(set(seen)) == [0, 1, 2]
    assert seen == sorted(seen)
    np.testing.assert_allclose(result.observation.ee_pose.position, [0.45, 0.1, 0.2], atol=0.003)
    assert result.observation.gripper_width == 0.0


def test_a_cancelled_motion_says_how_far_it_came():
    core = driver(FakeRobot(image_size=32))
    reached = []
    result = core.move_to(
        [down(0.45, 0.0, 0.3), down(0.45, 0.2, 0.3)],
        should_stop=lambda: bool(reached) and reached[-1] == 1,
        on_step=lambda progress: reached.append(progress.reached),
    )
    assert (result.code, result.reached) == (ErrorCode.CANCELED, 1)
    assert not result.settled


def test_a_waypoint_with_a_blend_radius_is_passed_without_a_halt():
    halting, blending = (driver(FakeRobot(image_size=32)) for _ in range(2))
    first = down(0.50, 0.0, 0.30)
    last = down(0.60, 0.0, 0.30)
    slow = halting.move_to([first, last])
    fast = blending.move_to([dataclasses.replace(first, blend_radius=0.03), last])
    assert (slow.reached, fast.reached) == (2, 2)
    assert fast.steps < slow.steps
    with pytest.raises(InvalidRequest) as error:
        as_waypoints([dataclasses.replace(first, blend_radius=0.03)])
    assert str(error.value) == (
        'move_to: expected the last waypoint to have blend_radius 0, got 0.03'
    )
    with pytest.raises(InvalidRequest, match='expected at least one waypoint, got none'):
        as_waypoints([])


def test_errors_of_many_motions_do_not_add_up():
    robot = Shaken(image_size=32)
    core = driver(robot)
    core.move_to(down(*HOME, pitch=0.0, yaw=0.3))
    for n in range(30):
        # Whatever turned the arm between two motions is not kept.
        robot._world.rotation = ToolAngles(0.02, 0.33).rotation
        core.move_to(down(0.4 + 0.05 * (n % 2), 0.0, 0.3))
    angles = tool_angles(core.observe().ee_pose.rotation)
    assert angles.yaw == pytest.approx(0.3, abs=0.018)
    assert angles.pitch == pytest.approx(0.0, abs=0.018)
    for n in range(20):
        robot._world.position[:] += 0.002
        core.move_to(waypoint(yaw=0.3 + 0.1 * (n % 2)))
    np.testing.assert_allclose(core.observe().ee_pose.position, [0.45, 0.0, 0.3], atol=0.004)


def test_what_a_policy_did_is_kept_as_it_is():
    core = driver(FakeRobot(image_size=32))
    core.move_to(down(*HOME, pitch=0.0, yaw=0.0))
    for _ in range(5):
        core.step([0, 0, 0, 0, 0, 0.2, -1])
    turned = tool_angles(core.observe().ee_pose.rotation).yaw
    assert turned > 0.1
    core.move_to(down(0.45, 0.0, 0.3))
    assert tool_angles(core.observe().ee_pose.rotation).yaw == pytest.approx(turned, abs=0.02)


def test_a_long_line_out_of_reach_is_gone_around():
    core = driver(Stiff(image_size=32))
    core.move_to(down(0.5, -0.2, 0.3))
    result = core.move_to(down(0.5, 0.2, 0.3))
    assert result.code == ErrorCode.OK
    (via,) = result.route
    assert np.hypot(via[0] - 0.5, via[1]) > 0.05
    np.testing.assert_allclose(result.observation.ee_pose.position, [0.5, 0.2, 0.3], atol=0.003)


def test_a_target_out_of_reach_is_refused_before_anything_moves():
    core = driver(Stiff(image_size=32))
    with pytest.raises(OutOfReach) as error:
        core.move_to([down(0.4, 0.1, 0.3), down(0.5, 0.0, 0.2, pitch=0.0, yaw=0.5)])
    assert str(error.value) == (
        'the arm cannot bring the tool to [0.500, 0.000, 0.200] m with pitch 0.00 and yaw 0.50 '
        'rad from where it is: about 70 mm and 0.20 rad would be left; nothing moved; choose a '
        'target nearer to the middle of the workspace or another orientation'
    )
    assert core.state.step == 0


def test_any_waypoint_outside_the_box_refuses_the_goal():
    core = driver(FakeRobot(image_size=32))
    with pytest.raises(OutOfWorkspace):
        core.move_to([down(0.45, 0.0, 0.3), down(0.45, 0.0, 0.9), down(0.45, 0.0, 0.3)])
    assert core.state.step == 0


@pytest.mark.parametrize('pitch', [-1.5, -0.4, 0.0, 0.7, 1.57, 3.0])
@pytest.mark.parametrize('yaw', [-3.1, -1.0, 0.0, 1.57, 2.8])
@pytest.mark.parametrize('lean', [-1.2, 0.0, 0.3])
def test_angles_of_a_tool_can_be_read_back(pitch, yaw, lean):
    angles = tool_angles(ToolAngles(pitch, yaw, lean).rotation)
    assert (angles.pitch, angles.yaw, angles.lean) == pytest.approx((pitch, yaw, lean))


def test_angles_mean_what_they_say():
    np.testing.assert_allclose(ToolAngles(0.0, 0.0).rotation, np.diag([1, -1, -1]), atol=1e-12)
    # Tilted by a right angle the approach axis points along y.
    np.testing.assert_allclose(
        ToolAngles(np.pi / 2, 0.7).rotation[:, 2], [0, 1, 0], atol=1e-12
    )
    # Yaw turns the x axis counter-clockwise seen from above.
    np.testing.assert_allclose(
        ToolAngles(0.0, np.pi / 2).rotation[:, 0], [0, 1, 0], atol=1e-12
    )


def test_what_is_kept_of_an_orientation():
    now = Pose(HOME, quaternion_from_matrix(ToolAngles(0.3, 0.5, 0.1).rotation))
    target = Pose(HOME, quaternion_from_matrix(ToolAngles(-0.2, 1.0).rotation))
    kept = tool_angles(resolve(Waypoint(target, keep_tilt=True), now).rotation)
    assert (kept.pitch, kept.yaw, kept.lean) == pytest.approx((0.3, 1.0, 0.1))
    kept = tool_angles(resolve(Waypoint(target, keep_yaw=True), now).rotation)
    assert (kept.pitch, kept.yaw, kept.lean) == pytest.approx((-0.2, 0.5, 0.0), abs=1e-9)


def test_detours_begin_with_the_nearest():
    places = list(detours(np.array([0.0, -0.2, 0.3]), np.array([0.0, 0.2, 0.3])))
    away = [float(np.linalg.norm(place - [0, 0, 0.3])) for place in places]
    assert away == sorted(away)
    assert away[0] == pytest.approx(0.12)
    assert list(detours(np.zeros(3), np.array([0.05, 0, 0]))) == []
