"""Every tool against the fake robot, every refusal with its whole sentence."""

import dataclasses
import json
import threading

import numpy as np
import pytest
from PIL import Image

from rpent_ros.contracts.motion import Gripper
from rpent_ros.errors import ErrorCode, InferenceFailed, InvalidRequest, PeerDied
from rpent_ros.geometry import yaw_of_tool
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.primitives.skill import Skills
from rpent_ros.states import States

HOME = [0.40, 0.0, 0.30]


def refused(result, code, message):
    assert (result.ok, result.code, result.message) == (False, code, message)


def test_tools_in_order(make_toolkit):
    names = [tool.name for tool in make_toolkit().tools]
    assert names[0] == 'view_env_state'
    assert names[-1] == 'finish'
    assert len(set(names)) == len(names)


def test_without_a_policy_the_learned_tools_are_not_offered(make_toolkit):
    everything = {tool.name for tool in make_toolkit().tools}
    toolkit = make_toolkit(None)
    known = [tool.name for tool in toolkit.tools]
    assert everything - set(known) == {'pi0_pick', 'pi0_doubled'}
    refused(
        toolkit.call('pi0_pick', {'prompt': 'pick up the red cube'}),
        ErrorCode.UNKNOWN_TOOL,
        f"unknown tool 'pi0_pick'; known tools: {', '.join(known)}",
    )


def test_the_first_dump_is_there_before_any_call(make_toolkit, tmp_path):
    make_toolkit()
    document = json.loads((tmp_path / 'states.json').read_text())
    assert document['schema_version'] == 1
    (entry,) = document['steps']
    assert entry['artifacts'] == [
        'images/00_agentview.png', 'depth/00_agentview.png',
        'images/00_wrist.png', 'depth/00_wrist.png',
        'images/00_agentview_high.png', 'depth/00_agentview_high.png',
        'images/00_wrist_high.png', 'depth/00_wrist_high.png',
    ]  # fmt: skip
    sizes = [Image.open(tmp_path / name).size for name in entry['artifacts']]
    assert sizes == [(64, 64)] * 4 + [(128, 128)] * 4
    assert entry['log'] == {'command': None, 'result': None, 'elapsed_s': None}
    assert entry['stamp']['sec'] > 1_600_000_000


def test_view_env_state(make_toolkit):
    result = make_toolkit().call('view_env_state', {})
    assert result.ok
    assert result.data['instruction'] == 'pick up the red cube and place it in the bin'
    np.testing.assert_allclose(result.data['state']['ee_position'], HOME, atol=1e-9)
    assert result.data['state']['gripper_width'] == pytest.approx(0.08)
    assert [(i.camera, i.width) for i in result.images] == [('agentview', 128), ('wrist', 128)]
    assert all(image.path.is_file() for image in result.images)


def test_view_env_state_of_a_step_that_is_not_there(make_toolkit):
    refused(
        make_toolkit().call('view_env_state', {'step': 3}),
        ErrorCode.NO_SUCH_STEP,
        'step 3 has not been recorded; recorded steps: 0 to 0',
    )


def test_move_to(make_toolkit, env):
    toolkit = make_toolkit()
    result = toolkit.call('move_to', {'xyz': [0.45, -0.1, 0.25], 'yaw': 0.5})
    assert result.ok
    data = result.data
    assert data['settled'] is True
    assert data['distance_left'] <= 0.005
    np.testing.assert_allclose(data['executed']['xyz'], [0.45, -0.1, 0.25], atol=0.005)
    assert data['executed']['yaw'] == pytest.approx(0.5, abs=0.04)
    assert data['requested'] == {
        'xyz': [0.45, -0.1, 0.25], 'yaw': 0.5, 'gripper': 'keep', 'speed': None,
    }  # fmt: skip
    assert data['steps'] == env.observe().step > 0
    assert (data['terminated'], data['truncated'], data['success']) == (False, False, False)
    assert data['step_idx'] == 1
    # The state after the motion is part of the answer, and is what was dumped.
    entry = States(toolkit.output_dir).entry()
    assert data['state'] == entry['state']
    assert entry['log']['command'] == {
        'tool': 'move_to',
        'arguments': {'xyz': [0.45, -0.1, 0.25], 'yaw': 0.5, 'gripper': 'keep', 'speed': None},
    }
    assert entry['log']['result']['settled'] is True
    assert [image.path.name for image in result.images] == [
        '01_agentview_high.png', '01_wrist_high.png',
    ]  # fmt: skip


