"""The agent as a process of its own: signals, exit codes, and what they leave on disk."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip('rclpy')

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOWLY = """\
{"tool": "move_to", "arguments": {"xyz": [0.45, 0.1, 0.3], "speed": 0.05}}
{"tool": "move_to", "arguments": {"xyz": [0.45, -0.1, 0.2], "speed": 0.05}}
"""


@pytest.fixture
def start(tmp_path):
    processes = []

    def go(node, **parameters):
        values = [f'{name}:={value}' for name, value in parameters.items()]
        process = subprocess.Popen(
            [
                sys.executable, '-m', f'rpent_ros.nodes.{node}', '--ros-args',
                '-r', '__ns:=/process_test', *(x for v in values for x in ('-p', v)),
            ],
            cwd=ROOT,
            env={**os.environ, 'ROS_DOMAIN_ID': '85'},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        processes.append(process)
        ready = json.loads(process.stdout.readline())
        assert ready['event'] == 'transport_ready'
        return process

    yield go
    for process in processes:
        process.kill()
        process.communicate()


def start_run(start, tmp_path):
    recipe = tmp_path / 'slowly.jsonl'
    recipe.write_text(SLOWLY)
    driver = start('driver', robot='fake', step_seconds='0.05')
    agent = start(
        'agent', robot='fake', suite='fake_pick', recipe=recipe, output_dir=tmp_path / 'run',
        use_vla='false', record='false', image_size=0, autorun='true', exit_when_done='true',
    )  # fmt: skip
    transcript = tmp_path / 'run' / 'run.yaml'
    deadline = time.monotonic() + 20
    while not (transcript.exists() and 'initial_state' in transcript.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.0)
    return driver, agent


def result_of(tmp_path):
    return json.loads((tmp_path / 'run' / 'result.json').read_text())


def test_interrupt_stops_the_robot_and_leaves_a_result(start, tmp_path):
    _, agent = start_run(start, tmp_path)
    agent.send_signal(signal.SIGINT)
    _, errors = agent.communicate(timeout=10)
    assert agent.returncode == 130
    assert 'Traceback' not in errors
    result = result_of(tmp_path)
    assert (result['status'], result['reason']) == ('not_achieved', 'interrupted')
    assert result['error_msg'] == 'the run was interrupted after 1 tool calls'
    assert result['steps'] > 0


def test_a_driver_that_is_killed_fails_the_run(start, tmp_path):
    driver, agent = start_run(start, tmp_path)
    driver.kill()
    _, errors = agent.communicate(timeout=20)
    assert agent.returncode == 3
    sentence = (
        '/process_test/driver/move_to: the server disappeared while a call was in flight; '
        'see the log of its node'
    )
    assert errors.strip().splitlines()[-1] == sentence
    result = result_of(tmp_path)
    assert (result['status'], result['error_name']) == ('failed', 'PEER_DIED')
    assert result['error_msg'] == sentence


def test_a_wrong_task_is_refused(start, tmp_path):
    start('driver', robot='fake')
    agent = start(
        'agent', robot='fake', suite='fake_pic', output_dir=tmp_path / 'run', use_vla='false',
        record='false', autorun='true', exit_when_done='true',
    )  # fmt: skip
    _, errors = agent.communicate(timeout=20)
    assert agent.returncode == 2
    assert errors.strip().splitlines()[-1] == (
        "unknown suite 'fake_pic'; known suites: fake_pick"
    )
