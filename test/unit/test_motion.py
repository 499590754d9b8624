"""Motions through waypoints: what is kept, what is passed, what is gone around or refused."""

import dataclasses

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from rpent_ros.contracts.motion import ActionChunk, Gripper, Waypoint, as_waypoints
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode, InvalidRequest, OutOfReach, OutOfWorkspace
from rpent_ros.geometry import Pose, ToolAngles, quaternion_from_matrix, tool_angles
from rpent_ros.motion import resolve
from rpent_ros.primitives.arm import waypoint
from rpent_ros.primitives.route import detours

HOME = np.array([0.40, 0.0, 0.30])


class Shaken(FakeRobot):
    """Every step shifts the tool a little, as contacts do, whatever was commanded."""

    shake = np.zeros(3)

    def step(self, action):
        status = super().step(action)
        self._world.position += self.shake
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


class Cornered(FakeRobot):
    """Must not go straight from left to right, and not the nearest way around either."""

    # Where stops on the way would have to lie to do [m].
    free = np.zeros(3)

    def path_errors(self, path):
        stops = [pose.position for pose in path[:-1]]
        passed = any(np.linalg.norm(stop - self.free) < 0.01 for stop in stops)
        return [(0.0, 0.0)] * len(stops) + [(0.0, 0.0) if passed else (0.07, 0.0)]


@pytest.mark.parametrize(
    ('end', 'free', 'route'),
    [
        # Beside the line, inside the box; the same outside the box.
        ([0.4, 0.35, 0.3], [0.55, 0.175, 0.3], True),
        ([0.7, 0.0, 0.3], [0.55, 0.30, 0.3], True),
        ([0.4, 0.35, 0.3], [0.1, 0.175, 0.3], False),
        ([0.4, 0.35, 0.3], [0.4, 0.175, 0.55], False),
    ],
)
def test_no_way_around_leads_out_of_the_box(end, free, route):
    robot = Cornered(image_size=32)
    robot.free = np.array(free)
    core = driver(robot)
    if not route:
        with pytest.raises(OutOfReach, match=r'about 70 mm and 0\.00 rad would be left'):
            core.move_to(down(*end))
        assert core.state.step == 0
        return
    result = core.move_to(down(*end))
    assert (result.code, result.settled) == (ErrorCode.OK, True)
    np.testing.assert_allclose(result.route, [free])


class HalfWay(FakeRobot):
    """Knows one stop on the way that it comes near enough to, and rests before it all the same."""

    wall = 0.47

    def path_errors(self, path):
        if len(path) == 1:
            return [(0.2, 0.0)]
        far = path[0].position[2] > 0.4 or path[0].position[0] < 0.3
        return [(0.061 if far else 0.059, 0.0), (0.0, 0.0)]

    def step(self, action):
        status = super().step(action)
        if self._world.position[0] > self.wall:
            self._world.position[0] = self.wall
            self._world.velocity[0] = 0.0
        return status


def test_what_is_left_is_measured_from_the_tool_to_what_was_asked_for():
    core = driver(HalfWay(image_size=32))
    wanted = np.array([0.4, 0.3, 0.3])
    seen = []
    result = core.move_to(down(*wanted), on_step=seen.append)
    assert result.code == ErrorCode.NOT_REACHED
    assert result.route == ()
    left = float(np.linalg.norm(result.observation.ee_pose.position - wanted))
    assert left > 0.1
    assert result.position_error == pytest.approx(left, abs=1e-9)
    assert seen[-1].position_error == result.position_error
    assert seen[0].position_error == pytest.approx(0.3, abs=0.02)
    assert result.message == (
        f'the tool came to rest {1000 * left:.0f} mm and 0.00 rad short of the target after '
        f'{result.steps} control steps; something is in the way, or the pose cannot be reached'
    )


