"""DriverCore on the fake robot: episodes, motions, refusals, stop."""

import dataclasses
import threading

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from rpent_ros.contracts.motion import ActionChunk, Gripper, Waypoint
from rpent_ros.contracts.specs import SafetyLimits
from rpent_ros.driver import DriverCore
from rpent_ros.driver_state import DriverState, MotionProgress, Status
from rpent_ros.errors import (
    BadAction,
    EpisodeOver,
    ErrorCode,
    InvalidRequest,
    NotReset,
    OutOfWorkspace,
    RobotFailed,
    Stopped,
    UnknownCamera,
    UnknownTask,
)
from rpent_ros.geometry import Pose, rotation_about_z
from rpent_ros.state_log import StateLog, read_state_log


class WatchedRobot(FakeRobot):
    """Counts what is asked of it and can be walled in."""

    def __init__(self, **kwargs):
        super().__init__(**{'image_size': 32, **kwargs})
        self.sent = []
        self.holds = 0
        self.renders = 0
        self.wall = np.inf

    def step(self, action):
        self.sent.append(action.copy())
        status = super().step(action)
        if self._world.position[0] > self.wall:
            self._world.position[0] = self.wall
            self._world.velocity[0] = 0.0
        return status

    def hold(self):
        self.holds += 1
        super().hold()

    def render(self, *args, **kwargs):
        self.renders += 1
        return super().render(*args, **kwargs)


@pytest.fixture
def robot():
    return WatchedRobot()


@pytest.fixture
def core(robot):
    core = DriverCore(robot, clock=iter(range(1, 10**6)).__next__)
    core.reset(seed=1)
    return core


def goal(core, offset=(0.0, 0.0, 0.0), **kwargs):
    pose = core.observe().ee_pose
    return Waypoint(Pose(pose.position + offset, pose.quaternion), **kwargs)


def chunk(rows, *, x=0.5, gripper=-1.0):
    data = np.zeros((rows, 7), np.float32)
    data[:, 0], data[:, 6] = x, gripper
    return ActionChunk(data)


def test_nothing_moves_before_the_first_reset(robot):
    core = DriverCore(robot)
    assert core.state == DriverState(Status.UNINITIALISED)
    for motion in (
        lambda: core.step(np.zeros(7)),
        lambda: core.execute_chunk(chunk(1)),
        lambda: core.move_to(goal(core)),
    ):
        with pytest.raises(NotReset) as caught:
            motion()
        assert str(caught.value) == 'there is no episode yet; call reset first'
    assert robot.sent == []
    assert core.observe().episode == 0


def test_reset_counts_episodes_and_reports_facts(core):
    observation, facts = core.reset(suite='fake_pick', task=1, seed=5)
    assert (observation.episode, observation.step) == (2, 0)
    assert observation.instruction == 'pick up the blue cube and place it in the bin'
    assert (facts['suite'], facts['task'], facts['seed']) == ('fake_pick', 1, 5)
    assert len(facts['initial_state_sha256']) == 64
    with pytest.raises(UnknownTask):
        core.reset(suite='fake_pick', task=9)
    assert core.state.status == Status.IDLE
    assert core.observe().episode == 2


def test_a_step_returns_what_was_asked_for_and_renders_only_then(core, robot):
    result = core.step(np.zeros(7))
    assert result.observation is None
    result = core.step(np.zeros(7), observe=True)
    assert (result.observation.step, result.observation.frames) == (2, ())
    assert robot.renders == 0
    result = core.step(np.zeros(7), images=True)
    assert [f.name for f in result.observation.frames] == ['agentview', 'wrist']
    assert robot.renders == 2