def test_a_target_outside_the_box_moves_nothing_and_dumps_nothing(make_toolkit, env):
    toolkit = make_toolkit()
    result = toolkit.call('move_to', {'xyz': [0.4, 0.0, 9.0]})
    high = env.describe().limits.workspace_max[2]
    low = env.describe().limits.workspace_min[2]
    refused(
        result,
        ErrorCode.OUT_OF_WORKSPACE,
        f'target outside the workspace box: z = 9.000 m (allowed {low:.3f} to {high:.3f}), '
        'in the base frame; choose a target inside',
    )
    assert env.observe().step == 0
    assert len(States(toolkit.output_dir).entries()) == 1
    assert result.data['step_idx'] == 0
    assert result.images == ()


def test_bad_arguments_reach_no_handler(make_toolkit, env):
    refused(
        make_toolkit().call('move_to', {'xyz': [0.4, 0.0, float('nan')]}),
        ErrorCode.BAD_ARGUMENTS,
        'move_to: xyz[2]: expected a finite number, got nan',
    )
    assert env.observe().step == 0


def test_rotate_wrist(make_toolkit, env):
    toolkit = make_toolkit()
    by = toolkit.call('rotate_wrist', {'delta_yaw': -0.6})
    assert by.ok
    assert by.data['start_yaw'] == pytest.approx(0.0, abs=1e-9)
    assert by.data['executed']['yaw'] == pytest.approx(-0.6, abs=0.04)
    to = toolkit.call('rotate_wrist', {'target_yaw': 0.3})
    assert yaw_of_tool(env.observe().ee_pose.rotation) == pytest.approx(0.3, abs=0.04)
    np.testing.assert_allclose(to.data['executed']['xyz'], HOME, atol=0.005)


@pytest.mark.parametrize(
    ('given', 'got'), [({}, 'none'), ({'target_yaw': 0.1, 'delta_yaw': 0.1}, 'both')]
)
def test_rotate_wrist_needs_one_angle(make_toolkit, given, got):
    refused(
        make_toolkit().call('rotate_wrist', given),
        ErrorCode.BAD_ARGUMENTS,
        f'rotate_wrist: expected exactly one of target_yaw and delta_yaw, got {got}',
    )


def test_move_delta(make_toolkit, env):
    result = make_toolkit().call('move_delta', {'dxyz': [0.05, -0.1, 0.02]})
    assert result.ok
    np.testing.assert_allclose(result.data['requested']['xyz'], [0.45, -0.1, 0.32], atol=1e-9)
    np.testing.assert_allclose(env.observe().ee_pose.position, [0.45, -0.1, 0.32], atol=0.003)


def test_move_pose(make_toolkit):
    given = {'xyz': [0.45, 0.1, 0.3], 'pitch': 0.4, 'yaw': -0.7}
    result = make_toolkit().call('move_pose', given)
    assert result.ok
    assert result.data['requested'] == {**given, 'gripper': 'keep', 'speed': None}
    executed = result.data['executed']
    assert (executed['pitch'], executed['yaw']) == pytest.approx((0.4, -0.7), abs=0.018)
    state = result.data['state']
    assert (state['ee_pitch'], state['ee_yaw']) == pytest.approx((0.4, -0.7), abs=0.018)
    assert result.data['angle_left'] <= 0.0175


