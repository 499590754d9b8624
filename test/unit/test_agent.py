"""Whole runs against the fake robot: results, files, and every way to end."""

import dataclasses
import json
import pathlib
import threading

import pytest
import yaml

from rpent_ros import __version__, events
from rpent_ros.cerebrums import recipe
from rpent_ros.cerebrums.base import CerebrumResult, Steering
from rpent_ros.ending import summary_lines
from rpent_ros.errors import BadArguments, BadInstruction, BagFailed, ErrorCode, PeerDied
from rpent_ros.limits import Limits
from rpent_ros.session import StopFlag
from rpent_ros.tools.toolkit import Claim

SENTENCE = 'pick up the red cube and place it in the bin'


def text(result, name):
    return (pathlib.Path(result.output_dir) / name).read_text()


def read(result, name):
    return json.loads(text(result, name))


def test_scripted_run_achieves_the_task(run, listener):
    result = run()
    assert (result.status, result.reason, result.claimed) == ('achieved', 'finished', 'success')
    assert (result.achieved, result.privileged) == (True, True)
    assert (result.code, result.message, result.exit_code) == (ErrorCode.OK, '', 0)
    calls = [e.name for e in listener.events if e.kind == events.TOOL_CALL]
    assert calls == ['view_env_state', 'pi0_pick', 'move_to', 'pi0_doubled', 'finish']
    assert result.tool_calls == 5
    assert [d.index for _, d in listener.dumps] == [0, 1, 2, 3]
    assert [d.tool for _, d in listener.dumps] == ['', 'pi0_pick', 'move_to', 'pi0_doubled']
    assert listener.kinds()[0] == events.RUN_STARTED
    assert listener.kinds()[-1] == events.RUN_FINISHED
    assert 'privileged simulator state' in next(
        e.data['text'] for e in listener.events if e.kind == events.WARNING
    )


def test_files_of_a_run(run):
    result = run()
    stored = read(result, 'result.json')
    assert stored == {**result.to_json(), 'ended': stored['ended'], 'seconds': stored['seconds']}
    assert stored['steps'] == result.steps > 20
    config = yaml.safe_load(text(result, 'run.yaml'))
    assert config['run_id'] == result.run_id
    assert config['instruction'] == SENTENCE
    assert len(config['reset']['initial_state_sha256']) == 64
    assert config['policy'] == {'name': 'cheating', 'privileged': True, 'horizon': 10}
    assert config['limits'] == dataclasses.asdict(Limits())
    assert 'python' in config['versions']
    transcript = read(result, 'transcript_fake_pick_t0_s1.json')
    roles = [m['role'] for m in transcript['messages']]
    assert roles[:5] == ['warning', 'system', 'user', 'assistant', 'tool']
    assert SENTENCE in transcript['messages'][2]['text']
    assert transcript['result']['achieved'] is True
    log = text(result, 'run.log')
    assert 'pi0_pick prompt=pick up the red cube -> ok' in log
    assert not list(pathlib.Path(result.output_dir).glob('.*'))


def test_a_missed_pick_is_tried_again(run, vla, listener):
    vla.misses = 2
    result = run()
    assert result.achieved
    calls = [e.name for e in listener.events if e.kind == events.TOOL_CALL]
    assert calls == [
        'view_env_state', 'pi0_pick', 'release', 'move_to', 'pi0_pick', 'release', 'move_to',
        'pi0_pick', 'move_to', 'pi0_doubled', 'finish',
    ]  # fmt: skip


def test_a_pick_that_never_works_ends_in_failure(run, vla):
    vla.misses = 99
    result = run()
    assert (result.status, result.claimed, result.achieved) == ('not_achieved', 'failure', False)
    assert (result.code, result.exit_code) == (ErrorCode.NOT_ACHIEVED, 1)
    assert result.message.startswith(
        "the task's predicate does not hold; the planner claimed failure: "
        f'"{SENTENCE}" is not done: pi0_pick: no object was lifted in '
    )


