"""Runs on a small disk, see test_full_disk.py: `full_disk_script.py CASE FOLDER`; prints JSON."""

import contextlib
import dataclasses
import json
import pathlib
import sys

import numpy as np

from robots.fake.env_server import FakeRobot
from rpent_ros import files
from rpent_ros.agent import run_task
from rpent_ros.bag import BagWriter, MessageDefinition
from rpent_ros.cerebrums.base import CerebrumResult
from rpent_ros.cerebrums.recipe import RecipeWriter
from rpent_ros.cli.supervisor import Command, Supervisor
from rpent_ros.driver import DriverCore
from rpent_ros.ending import Outcome, conclude
from rpent_ros.errors import BagFailed
from rpent_ros.local_env import LocalEnv
from rpent_ros.run import RunConfig
from rpent_ros.session import StopFlag
from rpent_ros.state_log import StateLog, last_episode
from rpent_ros.tools.options import ToolOptions

folder = pathlib.Path(sys.argv[2])


def fill(*, leave=0):
    """Take up the whole disk but for `leave` bytes, rounded to pages."""
    with open(folder / 'filler', 'ab', buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)) == 4096:
            pass
    with open(folder / 'filler', 'r+b') as file:
        file.truncate(max(0, (folder / 'filler').stat().st_size - leave))


def make_room():
    (folder / 'filler').unlink()


def failure(action):
    """What went wrong, in words."""
    try:
        action()
    except (OSError, BagFailed) as error:
        return getattr(error, 'strerror', None) or str(error)
    return None


class Planner:
    name = 'test'

    def __init__(self, solve):
        self._solve = solve

    def solve(self, system_prompt, user_message, toolkit, limits, steering):
        self._solve(toolkit)
        return CerebrumResult(None)


class Silent:
    def event(self, event):
        pass

    def step(self, run_id, dump):
        pass


def run(solve, **changes):
    """A run of the fake robot whose driver logs to the same disk."""
    out = folder / 'run'
    core = DriverCore(FakeRobot(image_size=64), state_log=StateLog(out / 'sim_states'))
    env = LocalEnv(core)
    config = RunConfig(
        'fake', suite='fake_pick', task=0, seed=1, output_dir=str(out), overwrite=True,
        options=ToolOptions(image_size=1000),
    )  # fmt: skip
    result = run_task(
        dataclasses.replace(config, **changes), env, None, Silent(), StopFlag(),
        cerebrum=Planner(solve),
    )  # fmt: skip
    steps = core.state.step
    core.close()
    told = {name: getattr(result, name) for name in ('status', 'reason', 'message', 'exit_code')}
    return {**told, 'code': result.code.name, 'steps': steps, 'driver': core.state.status.name}


def states():
    def solve(tools):
        tools.call('move_to', {'xyz': [0.45, 0.0, 0.3]})
        fill(leave=64 * 1024)
        tools.call('move_to', {'xyz': [0.45, 0.1, 0.3]})

    return run(solve)


def transcript():
    def solve(tools):
        tools.call('move_to', {'xyz': [0.45, 0.0, 0.3]})
        fill()
        tools.say('a thought')

    return run(solve)


def log():
    """run.log and the driver's state log are in the way; everything else has its room."""

    def solve(tools):
        fill()
        with contextlib.suppress(Exception):
            tools.warn('x' * 5000)
            tools.warn('y' * 5000)
        make_room()

    return run(solve)


def from_the_start():
    fill()
    return run(lambda tools: None)


def recipe():
    writer = RecipeWriter(folder / 'r.jsonl', {'robot': 'fake'})
    writer.begin(1, 'release', {})
    fill()
    said = failure(lambda: writer.end(1, code='OK', steps=1))
    return {'said': said, 'names': sorted(p.name for p in folder.iterdir())}


def lines():
    file = files.LineFile(folder / 'run.log')
    file.write('first')
    fill()
    said = [failure(lambda: file.write('x' * 10_000)), failure(lambda: file.write('y' * 10_000))]
    make_room()
    file.write('last')
    return {'said': said}


def state_log():
    log = StateLog(folder / 'sim_states')
    log.begin({'episode': 1}, stamp=0, action_size=7, state=np.zeros(100))
    fill()
    for n in range(200):
        log.append(n, np.zeros(7), np.full(100, n))
    make_room()
    log.append(999, np.zeros(7), np.zeros(100))
    recorded = last_episode(folder / 'sim_states')
    size = (folder / 'sim_states' / 'states_0001.bin').stat().st_size
    rows = len(recorded.states)
    # Nothing but whole rows, and nothing after the one that did not fit.
    header = size - rows * 8 * (2 + 7 + 100)
    begin = (folder / 'sim_states' / 'states_0001.bin').read_bytes()[:header]
    return {
        'rows': rows, 'last': recorded.states[-1, 0], 'whole': begin.count(b'\n') == 2,
    }  # fmt: skip


def bag():
    definition = MessageDefinition('notes_msgs/msg/Note', text='uint8[] data\n', hash='')
    writer = BagWriter(folder / 'bag', custom={'run_id': 'r1'}, clock=iter(range(10_000)).__next__)
    writer.add_topic('/notes', definition.type, definition=definition)
    data = np.random.default_rng(0).bytes(50_000)
    message = b'\x00\x01\x00\x00' + len(data).to_bytes(4, 'little') + data
    for n in range(1, 4):
        writer.write('/notes', n, message)
    fill(leave=20_000)

    def rest():
        for n in range(4, 9):
            writer.write('/notes', n, message)

    return {'said': failure(rest), 'closing': failure(writer.close)}


def supervisor():
    """What a process prints no longer fits; the watch over it goes on."""
    (folder / 'logs').mkdir()
    fill(leave=8192)
    program = "for text in ('x' * 50_000, 'y' * 50_000, 'last words'): print(text, flush=True)"
    command = Command(
        'agent', argv=[sys.executable, '-c', program], announces=False, ends_run=True
    )
    lines = []
    outcome = Supervisor(
        [command], log_dir=folder / 'logs', on_line=lambda name, line: lines.append(len(line))
    ).run()
    return {'code': outcome.returncode, 'last': outcome.last_line, 'lines': lines}


def ending():
    """Whoever outlives the agent cannot write the result either."""
    fill()
    result = conclude(folder / 'run', Outcome(3, last_line='no space'))
    make_room()
    later = conclude(folder / 'run', Outcome(3, last_line='no space'))
    return {'unwritten': result['unwritten'], 'said': result['error_msg'], 'later': later}


print(json.dumps(globals()[sys.argv[1]]()))