def test_rotate_pitch_leaves_yaw_and_place_alone(make_toolkit):
    toolkit = make_toolkit()
    toolkit.call('rotate_wrist', {'target_yaw': 0.8})
    tilted = toolkit.call('rotate_pitch', {'target_pitch': -0.5})
    assert tilted.ok
    assert tilted.data['start_pitch'] == pytest.approx(0.0, abs=0.01)
    assert tilted.data['executed']['pitch'] == pytest.approx(-0.5, abs=0.018)
    assert tilted.data['executed']['yaw'] == pytest.approx(0.8, abs=0.018)
    np.testing.assert_allclose(tilted.data['executed']['xyz'], HOME, atol=0.003)
    back = toolkit.call('rotate_pitch', {'delta_pitch': 0.5})
    assert back.data['executed']['pitch'] == pytest.approx(0.0, abs=0.03)
    refused(
        toolkit.call('rotate_pitch', {}),
        ErrorCode.BAD_ARGUMENTS,
        'rotate_pitch: expected exactly one of target_pitch and delta_pitch, got none',
    )
    refused(
        toolkit.call('rotate_pitch', {'target_pitch': 2.0}),
        ErrorCode.BAD_ARGUMENTS,
        'rotate_pitch: target_pitch: expected a finite number from -1.5708 up to 1.5708 or null, '
        'got 2.0',
    )


def test_a_target_out_of_reach_moves_nothing(make_toolkit, env, robot, monkeypatch):
    monkeypatch.setattr(robot, 'path_errors', lambda path: [(0.12, 0.0)] * len(path))
    result = make_toolkit().call('move_to', {'xyz': [0.5, 0.0, 0.3]})
    assert result.code == ErrorCode.OUT_OF_REACH
    assert '120 mm and 0.00 rad would be left; nothing moved' in result.message
    assert env.observe().step == 0


def test_gripper(make_toolkit):
    toolkit = make_toolkit()
    closed = toolkit.call('set_gripper', {'command': 'close'})
    assert closed.ok
    assert closed.data['executed']['gripper_width'] == pytest.approx(0.0)
    assert closed.data['holding'] is False
    opened = toolkit.call('release', {})
    assert opened.data['start_gripper_width'] == pytest.approx(0.0)
    assert opened.data['executed']['gripper_width'] == pytest.approx(0.08)


def test_scripted_grasp_holds_a_cube(make_toolkit, robot):
    toolkit = make_toolkit()
    cube = robot._world.cubes[0].tolist()
    result = toolkit.call('scripted_grasp', {'xyz': cube})
    assert (result.code, result.message) == (ErrorCode.OK, '')
    assert result.data['stage'] == 'done'
    assert result.data['holding'] is True
    assert robot._world.held == 0
    assert robot._world.cubes[0][2] == pytest.approx(cube[2] + 0.10, abs=0.01)
    # What is held stays held when the arm moves on.
    assert toolkit.call('move_to', {'xyz': [0.45, 0.1, 0.3]}).ok
    assert robot._world.held == 0


def test_scripted_grasp_of_nothing(make_toolkit):
    result = make_toolkit().call('scripted_grasp', {'xyz': [0.7, 0.3, 0.05]})
    refused(
        result,
        ErrorCode.NOT_GRASPED,
        'scripted_grasp: expected a finger width of 0.030 to 0.050 m with an object in between, '
        'got 0.000 m after the lift; measure the point again or choose another yaw',
    )
    assert result.data['stage'] == 'done'
    assert result.data['hint'].startswith('open the gripper, go up')


def test_scripted_grasp_says_at_which_stage_it_ended(make_toolkit):
    result = make_toolkit().call('scripted_grasp', {'xyz': [0.4, 0.0, 0.55]})
    assert result.code == ErrorCode.OUT_OF_WORKSPACE


