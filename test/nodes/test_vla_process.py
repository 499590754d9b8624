"""The vla node as a process of its own: announcement, signals, exit codes, imports."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip('rclpy')

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMULATORS = ('mujoco', 'robosuite', 'libero', 'torch')

Start = Callable[..., subprocess.Popen]


@pytest.fixture
def start() -> Iterator[Start]:
    processes = []

    def go(*parameters: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [
                sys.executable, '-m', 'rpent_ros.nodes.vla', '--ros-args',
                '-r', '__ns:=/vla_process_test', *(x for p in parameters for x in ('-p', p)),
            ],
            cwd=ROOT,
            env={**os.environ, 'ROS_DOMAIN_ID': '86'},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield go
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_announces_itself_and_ends_cleanly(start: Start, number: signal.Signals) -> None:
    process = start('robot:=fake')
    ready = json.loads(process.stdout.readline())
    assert (ready['event'], ready['kind']) == ('transport_ready', 'ros2')
    assert ready['node'] == '/vla_process_test/vla'
    assert ready['services'] == [
        f'/vla_process_test/vla/{name}' for name in ('describe', 'infer', 'reset_policy')
    ]
    process.send_signal(number)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert output == ''
    assert 'Traceback' not in errors


def test_a_second_one_is_refused(start: Start) -> None:
    first = start()
    first.stdout.readline()
    second = start()
    output, errors = second.communicate(timeout=30)
    assert second.returncode == 3
    assert output == ''
    assert errors.strip().splitlines()[-1] == (
        'vla: another node is already called /vla_process_test/vla (ROS_DOMAIN_ID 86); end it, or '
        'choose another namespace or ROS_DOMAIN_ID'
    )


@pytest.mark.parametrize(
    ('parameter', 'sentence'),
    [
        ('policy:=pi9', "vla: unknown policy 'pi9'; known policies: oracle"),
        ('robot:=libreo', "vla: unknown robot 'libreo'; known robots: fake, libero"),
    ],
)
def test_wrong_names_end_in_a_sentence(start: Start, parameter: str, sentence: str) -> None:
    process = start(parameter)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 3
    assert (output, errors.strip()) == ('', sentence)


@pytest.mark.parametrize('robot', ['fake', 'libero'])
def test_imports_no_simulator(robot: str) -> None:
    code = f"""
import sys
from rpent_ros.nodes.vla import VlaParameters, make_policy
policy = make_policy(VlaParameters(robot={robot!r}))
policy.load()
print(policy.spec.name, sorted(set({SIMULATORS!r}) & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == 'oracle []\n', done.stderr