def test_a_tool_that_strays_off_its_line_is_held():
    robot = Shaken(image_size=32)
    core = driver(robot)
    robot.shake = np.array([0.0, 0.025, 0.0])
    wanted = np.array([0.7, 0.0, 0.3])
    result = core.move_to(down(*wanted))
    assert (result.code, result.settled) == (ErrorCode.NOT_REACHED, False)
    now = result.observation.ee_pose.position
    assert 0.15 < now[1] < 0.18
    left = float(np.linalg.norm(now - wanted))
    assert result.position_error == pytest.approx(left, abs=1e-9)
    assert result.message == (
        f'the tool strayed {1000 * now[1]:.0f} mm off its straight line (at most 150), '
        f'{1000 * left:.0f} mm and 0.00 rad short of the target after {result.steps} control '
        'steps; the robot holds; something pushes it aside, or the arm cannot follow'
    )
    np.testing.assert_array_equal(robot._world.velocity, np.zeros(3))


OUT = (
    'the tool left the workspace box by {:.0f} mm: z = {:.3f} m (allowed 0.010 to 0.500), in the '
    'base frame'
)


def drifting(upwards=0.015):
    """A driver whose robot drifts upwards, and the robot."""
    robot = Shaken(image_size=32)
    core = driver(robot)
    robot.shake = np.array([0.0, 0.0, upwards])
    return core, robot


def left_by(result):
    height = result.observation.ee_pose.position[2]
    assert 0.03 < height - 0.5 < 0.05
    return OUT.format(1000 * (height - 0.5), height)


def test_a_tool_that_drifts_out_of_the_box_is_held_whatever_moves_it():
    core, robot = drifting()
    idle = ActionChunk(np.zeros((50, 7), np.float32))
    result = core.execute_chunk(idle)
    assert (result.code, result.steps) == (ErrorCode.OUT_OF_WORKSPACE, 16)
    assert result.message == (
        f'{left_by(result)}, after 16 control steps; the robot holds; move back inside'
    )
    np.testing.assert_array_equal(robot._world.velocity, np.zeros(3))

    core, robot = drifting(0.04)
    result = core.move_to(down(0.4, 0.0, 0.45))
    assert (result.code, result.settled) == (ErrorCode.OUT_OF_WORKSPACE, False)
    left = 1000 * (robot._world.position[2] - 0.45)
    assert result.message == (
        f'{left_by(result)}, {left:.0f} mm and 0.00 rad short of the target after '
        f'{result.steps} control steps; the robot holds'
    )

    core, robot = drifting()
    for _ in range(15):
        core.step(np.zeros(7))
    with pytest.raises(OutOfWorkspace) as error:
        core.step(np.zeros(7))
    assert str(error.value) == (
        f'{OUT.format(40, 0.54)}; the robot holds; move back inside'
    )
    assert core.state.step == 16
    # It may stay there, but not go on.
    assert core.step(np.zeros(7)).clamps == ()
    with pytest.raises(OutOfWorkspace, match=r'by 70 mm: z = 0\.570 m'):
        core.step(np.zeros(7))


def test_a_tool_outside_comes_back_by_itself():
    core, robot = drifting()
    core.execute_chunk(ActionChunk(np.zeros((50, 7), np.float32)))
    robot.shake = np.zeros(3)
    assert core.observe().ee_pose.position[2] > 0.53
    result = core.move_to(down(0.4, 0.1, 0.4))
    assert (result.code, result.settled) == (ErrorCode.OK, True)


def test_success_outside_the_box_is_success():
    core, robot = drifting()
    for _ in range(15):
        core.step(np.zeros(7))
    robot._world.cubes[0] = [0.50, 0.22, 0.03]
    assert core.step(np.zeros(7)).success


def test_a_chunk_inside_the_box_is_sent_as_it_is():
    robot = Shaken(image_size=32)
    sent = []
    step = robot.step
    robot.step = lambda action: (sent.append(action.copy()), step(action))[1]
    core = driver(robot)
    rows = np.random.default_rng(2).uniform(-1, 1, (40, 7)).astype(np.float32)
    result = core.execute_chunk(ActionChunk(rows))
    assert (result.code, result.clamps) == (ErrorCode.OK, ())
    np.testing.assert_array_equal(np.array(sent), rows.astype(np.float64))


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
