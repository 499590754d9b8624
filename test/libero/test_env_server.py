"""The LIBERO facade against LIBERO itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

from robots.libero.env_server import LiberoRobot
from robots.libero.simulation import quiet
from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.errors import NotReset, UnknownCamera, UnknownTask
from rpent_ros.tools.resample import reduced

pytestmark = pytest.mark.libero

IDLE = np.array([0.0] * 6 + [-1.0])


def pick_like_actions() -> list[np.ndarray]:
    """Down into the objects, thrash about in contact, close and lift."""
    rng = np.random.default_rng(3)
    down = [np.array([0.3, 0.1, -1.0, 0.0, 0.0, 0.0, -1.0])] * 25
    thrash = [np.append(rng.uniform(-1, 1, 6), rng.choice([-1.0, 0.0, 1.0])) for _ in range(45)]
    lift = [np.array([0.2, 0.0, 0.8, 0.0, 0.0, 0.3, 1.0])] * 30
    return down + thrash + lift


def qpos_qvel(robot: LiberoRobot) -> np.ndarray:
    """The simulator's state without the time."""
    return robot.simulator_state()[1:]


@pytest.mark.parametrize(
    ('suite', 'task'), [('libero_object', 2), ('libero_spatial', 4), ('libero_10', 9)]
)
def test_exact_steps_are_liberos_bit_for_bit(robot: LiberoRobot, suite: str, task: int) -> None:
    robot.reset(suite=suite, task=task, seed=1)
    start = qpos_qvel(robot)
    ours, contacts = [], 0
    for action in pick_like_actions():
        robot.step(action)
        ours.append(qpos_qvel(robot))
        contacts = max(contacts, robot._simulation.data.ncon)

    robot.reset(suite=suite, task=task, seed=1)
    assert (qpos_qvel(robot) == start).all()
    env = robot._simulation.env
    # robosuite's controller reads the state afresh only when told that there is something new.
    env.robots[0].controller.new_update = True
    for n, action in enumerate(pick_like_actions()):
        with quiet():
            env.step(action)
        assert (qpos_qvel(robot) == ours[n]).all(), f'step {n} differs'
    assert contacts > 10


def test_resets_repeat_and_seeds_differ(robot: LiberoRobot) -> None:
    # Task 9 of libero_10 randomises its fixtures: the hardest to repeat.
    first = robot.reset(suite='libero_10', task=9, seed=7).facts
    for _ in range(20):
        robot.step(np.array([0.5, -0.5, -0.5, 0.2, 0.0, 0.0, 1.0]))
    again = robot.reset(suite='', task=-1, seed=7).facts
    other = robot.reset(suite='', task=-1, seed=8).facts
    assert again['initial_state_sha256'] == first['initial_state_sha256']
    assert other['initial_state_sha256'] != first['initial_state_sha256']
    assert first['init_index'] == 7
    wrapped = robot.reset(suite='', task=-1, seed=7 + first['init_states']).facts
    assert wrapped['initial_state_sha256'] == first['initial_state_sha256']


def test_a_reset_leaves_the_scene_at_rest(robot: LiberoRobot) -> None:
    robot.reset(suite='libero_object', task=0, seed=0)
    before = robot.observe().ee_pose.position
    robot.step(IDLE)
    moved = np.linalg.norm(robot.observe().ee_pose.position - before)
    assert moved < 0.0005
    assert np.abs(robot.observe().joint_velocities).max() < 0.02


def test_observation_is_liberos(robot: LiberoRobot) -> None:
    robot.reset(suite='libero_spatial', task=1, seed=2)
    for _ in range(5):
        robot.step(np.array([0.5, 0.5, -0.5, 0.3, 0.2, -0.4, 1.0]))
    with quiet():
        theirs = robot._simulation.env._get_observations(force_update=True)
    ours = robot.observe()
    assert np.allclose(ours.state[:3], theirs['robot0_eef_pos'], atol=1e-9)
    x, y, z, w = theirs['robot0_eef_quat']
    axis_angle = np.array([x, y, z]) / np.sqrt(1 - w * w) * 2 * np.arccos(w)
    assert np.allclose(ours.state[3:6], axis_angle, atol=1e-9)
    assert np.allclose(ours.state[6:], theirs['robot0_gripper_qpos'], atol=1e-9)
    assert np.allclose(ours.joint_positions[:7], np.arctan2(
        theirs['robot0_joint_pos_sin'], theirs['robot0_joint_pos_cos']
    ), atol=1e-9)  # fmt: skip
    assert ours.gripper_width == pytest.approx(ours.state[6] - ours.state[7])


@pytest.mark.parametrize('camera', ['agentview', 'wrist'])
def test_images_are_liberos_turned_upright(robot: LiberoRobot, camera: str) -> None:
    robot.reset(suite='libero_object', task=0, seed=0)
    # After a step, positions are those of its last substep's start; making robosuite's context
    # brings them up to date, so both must look at the updated ones.
    robot._simulation.env.sim.forward()
    ours = robot.render(camera, width=256, height=256, depth=False).rgb
    from robosuite.utils.binding_utils import MjRenderContextOffscreen

    sim = robot._simulation.env.sim
    context = MjRenderContextOffscreen(sim, device_id=-1)
    context.vopt.geomgroup[0] = 0
    name = {'agentview': 'agentview', 'wrist': 'robot0_eye_in_hand'}[camera]
    theirs = sim.render(camera_name=name, width=256, height=256)
    # It frees its buffers in whatever context is current: let that be its own.
    context.gl_ctx.make_current()
    sim._render_context_offscreen = None
    del context
    assert (ours == theirs[::-1]).all()