def test_back_project_finds_a_cube(make_toolkit, robot):
    toolkit = make_toolkit()
    view = next(
        v
        for v in States(toolkit.output_dir).views()
        if (v.camera, v.resolution) == ('agentview', 'high')
    )
    top = robot._world.cubes[0] + [0.0, 0.0, 0.02]
    seen = view.pose.rotation.T @ (top - view.pose.position)
    column, row, _ = view.intrinsics @ (seen / seen[2])
    result = toolkit.call(
        'back_project', {'camera': 'agentview', 'pixel': [round(row), round(column)]}
    )
    assert result.ok
    np.testing.assert_allclose(result.data['xyz'], top, atol=0.012)
    assert result.data['resolution'] == 'high'
    assert result.data['image_size'] == [128, 128]
    region = {
        'rows': [round(row) - 4, round(row) + 4],
        'columns': [round(column) - 4, round(column) + 4],
        'z_min': 0.035,
        'z_max': 0.06,
    }
    area = toolkit.call('back_project', {'camera': 'agentview', 'region': region})
    np.testing.assert_allclose(area.data['xyz'], top, atol=0.006)


def test_back_project_at_the_policy_size(make_toolkit):
    result = make_toolkit().call(
        'back_project', {'camera': 'wrist', 'pixel': [32, 32], 'resolution': 'policy'}
    )
    assert result.data['image_size'] == [64, 64]
    assert result.data['resolution'] == 'policy'


@pytest.mark.parametrize(
    ('given', 'code', 'message'),
    [
        (
            {'camera': 'wrist'},
            ErrorCode.BAD_ARGUMENTS,
            'back_project: expected exactly one of pixel, pixels and region, got none',
        ),
        (
            {'camera': 'wrist', 'pixel': [200, 3]},
            ErrorCode.BAD_PIXEL,
            'pixel [200, 3] lies outside the 128 x 128 image of wrist (high, step 0); '
            'expected row 0 to 127 and column 0 to 127',
        ),
        (
            {'camera': 'agentview', 'pixel': [0, 0]},
            ErrorCode.BAD_PIXEL,
            'pixel [0, 0] of agentview (high, step 0) has no valid depth: it shows nothing '
            'within range; choose a pixel on an object',
        ),
        (
            {'camera': 'wrist', 'pixel': [3, 3], 'step': 7},
            ErrorCode.NO_SUCH_STEP,
            'step 7 has not been recorded; recorded steps: 0 to 0',
        ),
    ],
)
def test_back_project_refusals(make_toolkit, given, code, message):
    refused(make_toolkit().call('back_project', given), code, message)


def test_pi0_pick(make_toolkit, robot, vla):
    result = make_toolkit().call('pi0_pick', {'prompt': 'pick up the blue cube'})
    assert (result.code, result.message) == (ErrorCode.OK, '')
    assert robot._world.held == 1
    assert result.data['holding'] is True
    assert result.data['stopped_by'] == 'lifted'
    assert result.data['descent'] >= 0.10
    assert result.data['lift'] >= 0.05
    assert result.data['privileged'] is True
    assert result.data['policy'] == 'cheating'
    assert vla.sessions == ['agent']


def test_pi0_pick_that_misses(make_toolkit, vla):
    vla.misses = 1
    result = make_toolkit().call('pi0_pick', {'prompt': 'pick up the red cube', 'max_chunks': 9})
    assert result.code == ErrorCode.NOT_GRASPED
    assert result.message.startswith(
        'pi0_pick: no object was lifted in 80 control steps: expected a finger width of 0.030 to '
        '0.050 m with an object in between, got 0.000 m; went down 0.'
    )
    assert result.data['holding'] is False


@pytest.fixture
def slips(robot, monkeypatch):
    """Has the robot lose what it holds, once, in the first control step that is `when`."""

    def arrange(when):
        step, lost = robot.step, []

        def slippery(action):
            status = step(action)
            world = robot._world
            if world.held >= 0 and not lost and when(world):
                lost.append(world.held)
                # Far enough not to be caught again by fingers that are as wide apart as it is.
                world.cubes[world.held] = [0.7, -0.3, 0.02]
                world.held = -1
            return status

        monkeypatch.setattr(robot, 'step', slippery)
        return lost

    return arrange


