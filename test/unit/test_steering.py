"""People's messages and interrupts: the robot stops, the planner reads, nothing is lost."""

import json
import pathlib
import threading
import time

from rpent_ros import events
from rpent_ros.cerebrums.base import Steering
from rpent_ros.errors import ErrorCode

FAR = {'xyz': [0.45, 0.0, 0.3]}


def slow_down(env, started):
    """Let motions last until they are told to stop, at most two seconds."""
    moved = env.move_to

    def endless(goal, *, should_stop):
        started.set()
        deadline = time.monotonic() + 2.0
        while not should_stop() and time.monotonic() < deadline:
            time.sleep(0.005)
        return moved(goal, should_stop=should_stop)

    env.move_to = endless


def interrupted_motion(run, env, listener, message='not there'):
    """Run a planner whose second call is interrupted; returns what it saw, and the result."""
    steering, started, seen = Steering(), threading.Event(), []
    slow_down(env, started)

    def solve(tools):
        seen.append(tools.call('view_env_state', {}))
        seen.append(tools.call('move_to', FAR))
        # Until the planner has read the message, nothing moves.
        seen.append(tools.call('move_to', FAR))
        seen.append(tools.call('view_env_state', {}))
        seen.append(steering.acknowledge())
        started.clear()
        env_moves = tools.call('release', {})
        seen.append(env_moves)

    def interrupt():
        started.wait(5)
        time.sleep(0.05)
        told = steering.interrupt(message)
        told.wait(2.0)
        seen.append(('still', told.tool, told.standstill_s))

    person = threading.Thread(target=interrupt)
    person.start()
    result = run(solve, steering=steering)
    person.join()
    still = next(item for item in seen if isinstance(item, tuple))
    seen.remove(still)
    return seen, still, result


def test_an_interrupt_stops_the_robot_and_hands_over_the_message(run, env, listener):
    seen, (_, tool, standstill), result = interrupted_motion(run, env, listener)
    codes = [answer.code for answer in seen if hasattr(answer, 'code')]
    assert codes == [
        ErrorCode.OK, ErrorCode.CANCELED, ErrorCode.CANCELED, ErrorCode.OK, ErrorCode.OK,
    ]  # fmt: skip
    assert 'not executed, the operator interrupted' in seen[2].message
    assert str(seen[4]).startswith('The operator interrupted you and says: not there. The robot')
    assert tool == 'move_to'
    assert 0 < standstill < 1.0
    event = next(e for e in listener.events if e.kind == events.INTERRUPT)
    assert event.data == {
        'message': 'not there', 'tool': 'move_to', 'standstill_s': round(standstill, 4),
    }  # fmt: skip
    assert result.to_json()['interrupts'] == [event.data]
    transcript = json.loads(
        pathlib.Path(result.output_dir, 'transcript_fake_pick_t0_s1.json').read_text()
    )
    assert sum(m['role'] == 'interrupt' for m in transcript['messages']) == 1
    lines = []
    events.LineSink(lines.append).event(event)
    assert lines == [f'interrupted move_to, still after {standstill:.2f} s: not there']


def test_an_interrupt_while_nothing_moves(run, listener):
    steering = Steering()

    def solve(tools):
        told = steering.interrupt()
        assert (told.wait(0), told.tool) == (0.0, '')
        assert str(steering.acknowledge()).startswith('The operator interrupted you without a')
        assert steering.acknowledge() is None

    result = run(solve, steering=steering)
    assert result.to_json()['interrupts'] == [{'message': '', 'tool': '', 'standstill_s': 0.0}]


def test_finish_is_refused_until_the_message_is_read(run):
    steering = Steering()

    def solve(tools):
        steering.interrupt('wait')
        claim = {'status': 'stuck', 'summary': 'done'}
        assert tools.call('finish', claim).code == ErrorCode.CANCELED
        steering.acknowledge()
        assert tools.call('finish', claim).ends_run

    assert run(solve, steering=steering).claimed == 'stuck'


def test_several_interrupts_are_one_notice():
    steering = Steering()
    for text in ('a', '', 'b'):
        steering.interrupt(text)
    assert steering.interrupted
    assert steering.acknowledge().message == 'a\nb'
    assert not steering.interrupted


def test_an_interrupt_that_nobody_listens_to_is_settled_at_once():
    assert Steering().interrupt('hello').wait(0) == 0.0


def test_waiting_for_words():
    steering = Steering()
    assert not steering.wait(0.01)
    threading.Timer(0.05, steering.push, ('go left',)).start()
    assert steering.wait(5)
    assert steering.take() == ['go left']
    assert steering.take() == []


def test_removed_callbacks_are_not_called():
    steering, told = Steering(), []
    remove = steering.on_interrupt(told.append)
    steering.interrupt('one')
    remove()
    remove()
    steering.interrupt('two')
    assert [i.message for i in told] == ['one']


def test_a_scripted_planner_gives_up_when_it_is_interrupted(run, env):
    steering, started = Steering(), threading.Event()
    slow_down(env, started)
    threading.Thread(
        target=lambda: (started.wait(5), steering.interrupt('leave it')), daemon=True
    ).start()
    result = run(steering=steering)
    assert (result.claimed, result.status) == ('stuck', 'not_achieved')
    assert result.to_json()['summary'] == 'the operator interrupted: leave it'


def test_parallel_readers_and_one_motion(run, env, listener):
    """Two threads may call tools: each call gets its own result, and the recipe is right."""
    started, answers = threading.Event(), {}
    slow_down(env, started)

    def solve(tools):
        def move():
            answers['move'] = tools.call('move_to', FAR)

        mover = threading.Thread(target=move)
        mover.start()
        started.wait(5)
        answers['look'] = tools.call('view_env_state', {})
        answers['busy'] = tools.call('release', {})
        answers['finish'] = tools.call('finish', {'status': 'success', 'summary': 'done'})
        tools.cancel()
        mover.join()

    result = run(solve)
    assert {name: answer.code for name, answer in answers.items()} == {
        'move': ErrorCode.CANCELED, 'look': ErrorCode.OK, 'busy': ErrorCode.TOOL_BUSY,
        'finish': ErrorCode.TOOL_BUSY,
    }  # fmt: skip
    assert 'move_to is still running' in answers['finish'].message
    recipe = pathlib.Path(result.output_dir, 'recipe_fake_pick_t0_s1.jsonl').read_text()
    assert [json.loads(line)['tool'] for line in recipe.splitlines()[1:]] == ['move_to']
    assert [json.loads(line).get('code') for line in recipe.splitlines()[1:]] == ['CANCELED']
