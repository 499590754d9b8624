"""A LIBERO task, solved through the whole graph and replayed."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from rpent_ros.state_log import last_episode

pytestmark = [pytest.mark.libero, pytest.mark.ros, pytest.mark.graph]

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rpent(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != 'ROS_DOMAIN_ID'}
    return subprocess.run(
        [sys.executable, '-m', 'rpent_ros.cli.main', *arguments],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=280,
    )  # fmt: skip


@pytest.mark.timeout(600)
def test_a_task_is_repeated_bit_for_bit(tmp_path: pathlib.Path) -> None:
    run = tmp_path / 'run'
    done = rpent(
        'run', '--suite', 'libero_object', '--task', '2', '--no-video', '--no-record',
        '--image-size', '0', '--output-dir', str(run),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    done = rpent('replay', '--verify', str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("verify: achieved: the task's predicate holds in the final ")
    end = json.loads((run / 'states.json').read_text())['steps'][-1]
    assert end['state']['gripper_width'] > 0.07
    for number, options in enumerate(((), ('--actions',))):
        again = tmp_path / f'replay{number}'
        done = rpent('replay', str(run), '--output-dir', str(again), *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads((again / 'replay.json').read_text())['verdict'] == 'identical'
        a, b = (last_episode(folder / 'sim_states') for folder in (run, again))
        assert a.states.tobytes() == b.states.tobytes()
        assert len(a.states) > 50