def test_what_slips_out_after_the_lift_is_not_held(make_toolkit, robot, slips, env):
    """The fingers stand still around nothing: only looking again tells."""
    toolkit = make_toolkit()
    calls, moved = [], env.move_to

    def squeeze(waypoints, **kwargs):
        calls.append(waypoints)
        slips(lambda world: True)
        return moved(waypoints, **kwargs)

    env.move_to = squeeze
    result = toolkit.call('pi0_pick', {'prompt': 'pick up the red cube', 'max_chunks': 8})
    assert (calls[0].gripper, calls[0].keep_position) == (Gripper.CLOSE, True)
    assert result.code == ErrorCode.NOT_GRASPED
    assert result.data['holding'] is False
    assert result.data['stopped_by'] != 'lifted'
    assert robot._world.held == -1


def test_what_slips_out_during_a_scripted_grasp_is_not_held(make_toolkit, robot, slips):
    toolkit = make_toolkit()
    cube = robot._world.cubes[0].tolist()
    assert slips(lambda world: world.position[2] > cube[2] + 0.095) == []
    result = toolkit.call('scripted_grasp', {'xyz': cube})
    assert result.code == ErrorCode.NOT_GRASPED
    assert result.data['executed']['gripper_width'] == pytest.approx(0.0)
    assert result.data['holding'] is False


def test_a_hand_that_became_empty_on_the_way_is_told(make_toolkit, robot, slips):
    toolkit = make_toolkit()
    assert toolkit.call('pi0_pick', {'prompt': 'pick up the red cube'}).data['holding'] is True
    carried = toolkit.call('move_to', {'xyz': [0.45, 0.1, 0.3]})
    assert carried.data['holding'] is True
    slips(lambda world: world.position[0] < 0.42)
    carried = toolkit.call('move_to', {'xyz': [0.35, 0.1, 0.3]})
    assert (carried.ok, carried.data['holding']) == (True, False)


def test_pi0_doubled_ends_when_the_hand_has_become_empty(make_toolkit, robot, slips):
    toolkit = make_toolkit()
    assert toolkit.call('pi0_pick', {'prompt': 'pick up the red cube'}).ok
    start = robot._world.position[1]
    lost = slips(lambda world: world.position[1] > start + 0.05)
    result = toolkit.call('pi0_doubled', {'prompt': 'place red'})
    assert lost == [0]
    refused(
        result,
        ErrorCode.NOT_GRASPED,
        f'pi0_doubled: what the hand held was lost within {result.data["steps"]} control steps: '
        'expected a finger width of 0.030 to 0.050 m with an object in between, got 0.000 m',
    )
    assert result.data['stopped_by'] == 'dropped'
    assert result.data['steps'] == 20
    assert result.data['hint'].startswith('open the gripper, go up')


def test_a_policy_that_was_not_asked_had_no_hand_in_it(env, vla):
    env.reset(seed=1)
    skills = Skills(env, vla, vla.describe(), ManipulationSettings(), lambda: True)
    result = skills.pick('pick up the red cube', 5)
    assert (result.code, result.data['stopped_by']) == (ErrorCode.CANCELED, 'cancelled')
    assert 'privileged' not in result.data


def test_a_skill_that_the_step_limit_ends_says_so(make_toolkit, robot):
    robot._max_episode_steps = 20
    result = make_toolkit().call('pi0_doubled', {'prompt': 'place red'})
    assert (result.ok, result.data['stopped_by']) == (True, 'episode_over')
    assert result.data['truncated'] is True
    assert result.message == (
        'pi0_doubled: the step limit ended episode 1 after 20 control steps'
    )


def test_a_policy_goes_on_after_a_success_that_does_not_end_the_episode(
    make_toolkit, robot, monkeypatch
):
    toolkit = make_toolkit()
    assert toolkit.call('pi0_pick', {'prompt': 'pick up the red cube'}).ok
    step = robot.step
    monkeypatch.setattr(
        robot, 'step', lambda action: dataclasses.replace(step(action), terminated=False)
    )
    result = toolkit.call('pi0_doubled', {'prompt': 'place red', 'max_chunks': 12})
    assert (result.ok, result.message, result.data['stopped_by']) == (True, '', 'success')
    assert (result.data['success'], result.data['terminated']) == (True, False)
    # All that it may: this policy never says that it is done.
    assert result.data['steps'] == 120
    assert robot._world.held == -1


