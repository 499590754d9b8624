"""What tests of several kinds share: a policy that cheats, and a disk that runs full."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

from rpent_ros.contracts.motion import ActionChunk, Inference
from rpent_ros.contracts.specs import PolicySpec
from rpent_ros.primitives.servo import servo_action


class CheatingVla:
    """Picks the cube that the sentence names and puts it into the bin, from the world's state.

    `misses` picks end above the cube with closed fingers; `error` is raised by every inference.
    """

    def __init__(self, robot, *, misses=0, error=None, privileged=True):
        self._robot = robot
        self.misses = misses
        self.error = error
        self.sessions = []
        self.prompts = []
        self.spec = PolicySpec(
            'cheating', action=robot.spec.action, horizon=10, privileged=privileged
        )

    def describe(self):
        return self.spec

    def reset(self, session=''):
        self.sessions.append(session)
        self._phase = 'above'
        self._fail = False
        if self.misses:
            self.misses -= 1
            self._fail = True

    def infer(self, observation, instruction, *, session=''):
        if self.error is not None:
            raise self.error
        self.prompts.append(instruction)
        world = self._robot._world
        position = observation.ee_pose.position
        closing = True
        if 'place' in instruction:
            target = np.array([0.50, 0.22, 0.15])
            closing = np.linalg.norm(position - target) > 0.02
        else:
            colour = next(c for c in ('red', 'blue', 'green') if c in instruction)
            cube = world.cubes[('red', 'blue', 'green').index(colour)]
            offset = 0.08 if self._fail else 0.0
            target, closing = self._pick(position, cube + [0, 0, offset])
        done = self._phase == 'lift' and position[2] > 0.2 and 'place' not in instruction
        rows = self._rows(position, target, 1.0 if closing else -1.0)
        return Inference(
            ActionChunk(rows), done=done, infer_ms=0.1, privileged=self.spec.privileged,
            status=self._phase,
        )  # fmt: skip

    def _pick(self, position, cube):
        above = cube + [0.0, 0.0, 0.12]
        if self._phase == 'above' and np.linalg.norm(position - above) < 0.01:
            self._phase = 'down'
        if self._phase == 'down' and np.linalg.norm(position - cube) < 0.008:
            self._phase = 'close'
            return cube, True
        if self._phase == 'close':
            self._phase = 'lift'
        if self._phase == 'lift':
            return np.array([cube[0], cube[1], 0.3]), True
        return (above if self._phase == 'above' else cube), False

    def _rows(self, position, target, gripper):
        rows, expected = [], position.copy()
        for _ in range(10):
            row = servo_action(
                self.spec.action, target - expected, np.zeros(3), gripper=gripper, speed=0.6
            )
            expected += row[:3] * 0.05 * 0.3
            rows.append(row)
        return np.array(rows, np.float32)


@pytest.fixture
def cheating_vla():
    return CheatingVla


# Mounts a small file system at $0, runs the command there, and saves what is on it in $SAVED.
IN_SMALL_DISK = """
mount -t tmpfs -o size=$SIZE none "$0" || exit 99
"$@"
code=$?
cp -a "$0"/. "$SAVED"/
exit $code
"""


class SmallDisk:
    """A real file system of a given size, in a mount namespace of its own: no root is needed.

    Attributes:
      path: where it is mounted, for the command only.
      saved: what the command left there.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / 'disk'
        self.saved = folder / 'saved'
        self.path.mkdir(parents=True)

    def run(
        self, size: str, *command: str, timeout: float = 240.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command that sees the disk, `size` as mount takes it, e.g. 2m."""
        self.saved.mkdir()
        env = {k: v for k, v in os.environ.items() if k != 'ROS_DOMAIN_ID'}
        return subprocess.run(
            ['unshare', '-Urm', 'sh', '-c', IN_SMALL_DISK, str(self.path), *command],
            env=env | {'SIZE': size, 'SAVED': str(self.saved)},
            cwd=pathlib.Path(__file__).resolve().parents[1],
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip


@pytest.fixture
def small_disk(tmp_path):
    """A disk of a few megabytes; skipped where users may not mount one."""
    disk = SmallDisk(tmp_path / 'small')
    probe = SmallDisk(tmp_path / 'probe')
    try:
        done = probe.run('64k', 'true')
    except FileNotFoundError:
        pytest.skip('a small disk cannot be mounted: there is no unshare')
    if done.returncode:
        pytest.skip(f'a small disk cannot be mounted: {done.stderr.strip()}')
    return disk


@pytest.fixture(scope='session')
def llm_host():
    from test.llm_server import LlmHost

    with LlmHost() as host:
        yield host


@pytest.fixture
def llm_server(llm_host):
    """A local server of language models; a test that asks against the rules of its API fails."""
    server = llm_host.new_server()
    yield server
    assert server.take_violations() == []