def test_a_sentence_that_the_policy_refuses_moves_nothing(run, vla, env):
    vla.error = BadInstruction("oracle: 'the fridge' could be nothing here; objects: cube_1")
    result = run(instruction='pick up the fridge and place it in the bin')
    assert (result.status, result.claimed, result.exit_code) == ('not_achieved', 'stuck', 1)
    assert (result.steps, env.observe().step) == (0, 0)
    calls = [m['tool'] for m in read(result, 'transcript_fake_pick_t0_s1.json')['messages']
             if m['role'] == 'assistant']  # fmt: skip
    assert calls == ['view_env_state', 'pi0_pick', 'finish']
    assert result.message == (
        "the task's predicate does not hold; the planner claimed stuck: "
        '"pick up the fridge and place it in the bin" is not done: '
        "oracle: 'the fridge' could be nothing here; objects: cube_1"
    )
    assert result.message in summary_lines(pathlib.Path(result.output_dir), result.to_json())


def test_a_run_out_of_steps_says_so(run, robot, vla):
    robot._max_episode_steps = 30
    result = run()
    assert (result.status, result.claimed, result.steps) == ('not_achieved', 'failure', 30)
    assert result.message.startswith(
        "the episode ended at its limit of 30 control steps; the task's predicate does not hold; "
        f'the planner claimed failure: "{SENTENCE}" is not done: pi0_pick: the step limit ended '
        'episode 1 after 30 control steps; no object was lifted in 30 control steps: '
    )


def test_a_long_excuse_is_cut(run):
    result = run(lambda tools: tools.call('finish', {'status': 'stuck', 'summary': 'why ' * 200}))
    assert result.message.endswith('why why ...')
    assert len(result.message) < 500


def test_privileged_only_if_the_policy_was_asked(run, vla):
    def look_and_move(tools):
        tools.call('move_to', {'xyz': [0.45, 0.0, 0.3]})
        tools.call('finish', {'status': 'failure', 'summary': 'moved'})

    assert run(look_and_move).privileged is False
    vla.error = BadInstruction('what?')
    asked = run(output_dir=run.config.output_dir + '2')
    assert asked.privileged is True


def test_a_recipe_repeats_a_run_exactly(run, robot, tmp_path):
    first = run()
    end = robot._world.to_vector().tolist()
    again = run(
        output_dir=str(tmp_path / 'again'),
        recipe=f'{first.output_dir}/recipe_fake_pick_t0_s1.jsonl',
    )
    # The recipe leaves out the one call that only looked.
    assert (again.achieved, again.tool_calls, again.steps) == (True, 4, first.steps)
    assert robot._world.to_vector().tolist() == end


def test_claimed_success_is_not_achieved_success(run):
    def boast(tools):
        tools.call('move_to', {'xyz': [0.45, 0.0, 0.3]})
        tools.call('finish', {'status': 'success', 'summary': 'it is in the bin'})

    result = run(boast)
    assert (result.claimed, result.achieved, result.status) == ('success', False, 'not_achieved')
    assert result.to_json()['summary'] == 'it is in the bin'


def test_a_planner_that_stops_without_finish(run):
    result = run(lambda tools: CerebrumResult(None, stop_reason='it answered in prose'))
    assert (result.reason, result.claimed) == ('gave_up', '')
    assert result.message == 'it answered in prose'
    assert result.exit_code == 1


def test_tool_call_limit(run):
    def look(tools):
        while True:
            tools.call('view_env_state', {})

    result = run(look, limits=Limits(max_tool_calls=3))
    assert (result.reason, result.code, result.tool_calls) == (
        'turn_limit', ErrorCode.TURN_LIMIT, 3,
    )  # fmt: skip
    assert result.message == (
        'all 3 tool calls of this run are used up; whoever starts it can allow more with '
        'max_tool_calls'
    )


def test_time_limit_cancels_the_running_tool(run, env):
    moved = env.move_to

    def endless(goal, *, should_stop):
        while not should_stop():
            threading.Event().wait(0.01)
        return moved(goal, should_stop=should_stop)

    env.move_to = endless
    result = run(
        lambda tools: tools.call('move_to', {'xyz': [0.45, 0.0, 0.3]}),
        limits=Limits(max_seconds=0.3),
    )
    assert (result.reason, result.code) == ('time_limit', ErrorCode.TIME_LIMIT)
    assert result.message == (
        'the run used up its 0.3 s after 1 tool calls; whoever starts it can allow more with '
        'max_seconds'
    )
    assert read(result, 'transcript_fake_pick_t0_s1.json')['messages'][-1]['result']['code'] == (
        'CANCELED'
    )


