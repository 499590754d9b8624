"""`rpent run` with every process of the graph: what it leaves behind, however it ends."""

import json
import os
import signal
from typing import Any

import pytest

from rpent_ros.bag import verify

pytestmark = [pytest.mark.ros, pytest.mark.graph]

# A run that is aborted promises to be gone after five seconds; the rest is for a busy machine.
GONE = 5.0 + 3.0
NODES = ('driver', 'vla', 'recorder', 'segmenter', 'agent')


def in_the_middle(start: Any) -> Any:
    """A slow run that has called two tools."""
    run = start('--no-video', slow=True)
    run.wait_for_line('ready after')
    run.wait_for_line('  2  ')
    run.note_children()
    assert sorted(run.children) == sorted(NODES)
    return run


def test_success(start: Any) -> None:
    run = start()
    code, _ = run.wait()
    run.note_children()
    assert code == 0, run.output
    assert run.left() == ()
    assert 'achieved: true' in run.lines
    names = {path.name for path in run.folder.iterdir()}
    assert names >= {
        'run.yaml', 'run.log', 'states.json', 'images', 'result.json', 'logs', 'bag',
        'sim_states', 'episode.mp4', 'transcript_fake_pick_t1_s0.json',
        'recipe_fake_pick_t1_s0.jsonl',
    }  # fmt: skip
    result = run.result
    assert (result['status'], result['achieved'], result['claimed']) == (
        'achieved',
        True,
        'success',
    )
    assert not [name for name in names if name.startswith('.')]
    # Rendering had nothing to say.
    assert not (run.folder / 'logs' / 'render.log').exists()


def test_bag_tells_the_whole_run(start: Any) -> None:
    run = start('--no-video')
    assert run.wait()[0] == 0, run.output
    summary = verify(run.folder / 'bag')
    assert summary.custom == {'run_id': run.result['run_id'], 'dropped': '0'}
    assert run.result['bag']['messages'] == summary.messages
    for topic in ('agent/events', 'agent/steps', 'driver/state', 'joint_states', 'ee_pose'):
        assert summary.counts.get(f'/fake/{topic}', 0) > 0, (topic, summary.counts)
    assert summary.counts.get('/fake/agentview/image_raw', 0) > 0
    steps = json.loads((run.folder / 'states.json').read_text())['steps']
    assert summary.counts['/fake/agent/steps'] == len(steps)
    kinds = [event.kind for event in events(run.folder / 'bag')]
    assert (kinds[0], kinds[-1]) == ('run_started', 'run_finished')
    assert kinds.count('tool_call') == kinds.count('tool_result') == run.result['tool_calls']


def events(bag: Any) -> list[Any]:
    """The agent's events in a bag, decoded."""
    from rosbags.rosbag2 import Reader
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    with Reader(bag) as reader:
        connections = [c for c in reader.connections if c.topic == '/fake/agent/events']
        for connection in connections:
            store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        return [
            store.deserialize_cdr(data, connection.msgtype)
            for connection, _, data in reader.messages(connections)
        ]


def test_ctrl_c(start: Any) -> None:
    run = in_the_middle(start)
    os.kill(run.process.pid, signal.SIGINT)
    code, seconds = run.wait()
    assert code == 130, run.output
    assert run.left() == ()
    assert seconds < GONE
    assert (run.result['reason'], run.result['achieved']) == ('interrupted', False)
    assert verify(run.folder / 'bag').counts['/fake/agent/events'] > 0
    assert 'Traceback' not in run.output


def test_pressing_ctrl_c_twice_still_leaves_a_result(start: Any) -> None:
    run = in_the_middle(start)
    os.kill(run.process.pid, signal.SIGINT)
    os.kill(run.process.pid, signal.SIGINT)
    code, seconds = run.wait()
    assert code == 130, run.output
    assert run.left() == ()
    assert seconds < GONE
    assert run.result['reason'] == 'interrupted'
    assert verify(run.folder / 'bag').messages > 0