def test_a_step_is_clamped_and_says_so(core, robot):
    result = core.step([3.0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(result.executed, [1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(robot.sent[-1], result.executed)
    assert [(c.limit, c.asked, c.sent) for c in result.clamps] == [('high.x', 3.0, 1.0)]


def test_nonsense_never_reaches_the_robot(core, robot):
    with pytest.raises(BadAction):
        core.step([np.nan] * 7)
    with pytest.raises(BadAction):
        core.step(np.zeros(6))
    with pytest.raises(BadAction) as caught:
        core.execute_chunk(ActionChunk(np.zeros((2, 8), np.float32)))
    assert str(caught.value) == (
        'action chunk: expected rows of 7 values, got 8; is the policy made for another robot?'
    )
    with pytest.raises(InvalidRequest) as caught:
        core.execute_chunk(chunk(3), first=4)
    assert str(caught.value) == (
        'execute_chunk first: expected at most the 3 rows of the chunk, got 4'
    )
    with pytest.raises(InvalidRequest) as caught:
        core.execute_chunk(chunk(601))
    assert str(caught.value) == (
        'action chunk: expected at most 600 rows, got 601; send it in several goals'
    )
    assert robot.sent == []


def test_a_chunk_equals_its_steps(core, robot):
    seen = []
    result = core.execute_chunk(chunk(5), first=3, on_step=seen.append)
    assert (result.code, result.message, result.steps) == (ErrorCode.OK, '', 3)
    assert [p.steps for p in seen] == [1, 2, 3]
    by_chunk = robot.simulator_state()
    core.reset(seed=1)
    for _ in range(3):
        core.step([0.5, 0, 0, 0, 0, 0, -1])
    np.testing.assert_array_equal(robot.simulator_state(), by_chunk)
    assert result.observation.step == 3


def test_move_to_settles_on_the_target(core):
    wanted = goal(core, (0.05, -0.1, -0.15))
    result = core.move_to(wanted)
    assert (result.code, result.message, result.settled) == (ErrorCode.OK, '', True)
    error = result.observation.ee_pose.position - wanted.target.position
    assert np.linalg.norm(error) == pytest.approx(result.position_error)
    assert result.position_error < 0.005
    assert np.linalg.norm(result.observation.ee_twist) < 0.02
    assert result.clamps == ()


def test_move_to_turns_and_can_keep_the_position(core):
    start = core.observe().ee_pose
    turned = Pose.from_matrix(
        Pose(start.position, start.quaternion).matrix()
        @ np.block([[rotation_about_z(1.0), np.zeros((3, 1))], [0, 0, 0, 1]])
    )
    result = core.move_to(Waypoint(Pose(np.zeros(3), turned.quaternion), keep_position=True))
    assert result.settled
    assert result.orientation_error < 0.04
    np.testing.assert_allclose(result.observation.ee_pose.position, start.position, atol=1e-6)


def test_a_slow_motion_takes_longer(core):
    fast = core.move_to(goal(core, (0.3, 0, 0)))
    slow = core.move_to(goal(core, (-0.3, 0, 0), speed=0.2))
    assert slow.settled
    assert slow.steps > 2 * fast.steps


def test_keep_repeats_the_last_gripper_command(core, robot):
    core.move_to(goal(core))
    assert robot.sent[-1][6] == -1.0
    closed = core.move_to(goal(core, gripper=Gripper.CLOSE))
    # The motion has waited for the fingers.
    assert closed.observation.gripper_width == 0.0
    core.move_to(goal(core, (0, 0, 0.05)))
    assert {a[6] for a in robot.sent[-3:]} == {1.0}
    core.execute_chunk(chunk(2, gripper=-0.5))
    core.move_to(goal(core))
    assert robot.sent[-1][6] == -0.5
    core.reset()
    core.move_to(goal(core))
    assert robot.sent[-1][6] == -1.0


def test_a_target_outside_is_refused_before_moving(core, robot):
    with pytest.raises(OutOfWorkspace) as caught:
        core.move_to(goal(core, (0, 0, -0.35)))
    assert str(caught.value) == (
        'target outside the workspace box: z = -0.050 m (allowed 0.010 to 0.500), in the base '
        'frame; choose a target inside'
    )
    assert robot.sent == []


def test_limits_can_be_replaced(robot):
    limits = SafetyLimits(
        workspace_min=np.array([0.3, -0.1, 0.2]), workspace_max=np.array([0.5, 0.1, 0.4]),
        max_translation=0.01, max_rotation=0.1, max_steps=10,
    )  # fmt: skip
    core = DriverCore(robot, limits=limits)
    core.reset()
    result = core.step([1, 0, 0, 0, 0, 0, 0])
    assert result.executed[0] == pytest.approx(0.2)
    assert core.spec.limits is limits
    result = core.move_to(goal(core, (0.09, 0, 0)))
    assert result.code == ErrorCode.NOT_REACHED
    assert result.steps == 10
    assert result.message.endswith(
        'of the target after 10 control steps, the longest motion allowed'
    )


def test_a_chunk_cannot_leave_the_workspace(core):
    result = core.execute_chunk(chunk(120, x=1.0))
    assert result.code == ErrorCode.OK
    assert {c.limit for c in result.clamps} == {'workspace_max.x'}
    # What is commanded stays inside; the tool's own coasting may carry it a little further.
    assert result.observation.ee_pose.position[0] < 0.75 + 0.02


def test_something_in_the_way_is_reported_with_the_distance(core, robot):
    robot.wall = 0.45
    result = core.move_to(goal(core, (0.15, 0, 0)))
    assert result.code == ErrorCode.NOT_REACHED
    assert not result.settled
    assert result.position_error == pytest.approx(0.10, abs=0.002)
    assert result.message == (
        f'the tool came to rest 100 mm and 0.00 rad short of the target after {result.steps} '
        'control steps; something is in the way, or the pose cannot be reached'
    )
    assert result.steps < 40
    assert robot.holds == 1


@pytest.mark.parametrize('kind', ['chunk', 'move_to'])
def test_cancel_ends_a_motion_at_the_next_step_and_holds(core, robot, kind):
    steps = []

    def run(**kwargs):
        if kind == 'chunk':
            return core.execute_chunk(chunk(50), **kwargs)
        return core.move_to(goal(core, (0.2, 0, 0)), **kwargs)

    result = run(should_stop=lambda: len(steps) >= 4, on_step=steps.append)
    assert (result.code, result.steps) == (ErrorCode.CANCELED, 4)
    assert result.message == 'cancelled after 4 control steps; the robot holds'
    assert robot.holds == 1
    before = robot.tool_position().copy()
    core.step(np.zeros(7))
    np.testing.assert_array_equal(robot.tool_position(), before)


def test_stop_is_sticky_and_thread_safe(core, robot):
    def on_step(progress: MotionProgress) -> None:
        if progress.steps == 3:
            thread = threading.Thread(target=core.stop, args=('the operator said so',))
            thread.start()
            thread.join()

    result = core.execute_chunk(chunk(50), on_step=on_step)
    assert (result.code, result.steps) == (ErrorCode.STOPPED, 3)
    assert result.message == (
        'stopped after 3 control steps (the operator said so); call resume first'
    )
    assert core.state.status == Status.STOPPED
    assert core.state.reason == 'the operator said so'
    for motion in (lambda: core.step(np.zeros(7)), core.reset, lambda: core.move_to(goal(core))):
        with pytest.raises(Stopped) as caught:
            motion()
        assert str(caught.value) == (
            'the driver is stopped (the operator said so); call resume first'
        )
    assert len(robot.sent) == 3
    core.resume()
    assert core.execute_chunk(chunk(2)).steps == 2
    assert core.state.status == Status.IDLE


def test_the_end_of_an_episode_ends_motion():
    core = DriverCore(WatchedRobot(max_episode_steps=4))
    core.reset()
    result = core.execute_chunk(chunk(10))
    assert (result.code, result.steps) == (ErrorCode.EPISODE_OVER, 4)
    assert result.message == 'the step limit ended episode 1 after 4 control steps'
    assert (result.observation.truncated, result.observation.terminated) == (True, False)
    with pytest.raises(EpisodeOver) as caught:
        core.step(np.zeros(7))
    assert str(caught.value) == (
        'episode 1 was truncated after 4 control steps; call reset'
    )
    core.reset()
    assert core.step(np.zeros(7)).truncated is False


def test_success_ends_a_motion_without_an_error(core, robot):
    robot._world.cubes[0] = [0.50, 0.22, 0.03]
    result = core.move_to(goal(core, (0.1, 0, 0)))
    assert (result.code, result.steps, result.settled) == (ErrorCode.OK, 1, False)
    assert (result.observation.success, result.observation.terminated) == (True, True)
    with pytest.raises(EpisodeOver, match='episode 1 terminated after 1 control steps'):
        core.move_to(goal(core))


def test_a_failing_robot_is_held_and_needs_a_reset(core, robot, monkeypatch):
    def broken(action):
        raise ValueError('lost a joint')

    with monkeypatch.context() as patched:
        patched.setattr(robot, 'step', broken)
        with pytest.raises(ValueError, match='lost a joint'):
            core.execute_chunk(chunk(3))
    assert robot.holds == 1
    assert core.state.status == Status.IDLE
    core.fail('the robot failed')
    assert core.state == dataclasses.replace(
        core.state, status=Status.FAILED, reason='the robot failed'
    )
    with pytest.raises(RobotFailed) as caught:
        core.step(np.zeros(7))
    assert str(caught.value) == 'the robot failed; call reset, or restart the driver'
    core.reset()
    assert core.state.status == Status.IDLE


def test_observe_gives_stamped_images_of_any_size(core):
    observation = core.observe(['wrist'], width=48, height=24, depth=True)
    frame = observation.frame('wrist')
    assert frame.size == (48, 24)
    assert frame.depth.shape == (24, 48)
    assert frame.stamp == observation.stamp > 0
    assert core.observe(['agentview']).frames[0].size == (32, 32)
    with pytest.raises(UnknownCamera) as caught:
        core.observe(['front'])
    assert str(caught.value) == "unknown camera 'front'; known cameras: agentview, wrist"
    with pytest.raises(InvalidRequest) as caught:
        core.observe(['wrist'], width=5000)
    assert str(caught.value) == (
        'camera wrist: expected an image of at most 4096 px a side, got 5000 x 32'
    )


def test_one_prefix_reaches_every_frame_name(robot):
    core = DriverCore(robot, frame_prefix='left/', privileged=True)
    observation, _ = core.reset()
    assert core.spec.base_frame == core.spec.action.frame_id == 'left/base'
    assert core.spec.tool_frame == 'left/tool'
    assert [c.frame_id for c in core.spec.cameras] == [
        'left/agentview_optical', 'left/wrist_optical'
    ]  # fmt: skip
    assert observation.frame_id == core.scene().frame_id == 'left/base'
    assert core.observe(['wrist']).frames[0].frame_id == 'left/wrist_optical'
    assert core.spec.privileged
    # The limits know the action's frame by another name, and still apply.
    assert core.step([0, 0, 0, 0, 0, 0, 9]).clamps[0].limit == 'high.gripper'


def test_the_scene_is_counted_and_stamped(core):
    core.execute_chunk(chunk(2))
    scene = core.scene()
    assert (scene.episode, scene.step) == (1, 2)
    assert scene.stamp > 0


def test_every_control_step_is_logged(robot, tmp_path):
    core = DriverCore(robot, state_log=StateLog(tmp_path))
    core.reset(suite='fake_pick', task=2, seed=4)
    core.step([2.0, 0, 0, 0, 0, 0, 0])
    core.execute_chunk(chunk(3))
    core.reset(seed=5)
    core.step(np.zeros(7))
    first, second = (read_state_log(tmp_path / f'states_000{n}.bin') for n in (1, 2))
    assert first.states.shape == (5, robot.simulator_state().size)
    np.testing.assert_array_equal(first.actions[1], [1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(first.states[:, 0], [0, 0.05, 0.1, 0.15, 0.2])
    assert (np.diff(first.times) > 0).all()
    assert {k: first.header[k] for k in ('robot', 'episode', 'suite', 'task', 'seed', 'rate')} == {
        'robot': 'fake', 'episode': 1, 'suite': 'fake_pick', 'task': 2, 'seed': 4, 'rate': 20.0
    }  # fmt: skip
    assert first.header['instruction'] == 'pick up the green cube and place it in the bin'
    # The second episode keeps the task of the first.
    assert (second.header['task'], second.header['seed'], len(second.times)) == (2, 5, 2)
    np.testing.assert_array_equal(second.states[-1], robot.simulator_state())


def test_closing_releases_the_robot_and_the_log(robot, tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(robot, 'close', lambda: closed.append(True))
    core = DriverCore(robot, state_log=StateLog(tmp_path))
    core.reset()
    core.close()
    assert closed == [True]
    core.step(np.zeros(7))
    assert len(read_state_log(tmp_path / 'states_0001.bin').times) == 1