@pytest.mark.parametrize(('reason', 'exit_code'), [('cancelled', 1), ('interrupted', 130)])
def test_being_asked_to_stop(run, env, reason, exit_code):
    stop = StopFlag()
    moved = env.move_to

    def stopped_meanwhile(goal, *, should_stop):
        stop.set(reason)
        return moved(goal, should_stop=should_stop)

    env.move_to = stopped_meanwhile
    result = run(stop=stop)
    assert (result.status, result.reason, result.code) == (
        'not_achieved', reason, ErrorCode.CANCELED,
    )  # fmt: skip
    assert result.exit_code == exit_code
    assert read(result, 'result.json')['reason'] == reason


def test_a_component_that_dies_ends_the_run(run, vla):
    vla.error = PeerDied('/fake/vla/infer: the server disappeared while a call was in flight')
    result = run()
    assert (result.status, result.reason, result.exit_code) == ('failed', 'component_failed', 3)
    assert result.code == ErrorCode.PEER_DIED
    assert read(result, 'result.json')['error_msg'] == result.message == str(vla.error)


def test_a_crash_leaves_valid_files(run):
    def crash(tools):
        tools.call('view_env_state', {})
        raise ZeroDivisionError('division by zero')

    result = run(crash)
    assert (result.status, result.code) == ('failed', ErrorCode.UNKNOWN)
    assert result.message == 'ZeroDivisionError: division by zero'
    transcript = read(result, 'transcript_fake_pick_t0_s1.json')
    assert transcript['messages'][-1]['tool'] == 'view_env_state'
    assert transcript['result']['error_name'] == 'UNKNOWN'
    assert 'Traceback' in text(result, 'run.log')


def test_keyboard_interrupt_is_recorded_and_passed_on(run, config):
    def interrupt(tools):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupt)
    stored = json.loads((pathlib.Path(config.output_dir) / 'result.json').read_text())
    assert (stored['reason'], stored['error_name']) == ('interrupted', 'CANCELED')


@pytest.mark.parametrize(
    ('changes', 'code', 'message'),
    [
        (
            {'suite': 'fake_pic'},
            ErrorCode.UNKNOWN_TASK,
            "unknown suite 'fake_pic'; known suites: fake_pick",
        ),
        (
            {'task': 9},
            ErrorCode.UNKNOWN_TASK,
            'suite fake_pick: expected a task from 0 to 2, got 9',
        ),
        (
            {'cerebrum': 'genius'},
            ErrorCode.INVALID_REQUEST,
            "unknown cerebrum 'genius'; known cerebrums: scripted, api, mcp",
        ),
        (
            {'recipe': '/nowhere.jsonl'},
            ErrorCode.BAD_RECIPE,
            'recipe /nowhere.jsonl cannot be read: No such file or directory',
        ),
        (
            {'robot': 'robby'},
            ErrorCode.INVALID_REQUEST,
            "unknown robot 'robby'; known robots: fake, libero",
        ),
    ],
)
def test_wrong_requests_are_refused_in_one_sentence(run, changes, code, message):
    result = run(**changes)
    assert (result.status, result.reason, result.exit_code) == ('refused', 'refused', 2)
    assert (result.code, result.message) == (code, message)


def test_a_recipe_with_an_unknown_tool_is_refused_before_anything_moves(run, env, tmp_path):
    path = tmp_path / 'r.jsonl'
    path.write_text('{"tool": "release"}\n{"tool": "fly"}\n')
    result = run(recipe=str(path))
    assert (result.status, result.code, result.steps) == ('refused', ErrorCode.BAD_RECIPE, 0)
    assert result.message.startswith(f"recipe {path}, line 2: unknown tool 'fly'; known tools: ")


def test_a_folder_in_use_is_refused_and_left_alone(run, config, tmp_path):
    (tmp_path / 'run').mkdir()
    (tmp_path / 'run' / 'x').write_text('')
    result = run()
    assert (result.status, result.code) == ('refused', ErrorCode.BAD_OUTPUT_DIR)
    assert [p.name for p in (tmp_path / 'run').iterdir()] == ['x']