def test_a_hand_that_never_carried_anything_may_be_empty(make_toolkit):
    """Policies push and close things with a shut hand."""
    toolkit = make_toolkit()
    toolkit.call('set_gripper', {'command': 'close'})
    result = toolkit.call('pi0_doubled', {'prompt': 'place red', 'max_chunks': 2})
    assert (result.ok, result.data['stopped_by']) == (True, 'max_chunks')


def test_pi0_doubled_ends_with_the_task(make_toolkit, robot):
    toolkit = make_toolkit()
    assert toolkit.call('pi0_pick', {'prompt': 'pick up the red cube'}).ok
    sentence = 'pick up the red cube and place it in the bin'
    result = toolkit.call('pi0_doubled', {'prompt': sentence})
    assert result.ok
    assert result.data['stopped_by'] == 'success'
    assert (result.data['success'], result.data['terminated']) == (True, True)
    after = toolkit.call('move_to', {'xyz': HOME})
    assert after.code == ErrorCode.EPISODE_OVER
    steps = result.data['steps']
    assert steps > 0
    assert after.message.startswith('episode 1 terminated after ')


def test_pi0_doubled_that_runs_out_of_chunks(make_toolkit):
    result = make_toolkit().call('pi0_doubled', {'prompt': 'place red', 'max_chunks': 2})
    assert result.ok
    assert result.data['stopped_by'] == 'max_chunks'
    assert result.message == (
        'pi0_doubled: 20 control steps were executed without a verdict; look at the images'
    )


def test_an_error_of_the_policy_is_the_tools(make_toolkit, vla):
    vla.error = InferenceFailed('the policy returned NaN')
    result = make_toolkit().call('pi0_pick', {'prompt': 'pick up the red cube'})
    refused(result, ErrorCode.INFERENCE_FAILED, 'the policy returned NaN')


def test_a_driver_that_dies_is_reported(make_toolkit, env, monkeypatch):
    toolkit = make_toolkit()

    def gone(*_, **__):
        raise PeerDied('/fake/driver/observe: the server disappeared')

    monkeypatch.setattr(env, 'observe', gone)
    refused(
        toolkit.call('move_to', {'xyz': HOME}),
        ErrorCode.PEER_DIED,
        '/fake/driver/observe: the server disappeared',
    )


def test_stop_ends_a_motion(make_toolkit, env):
    toolkit = make_toolkit()
    env.stop()
    refused(
        toolkit.call('move_to', {'xyz': HOME}),
        ErrorCode.STOPPED,
        'the driver is stopped (stopped by request); call resume first',
    )


def test_cancel_reaches_the_motion_and_the_state_is_recorded(make_toolkit, env):
    toolkit = make_toolkit()
    moved = env.move_to
    env.move_to = lambda goal, **kw: (toolkit.cancel(), moved(goal, **kw))[1]
    result = toolkit.call('move_to', {'xyz': [0.5, 0.0, 0.2]})
    refused(result, ErrorCode.CANCELED, 'cancelled after 0 control steps; the robot holds')
    env.move_to = moved
    # The next call is not cancelled any more.
    assert toolkit.call('move_to', {'xyz': [0.5, 0.0, 0.2]}).ok