@pytest.mark.parametrize('node', NODES)
def test_killed_node(start: Any, node: str) -> None:
    run = in_the_middle(start)
    os.kill(run.children[node], signal.SIGKILL)
    code, seconds = run.wait()
    assert code == 3, run.output
    assert run.left() == ()
    assert seconds < GONE
    result = run.result
    assert (result['status'], result['reason']) == ('failed', 'component_failed')
    assert result['error_msg'].startswith(f'{node} was killed by SIGKILL; the end of ')
    summary = verify(run.folder / 'bag')
    assert summary.counts['/fake/agent/events'] > 0
    assert ('repaired' in summary.custom) == (node == 'recorder')


def test_supervisor_itself_is_killed(start: Any) -> None:
    run = in_the_middle(start)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait(10)
    for _ in range(100):
        if run.left() == ():
            break
        signal.sigtimedwait([], 0.1)
    assert run.left() == ()


def test_failure_at_start_is_told_with_the_nodes_own_words(start: Any, tmp_path: Any) -> None:
    file = tmp_path / 'wrong.yaml'
    file.write_text('/**/driver:\n  ros__parameters: {camera_rate: 500.0}\n')
    run = start('--params-file', str(file))
    code, _ = run.wait()
    run.note_children()
    assert code == 3, run.output
    assert run.left() == ()
    assert run.result['error_msg'].startswith('driver ended with 3 before it was ready; the end')
    assert 'expected 0.01 to 60.0, got 500.0' in run.result['error_msg']
    assert run.result['error_msg'] in run.output


def test_two_runs_at_once_do_not_meet(start: Any) -> None:
    runs = [start('--no-video'), start('--no-video', folder='second')]
    for run in runs:
        assert run.wait()[0] == 0, run.output
    domains = [
        line.split()[1] for run in runs for line in run.lines if line.startswith('ROS_DOMAIN_ID')
    ]
    assert len(set(domains)) == 2


def test_segment_through_the_whole_graph(start: Any, tmp_path: Any) -> None:
    recipe = tmp_path / 'look.jsonl'
    looks = [
        # The table's corner, of which there is nothing to tell.
        {'tool': 'segment', 'arguments': {'camera': 'agentview', 'point': [500, 10]}},
        {'tool': 'segment', 'arguments': {'camera': 'agentview', 'text': 'a cube'}},
    ]
    recipe.write_text('\n'.join(json.dumps(look) for look in looks))
    run = start('--no-video', '--no-record', '--recipe', str(recipe))
    code, _ = run.wait()
    assert code == 1, run.output
    (transcript,) = run.folder.glob('transcript_*.json')
    messages = json.loads(transcript.read_text())['messages']
    results = [message['result'] for message in messages if message['role'] == 'tool']
    floor, words = results[:2]
    assert floor['code'] == 'NOT_FOUND', floor
    assert words['code'] == 'INVALID_REQUEST'
    assert 'the classical segmenter finds the thing at a point' in words['message']


def test_a_privileged_segmenter_names_objects(start: Any, tmp_path: Any) -> None:
    recipe = tmp_path / 'look.jsonl'
    recipe.write_text(
        json.dumps({'tool': 'segment', 'arguments': {'camera': 'agentview', 'text': 'a cube'}})
    )
    run = start(
        '--no-video', '--no-record', '--vla', 'none', '--segmenter', 'privileged',
        '--recipe', str(recipe),
    )  # fmt: skip
    assert run.wait()[0] == 1, run.output
    (transcript,) = run.folder.glob('transcript_*.json')
    messages = json.loads(transcript.read_text())['messages']
    result = next(message['result'] for message in messages if message['role'] == 'tool')
    assert result['ok'], result
    assert result['privileged'] is True
    assert {found['label'] for found in result['instances']} == {'cube_1', 'cube_2', 'cube_3'}
    assert run.result['privileged'] is True