@pytest.mark.parametrize('camera', ['agentview', 'wrist'])
@pytest.mark.parametrize('size', [256, 700])
def test_depth_and_calibration_hit_the_geometry(
    robot: LiberoRobot, camera: str, size: int
) -> None:
    """Every pixel's ray, cast by MuJoCo from the camera's pose, ends where depth says."""
    robot.reset(suite='libero_object', task=0, seed=0)
    # After a step, poses are those of its last substep's start, which is what is rendered.
    robot._simulation.env.sim.forward()
    errors = depth_errors(robot, robot.render(camera, width=size, height=size, depth=True))
    assert np.median(errors) < 0.00001
    assert np.quantile(errors, 0.9) < 0.0001
    # A few rays graze an edge, where a pixel has no one depth.
    assert np.quantile(errors, 0.95) < 0.001


@pytest.mark.parametrize('camera', ['agentview', 'wrist'])
def test_depth_made_smaller_hits_the_geometry(robot: LiberoRobot, camera: str) -> None:
    """As above, for the image of the policies' size, which dumps make from the larger one."""
    robot.reset(suite='libero_object', task=0, seed=0)
    robot._simulation.env.sim.forward()
    small = reduced(robot.render(camera, width=512, height=512, depth=True), 2)
    assert small.size == (256, 256)
    errors = depth_errors(robot, small)
    assert np.median(errors) < 0.00001
    assert np.quantile(errors, 0.9) < 0.0001
    assert np.quantile(errors, 0.95) < 0.001


def depth_errors(robot: LiberoRobot, frame: CameraFrame) -> list[float]:
    """Distance along the ray between depth and geometry, of 400 random pixels [m]."""
    import mujoco

    model, data = robot._simulation.model, robot._simulation.data
    groups = np.array([0, 1, 0, 0, 0, 0], np.uint8)
    errors = []
    for row, column in np.random.default_rng(0).integers(5, frame.size[0] - 5, (400, 2)):
        ray = np.linalg.inv(frame.intrinsics) @ np.array([column, row, 1.0])
        point = frame.pose.apply(ray * float(frame.depth[row, column]))
        direction = point - frame.pose.position
        length = float(np.linalg.norm(direction))
        hit = mujoco.mj_ray(
            model, data, frame.pose.position, direction / length, groups, 1, -1,
            np.zeros(1, np.int32),
        )  # fmt: skip
        errors.append(abs(hit - length))
    return errors


def test_scene_hulls_agree_with_contacts(robot: LiberoRobot) -> None:
    robot.reset(suite='libero_spatial', task=4, seed=0)
    scene = robot.scene()
    assert [g.predicate for g in scene.goals] == ['on']
    assert scene.goals[0].arguments == ('akita_black_bowl_1', 'plate_1')
    assert not scene.goals[0].satisfied
    # Everything on the table touches it, so its lowest hull vertex is at the table's height.
    for name in ('cookies_1', 'plate_1', 'glazed_rim_porcelain_ramekin_1'):
        body = scene.body(name)
        lowest = min(body.pose.apply(hull)[:, 2].min() for hull in body.hulls)
        assert lowest == pytest.approx(0.90, abs=0.004)
        assert 'world' in scene.touching(name)
    assert scene.touching('akita_black_bowl_1') == {'wooden_cabinet_1'}
    parts = {b.name for b in scene.bodies if b.parent == 'wooden_cabinet_1'}
    assert 'wooden_cabinet_1_cabinet_top' in parts


def test_state_can_be_shown_again(robot: LiberoRobot) -> None:
    robot.reset(suite='libero_object', task=0, seed=0)
    for _ in range(10):
        robot.step(np.array([0.0, 0.5, -0.5, 0.0, 0.0, 0.0, 1.0]))
    state = robot.simulator_state()
    robot._simulation.env.sim.forward()
    picture = robot.render('agentview', width=64, height=64, depth=False).rgb
    robot.reset(suite='', task=-1, seed=0)
    robot.load_simulator_state(state)
    assert (robot.render('agentview', width=64, height=64, depth=False).rgb == picture).all()


def test_episode_is_truncated_at_the_limit() -> None:
    short = LiberoRobot(max_episode_steps=2)
    try:
        short.reset(suite='', task=-1, seed=0)
        assert not short.step(IDLE).truncated
        assert short.step(IDLE).truncated
    finally:
        short.close()


def test_bad_requests_name_the_cure(robot: LiberoRobot) -> None:
    with pytest.raises(UnknownTask, match=r"^unknown suite 'libreo'; known suites: libero_10, "):
        robot.reset(suite='libreo', task=0, seed=0)
    message = 'suite libero_object: expected a task from 0 to 9, got 10'
    with pytest.raises(UnknownTask, match=f'^{re.escape(message)}$'):
        robot.reset(suite='libero_object', task=10, seed=0)
    with pytest.raises(UnknownCamera, match='known cameras: agentview, wrist'):
        robot.reset(suite='libero_object', task=0, seed=0)
        robot.render('front', width=64, height=64, depth=False)
    with pytest.raises(NotReset):
        LiberoRobot().step(IDLE)
