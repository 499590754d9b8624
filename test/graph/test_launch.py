"""The launch files under the real launch_ros; skipped where there is none."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

pytest.importorskip('launch_ros')
if shutil.which('ros2') is None:
    pytest.skip('ros2 is not in PATH', allow_module_level=True)

pytestmark = [pytest.mark.ros, pytest.mark.graph]

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAUNCH_FILE = ROOT / 'launch' / 'fake.launch.py'
TIMEOUT = 120.0


class Launch:
    """One `ros2 launch` of the fake robot."""

    def __init__(self, tmp_path: pathlib.Path, *arguments: str) -> None:
        self.output = tmp_path / 'launch.log'
        env = os.environ | {'ROS_DOMAIN_ID': str(1 + os.getpid() % 101)}
        with open(self.output, 'wb') as log:
            self.process = subprocess.Popen(
                ['ros2', 'launch', str(LAUNCH_FILE), *arguments],
                cwd=tmp_path,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        """What was printed so far."""
        return self.output.read_text(errors='replace')

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Return the first match in the output."""
        deadline = time.monotonic() + TIMEOUT
        while not (match := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None, self.text
            time.sleep(0.05)
        return match

    def pid(self, node: str) -> int:
        """Process id of a node."""
        return int(self.wait_for(rf'\[{node}-\d+\]: process started with pid \[(\d+)\]').group(1))

    def wait(self) -> int:
        """Exit code."""
        return self.process.wait(TIMEOUT)

    def left(self) -> list[str]:
        """Nodes that still run."""
        started = re.findall(r'\[(\w+)-\d+\]: process started with pid \[(\d+)\]', self.text)
        return [name for name, pid in started if pathlib.Path('/proc', pid).exists()]

    def end(self) -> None:
        """Kill what a failed test left."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)


@pytest.fixture
def launch(tmp_path: pathlib.Path):
    """Starts launches and ends them after the test."""
    started: list[Launch] = []

    def start(*arguments: str) -> Launch:
        started.append(Launch(tmp_path, f'output_dir:={tmp_path / "out"}', *arguments))
        return started[-1]

    yield start
    for one in started:
        one.end()


def slow(tmp_path: pathlib.Path) -> str:
    """An argument that makes the fake robot as slow as a real one."""
    file = tmp_path / 'slow.yaml'
    file.write_text('/**/driver:\n  ros__parameters: {step_seconds: 0.05}\n')
    return f'params_file:={file}'


def test_run_ends_the_launch(launch, tmp_path: pathlib.Path) -> None:
    one = launch('task:=1')
    assert one.wait() == 0, one.text
    assert one.left() == []
    assert json.loads((tmp_path / 'out' / 'result.json').read_text())['status'] == 'achieved'
    assert 'achieved: true' in one.text.splitlines()


def test_killed_node_ends_the_launch(launch, tmp_path: pathlib.Path) -> None:
    one = launch(slow(tmp_path))
    one.wait_for(r'\[agent-\d+\]   2  ')
    os.kill(one.pid('driver'), signal.SIGKILL)
    assert one.wait() == 1, one.text
    assert one.left() == []
    result = json.loads((tmp_path / 'out' / 'result.json').read_text())
    assert (result['reason'], result['error_msg']) == (
        'component_failed',
        'driver was killed by SIGKILL',
    )
    assert (tmp_path / 'out' / 'bag' / 'metadata.yaml').is_file()


def test_ctrl_c(launch, tmp_path: pathlib.Path) -> None:
    one = launch(slow(tmp_path))
    one.wait_for(r'\[agent-\d+\]   2  ')
    os.kill(one.process.pid, signal.SIGINT)
    one.wait()
    assert one.left() == []
    result = json.loads((tmp_path / 'out' / 'result.json').read_text())
    assert result['reason'] == 'interrupted'
    assert (tmp_path / 'out' / 'bag' / 'metadata.yaml').is_file()


@pytest.mark.parametrize(
    'argument, sentence',
    [
        ('suite:=fake_push', "unknown suite 'fake_push'; known suites: fake_pick"),
        ('task:=9', 'suite fake_pick: expected a task from 0 to 2, got 9'),
        ('seed:=x', "seed: expected an integer, got 'x'"),
        ('record:=maybe', "record: expected true or false, got 'maybe'"),
        ('cameras:=all', "cameras: expected a number, got 'all'"),
    ],
)
def test_wrong_arguments(launch, argument: str, sentence: str) -> None:
    one = launch(argument)
    assert one.wait() == 1, one.text
    assert f'Caught exception in launch (see debug for traceback): {sentence}' in one.text
    assert 'process started' not in one.text


@pytest.mark.parametrize('name', ['fake', 'libero'])
def test_every_argument_is_described(name: str) -> None:
    done = subprocess.run(
        ['ros2', 'launch', str(ROOT / 'launch' / f'{name}.launch.py'), '--show-args'],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    for argument in ('suite', 'task', 'seed', 'cerebrum', 'model', 'vla', 'output_dir',
                     'namespace', 'cameras', 'record', 'autorun'):  # fmt: skip
        assert re.search(rf"'{argument}':\n\s+\S+ ", done.stdout), argument