def test_one_motion_at_a_time_and_readers_beside_it(make_toolkit, env):
    toolkit = make_toolkit()
    entered, go_on, results = threading.Event(), threading.Event(), []
    moved = env.move_to

    def slow(goal, **kwargs):
        entered.set()
        assert go_on.wait(10)
        return moved(goal, **kwargs)

    env.move_to = slow
    thread = threading.Thread(
        target=lambda: results.append(toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]}))
    )
    thread.start()
    assert entered.wait(10)
    busy = toolkit.call('release', {})
    finish = toolkit.call('finish', {'status': 'success', 'summary': 'done'})
    look = toolkit.call('view_env_state', {})
    go_on.set()
    thread.join(10)
    message = '{}: move_to is still running; wait for its result or cancel it'
    refused(busy, ErrorCode.TOOL_BUSY, message.format('release'))
    refused(finish, ErrorCode.TOOL_BUSY, message.format('finish'))
    assert look.ok
    assert results[0].ok


def test_finish_stores_the_claim(make_toolkit):
    toolkit = make_toolkit()
    refused(
        toolkit.call('finish', {'status': 'success', 'summary': 'easy'}),
        ErrorCode.INVALID_REQUEST,
        'finish: success cannot be claimed before anything has moved; carry out the task, '
        'or finish with failure or stuck',
    )
    assert toolkit.claim is None
    assert toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]}).ok
    result = toolkit.call('finish', {'status': 'success', 'summary': 'moved'})
    assert result.ends_run
    assert (toolkit.claim.status, toolkit.claim.summary) == ('success', 'moved')


def test_a_tool_is_registered_once(make_toolkit):
    toolkit = make_toolkit()
    with pytest.raises(InvalidRequest) as error:
        toolkit.add_tool('release', toolkit.tool('release').spec(), lambda: {})
    assert str(error.value) == "tool 'release' is registered twice"


def test_a_full_disk_ends_the_call_and_keeps_what_was_written(make_toolkit, monkeypatch):
    import errno

    from rpent_ros import files

    toolkit = make_toolkit()
    before = (toolkit.output_dir / 'states.json').read_bytes()

    def full(path, data):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(files, 'write_bytes', full)
    refused(
        toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]}),
        ErrorCode.BAD_OUTPUT_DIR,
        f'output_dir {toolkit.output_dir}: state dump 1 cannot be written: No space left on '
        'device; free some space there, or choose a folder on another disk; what was written '
        'before is intact',
    )
    assert (toolkit.output_dir / 'states.json').read_bytes() == before


def test_text_only_tells_in_words_what_pictures_show(make_toolkit, robot):
    toolkit = make_toolkit(text_only=True)
    assert 'read_image' not in [tool.name for tool in toolkit.tools]
    result = toolkit.call('view_env_state', {})
    assert result.images == ()
    seen = result.data['seen']
    assert (seen['step_idx'], seen['resolution']) == (0, 'policy')
    assert seen['surface_z'] == pytest.approx(0.0, abs=0.002)
    cubes = [thing for thing in seen['things'] if not thing['at_tool'] and thing['top_z'] < 0.06]
    colours = {thing['colour'] for thing in cubes}
    assert {'red', 'green', 'blue'} <= colours
    red = next(thing for thing in cubes if thing['colour'] == 'red')
    np.testing.assert_allclose(red['center'][:2], robot._world.cubes[0][:2], atol=0.01)
    found = toolkit.call(
        'back_project',
        {'camera': red['camera'], 'pixel': red['pixel'], 'resolution': 'policy'},
    )
    np.testing.assert_allclose(found.data['xyz'][:2], red['center'][:2], atol=0.025)
    moved = toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]})
    assert moved.images == ()
    assert moved.data['seen']['step_idx'] == 1
    # Nothing new was seen, so nothing is told.
    assert 'seen' not in toolkit.call('move_to', {'xyz': [9, 0, 0.3]}).data


def test_results_are_plain_json(make_toolkit):
    toolkit = make_toolkit()
    for name, arguments in (
        ('view_env_state', {}),
        ('move_to', {'xyz': [0.45, 0.0, 0.3]}),
        ('pi0_pick', {'prompt': 'pick up the red cube', 'max_chunks': 1}),
    ):
        shown = toolkit.call(name, arguments).to_json()
        assert json.loads(json.dumps(shown, allow_nan=False)) == shown
        assert set(shown) >= {'ok', 'code', 'message'}