def test_contract_mismatch_stops_the_run_before_the_reset(run, env, vla):
    action = dataclasses.replace(vla.spec.action, gripper_open=1.0, gripper_close=-1.0)
    vla.spec = dataclasses.replace(vla.spec, action=action)
    result = run()
    assert (result.status, result.code) == ('failed', ErrorCode.CONTRACT_MISMATCH)
    assert result.message == (
        'policy cheating does not fit robot fake: action gripper_open: policy 1.0, robot -1.0; '
        'action gripper_close: policy -1.0, robot 1.0; choose a policy made for this robot, or '
        'adapt it in its own adapter'
    )
    assert env.observe().episode == 0


class Recorder:
    def __init__(self, error=None):
        self.calls = []
        self._error = error

    def start(self, run_id, path):
        self.calls.append(('start', run_id, path))

    def stop(self):
        self.calls.append(('stop',))
        if self._error:
            raise self._error
        return {'path': 'bag', 'messages': 12}


def test_the_recording_spans_the_run(run):
    recorder = Recorder()
    result = run(recorder=recorder)
    assert recorder.calls == [
        ('start', result.run_id, f'{result.output_dir}/bag'), ('stop',),
    ]  # fmt: skip
    assert read(result, 'result.json')['bag'] == {'path': 'bag', 'messages': 12}


def test_a_bag_that_cannot_be_closed_does_not_lose_the_result(run, listener):
    result = run(recorder=Recorder(BagFailed('no space left')))
    assert result.achieved
    assert read(result, 'result.json')['bag'] == {
        'path': f'{result.output_dir}/bag', 'error': 'no space left',
    }  # fmt: skip


def test_messages_reach_the_planner(run, listener):
    steering = Steering()
    steering.push('be careful')
    assert run(steering=steering).achieved
    said = [(e.name, e.data['text']) for e in listener.events if e.kind == events.MESSAGE]
    assert said[0] == ('user', 'be careful')
    assert said[1][1] == 'this planner follows its script and cannot act on messages'


def test_an_instruction_of_ones_own(run, robot, vla):
    result = run(instruction='pick up the green cube and place it in the bin')
    assert vla.prompts[0] == 'pick up the green cube'
    # The predicate is that of the task, not of the sentence that was given.
    assert (result.achieved, result.claimed) == (False, 'failure')
    assert result.to_json()['instruction'] == 'pick up the green cube and place it in the bin'


def recipe_lines(result):
    lines = text(result, 'recipe_fake_pick_t0_s1.jsonl').splitlines()
    return [json.loads(line) for line in lines]


def test_a_recipe_says_what_it_was_made_for(run):
    result = run()
    facts, *calls = recipe_lines(result)
    assert facts == {
        'recipe': 1, 'run_id': result.run_id, 'robot': 'fake', 'suite': 'fake_pick', 'task': 0,
        'seed': 1, 'instruction': SENTENCE, 'policy': 'cheating', 'cerebrum': 'scripted',
        'rpent_ros': __version__,
    }  # fmt: skip
    assert [call['tool'] for call in calls] == ['pi0_pick', 'move_to', 'pi0_doubled', 'finish']
    assert [call['turn'] for call in calls] == [2, 3, 4, 5]
    assert sum(call.get('steps', 0) for call in calls) == result.steps
    assert calls[1]['arguments'].keys() == {'xyz', 'yaw', 'gripper', 'speed'}
    assert calls[1]['arguments']['gripper'] == 'keep'


def test_calls_that_only_look_or_were_refused_do_not_enter_the_recipe(run):
    def clumsy(tools):
        tools.call('view_env_state', {})
        assert tools.call('move_to', {'x': 1}).code == BadArguments.code
        assert tools.call('fly', {}).code == ErrorCode.UNKNOWN_TOOL
        assert tools.call('move_to', {'xyz': [0.4, 0.0, 9.0]}).code == ErrorCode.OUT_OF_WORKSPACE
        tools.call('release', {})
        return CerebrumResult(Claim('stuck', ''))

    _, moved, released = recipe_lines(run(clumsy))
    assert (moved['turn'], moved['tool'], moved['ok']) == (4, 'move_to', False)
    assert moved['code'] == 'OUT_OF_WORKSPACE'
    assert (released['tool'], released['ok']) == ('release', True)


