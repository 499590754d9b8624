"""The fake robot: repeatable, true to its cameras, and its gripper holds what it caught."""

import subprocess
import sys
import time

import numpy as np
import pytest

from robots.fake import world as w
from robots.fake.env_server import FakeRobot
from rpent_ros.errors import InvalidRequest, UnknownCamera, UnknownTask
from rpent_ros.robot import Robot, load_robot_package


@pytest.fixture
def robot():
    robot = FakeRobot(image_size=128)
    robot.reset(suite='', task=-1, seed=3)
    return robot


def drive(robot, target, gripper, steps=60):
    """Servo the tool to a point."""
    for _ in range(steps):
        delta = (np.asarray(target) - robot.tool_position()) * 1.5 / w.TRANSLATION
        status = robot.step(np.array([*np.clip(delta, -1, 1), 0, 0, 0, gripper]))
    return status


def test_it_is_a_robot_package():
    spec = load_robot_package('fake').get_env_spec()
    robot = spec.make_robot({'suite': '', 'task': -1, 'image_size': 32})
    assert isinstance(robot, Robot)
    assert robot.spec.camera('wrist').width == 32
    assert spec.suites() == {'fake_pick': 3}


def test_same_seed_same_episode():
    runs = []
    for _ in range(2):
        robot = FakeRobot()
        info = robot.reset(suite='fake_pick', task=1, seed=7)
        rng = np.random.default_rng(0)
        for _ in range(30):
            robot.step(rng.uniform(-1, 1, 7))
        runs.append((info, robot.simulator_state()))
    assert runs[0][0] == runs[1][0]
    assert runs[0][0].instruction == 'pick up the blue cube and place it in the bin'
    assert runs[0][0].facts['initial_state_sha256'] == runs[1][0].facts['initial_state_sha256']
    np.testing.assert_array_equal(runs[0][1], runs[1][1])


def test_other_seed_other_start():
    robot = FakeRobot()
    hashes = {
        robot.reset(suite='', task=-1, seed=seed).facts['initial_state_sha256']
        for seed in range(20)
    }
    assert len(hashes) == 20


@pytest.mark.parametrize('seed', range(20))
def test_cubes_start_apart_on_the_table_outside_the_bin(seed):
    cubes = w.World.initial(seed).cubes
    np.testing.assert_array_equal(cubes[:, 2], w.CUBE_SIZE / 2)
    gaps = [np.linalg.norm(cubes[a] - cubes[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 0.09
    assert (np.abs(cubes[:, :2] - w.BIN_CENTRE).max(axis=1) > w.BIN_HALF).all()


def test_a_step_lags_and_coasts(robot):
    start = robot.tool_position().copy()
    robot.step(np.array([1, 0, 0, 0, 0, 0, 0.0]))
    first = robot.tool_position()[0] - start[0]
    for _ in range(20):
        robot.step(np.array([1, 0, 0, 0, 0, 0, 0.0]))
    before = robot.tool_position()[0]
    robot.step(np.zeros(7))
    coasted = robot.tool_position()[0] - before
    assert first == pytest.approx(0.0075)
    assert 0.005 < coasted < 0.015
    robot.hold()
    at_rest = robot.tool_position().copy()
    robot.step(np.zeros(7))
    np.testing.assert_array_equal(robot.tool_position(), at_rest)


def test_pick_and_place_ends_the_episode(robot):
    cube = robot.scene().body('cube_1').pose.position
    drive(robot, cube + [0, 0, 0.1], -1)
    drive(robot, cube, -1)
    drive(robot, cube, 1, steps=10)
    assert robot.scene().touching('cube_1') == {'finger_left', 'finger_right'}
    assert robot.observe().gripper_width == w.CUBE_SIZE
    drive(robot, cube + [0, 0, 0.2], 1)
    assert robot.scene().body('cube_1').pose.position[2] == pytest.approx(0.22, abs=0.005)
    status = drive(robot, [*w.BIN_CENTRE, 0.15], 1)
    # In the gripper above the bin is not in the bin.
    assert not status.success
    # 0 holds: the last gripper command stays in force.
    drive(robot, [*w.BIN_CENTRE, 0.15], 0, steps=3)
    assert robot.scene().touching('cube_1')
    status = drive(robot, [*w.BIN_CENTRE, 0.15], -1, steps=20)
    assert (status.terminated, status.success, status.reward) == (True, True, 1.0)
    assert [(g.predicate, g.arguments, g.satisfied) for g in robot.scene().goals] == [
        ('in', ('cube_1', 'bin_region'), True)
    ]


def test_closing_beside_a_cube_catches_nothing(robot):
    cube = robot.scene().body('cube_1').pose.position
    drive(robot, cube + [0.0, 0.0, 0.06], -1)
    drive(robot, cube + [0.0, 0.0, 0.06], 1, steps=12)
    assert robot.observe().gripper_width == 0.0
    assert robot.scene().touching('cube_1') == set()


def test_an_episode_is_truncated():
    robot = FakeRobot(max_episode_steps=3)
    robot.reset(suite='', task=-1, seed=0)
    assert [robot.step(np.zeros(7)).truncated for _ in range(3)] == [False, False, True]


def test_the_state_can_be_loaded_again(robot):
    cube = robot.scene().body('cube_1').pose.position
    drive(robot, cube, -1)
    drive(robot, cube, 1, steps=10)
    state = robot.simulator_state()
    image = robot.render('agentview', width=64, height=64, depth=True)
    other = FakeRobot(image_size=128)
    other.load_simulator_state(state)
    np.testing.assert_array_equal(other.simulator_state(), state)
    again = other.render('agentview', width=64, height=64, depth=True)
    np.testing.assert_array_equal(again.rgb, image.rgb)
    np.testing.assert_array_equal(again.depth, image.depth)
    with pytest.raises(InvalidRequest):
        other.load_simulator_state(state[:-1])


@pytest.mark.parametrize('camera', ['agentview', 'wrist'])
@pytest.mark.parametrize('seed', range(4))
def test_pixels_and_depth_project_back_onto_the_cubes(camera, seed):
    robot = FakeRobot()
    robot.reset(suite='', task=-1, seed=seed)
    frame = robot.render(camera, width=320, height=240, depth=True)
    assert frame.rgb.shape == (240, 320, 3)
    tops = robot._world.cubes + [0, 0, w.CUBE_SIZE / 2]
    seen = 0
    for n, top in enumerate(tops):
        in_camera = frame.pose.rotation.T @ (top - frame.pose.position)
        u, v, _ = frame.intrinsics @ (in_camera / in_camera[2])
        column, row = round(u), round(v)
        if not (0 <= column < 320 and 0 <= row < 240):
            continue
        seen += 1
        # The strongest channel is the cube's colour: red, blue, green.
        assert frame.rgb[row, column].argmax() == (0, 2, 1)[n]
        depth = frame.depth[row, column]
        ray = np.linalg.inv(frame.intrinsics) @ [column, row, 1]
        point = frame.pose.apply(depth * ray)
        np.testing.assert_allclose(point, top, atol=0.004)
        assert depth == pytest.approx(in_camera[2], abs=0.004)
    assert seen >= (3 if camera == 'agentview' else 1)


def test_what_is_not_hit_has_infinite_depth(robot):
    frame = robot.render('agentview', width=64, height=64, depth=True)
    assert np.isinf(frame.depth[0, 0])
    assert robot.render('agentview', width=64, height=64, depth=False).depth is None


def test_unknown_names_list_the_known_ones(robot):
    with pytest.raises(UnknownTask) as caught:
        robot.reset(suite='real_pick', task=0, seed=0)
    assert str(caught.value) == "unknown suite 'real_pick'; known suites: fake_pick"
    with pytest.raises(UnknownTask) as caught:
        robot.reset(suite='fake_pick', task=3, seed=0)
    assert str(caught.value) == 'suite fake_pick: expected a task from 0 to 2, got 3'
    with pytest.raises(UnknownCamera) as caught:
        robot.render('front', width=8, height=8, depth=False)
    assert str(caught.value) == "unknown camera 'front'; known cameras: agentview, wrist"
    with pytest.raises(InvalidRequest) as caught:
        FakeRobot.from_parameters({'imagesize': 3})
    assert str(caught.value) == (
        "robot fake: unknown parameter 'imagesize'; known parameters: suite, task, seed, "
        'privileged, image_size, max_episode_steps, step_seconds'
    )


def test_it_needs_nothing_but_numpy_and_starts_at_once():
    code = (
        'import sys; from robots.fake.env_server import FakeRobot; FakeRobot().observe();'
        'print([m for m in ("mujoco", "torch", "rclpy", "scipy", "PIL") if m in sys.modules])'
    )
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True
    )
    print(f'import, make and observe: {time.monotonic() - started:.2f} s')
    assert done.stdout == '[]\n'