def test_numbers_reach_tool_and_recipe_to_the_last_bit(run, env):
    x = 0.45 + 1e-13
    goals = []
    moved = env.move_to

    def listen(goal, *, should_stop):
        goals.append(goal)
        return moved(goal, should_stop=should_stop)

    env.move_to = listen
    result = run(lambda tools: tools.call('move_to', {'xyz': [x, 0.0, 0.3]}))
    assert goals[0][0].target.position[0] == x
    assert recipe_lines(result)[1]['arguments']['xyz'] == [x, 0.0, 0.3]


def test_a_number_that_is_none_is_refused_not_taken_for_null(run):
    def careless(tools):
        answer = tools.call('move_to', {'xyz': [0.45, 0.0, 0.3], 'yaw': float('nan')})
        assert answer.code == ErrorCode.BAD_ARGUMENTS
        assert answer.message == 'move_to: yaw: expected a finite number, got nan'

    result = run(careless)
    assert result.steps == 0
    assert len(recipe_lines(result)) == 1


def instead_of_the_carry(env, carry):
    """Let `carry` answer every goal but the first, which is the pick's own look at its fingers."""
    moved, goals = env.move_to, []

    def move_to(goal, **kwargs):
        goals.append(goal)
        return moved(goal, **kwargs) if len(goals) == 1 else carry(goal, **kwargs)

    env.move_to = move_to


def test_a_call_that_was_cut_off_is_in_transcript_and_recipe(run, env):
    def killed(goal, *, should_stop):
        raise KeyboardInterrupt

    env.move_to = killed
    with pytest.raises(KeyboardInterrupt):
        run(lambda tools: tools.call('move_to', {'xyz': [0.45, 0.0, 0.3]}))
    folder = pathlib.Path(run.config.output_dir)
    last = json.loads((folder / 'recipe_fake_pick_t0_s1.jsonl').read_text().splitlines()[-1])
    assert (last['tool'], 'ok' in last) == ('move_to', False)
    messages = json.loads((folder / 'transcript_fake_pick_t0_s1.json').read_text())['messages']
    assert messages[-1]['tool'] == 'move_to'


@pytest.mark.parametrize('reason', ['cancelled', 'interrupted'])
def test_the_recipe_of_a_run_that_was_stopped_can_be_played(run, env, reason):
    stop = StopFlag()
    moved = env.move_to

    def stopped_meanwhile(goal, *, should_stop):
        stop.set(reason)
        return moved(goal, should_stop=should_stop)

    instead_of_the_carry(env, stopped_meanwhile)
    result = run(stop=stop)
    loaded = recipe.load(pathlib.Path(result.output_dir) / 'recipe_fake_pick_t0_s1.jsonl')
    assert [call.tool for call in loaded.calls] == ['pi0_pick', 'move_to']
    assert loaded.calls[-1].notes['code'] == 'CANCELED'


def test_the_recipe_of_a_run_that_failed_can_be_played(run, env):
    def gone(goal, *, should_stop):
        raise PeerDied('/fake/driver/move_to: the server disappeared')

    instead_of_the_carry(env, gone)
    result = run()
    loaded = recipe.load(pathlib.Path(result.output_dir) / 'recipe_fake_pick_t0_s1.jsonl')
    assert [(call.tool, call.notes['ok']) for call in loaded.calls] == [
        ('pi0_pick', True), ('move_to', False),
    ]  # fmt: skip


def test_a_run_that_was_refused_has_no_recipe(run):
    result = run(suite='fake_pic')
    assert not list(pathlib.Path(result.output_dir).glob('recipe_*'))


def test_lines_for_people(run, listener):
    lines = []
    sink = events.LineSink(lines.append)
    run()
    for event in listener.events:
        sink.event(event)
    told = '\n'.join(lines)
    assert '  2  pi0_pick prompt=pick up the red cube max_chunks=' not in told
    assert '  2  pi0_pick prompt=pick up the red cube\n     ok  ' in told
    assert 'images/01_agentview.png' in told
    assert lines[-1].endswith(': finished, claimed: success, achieved: true')
