"""`rpent replay` of finished runs, through every process of the graph."""

import json
import os
import pathlib
import signal
from typing import Any

import pytest

from rpent_ros.state_log import last_episode

pytestmark = [pytest.mark.ros, pytest.mark.graph]


def replay(start: Any, folder: pathlib.Path, *options: str) -> tuple[int, dict[str, Any], Any]:
    """Exit code, replay.json and the process of a replay."""
    name = f'replay{len(options)}'
    process = start(*options, folder=name, command=('replay', str(folder)))
    code, _ = process.wait()
    process.note_children()
    assert process.left() == ()
    told = json.loads((process.folder / 'replay.json').read_text())
    assert process.lines[-1] == f'replay: {told["sentence"]}'
    return code, told, process


def steps_of(folder: pathlib.Path) -> int:
    return len(last_episode(folder / 'sim_states').states) - 1


def test_a_finished_run_is_repeated_bit_for_bit(start: Any) -> None:
    run = start('--no-video', '--no-record')
    assert run.wait()[0] == 0, run.output
    steps = run.result['steps']
    for options in ((), ('--actions',)):
        code, told, process = replay(start, run.folder, *options)
        assert code == 0, process.output
        assert told['sentence'] == (
            f'identical: all {steps} control steps and the final state, bit for bit'
        )
        assert told['control_steps'] == {'original': steps, 'replay': steps}
        assert (process.result['status'], process.result['achieved']) == ('achieved', True)
        a, b = (last_episode(folder / 'sim_states') for folder in (run.folder, process.folder))
        assert a.states.tobytes() == b.states.tobytes()


def cut_off(start: Any, victim: str) -> Any:
    """A run that ended in the middle of its third call: Ctrl-C, or a node that was killed."""
    run = start('--no-video', '--no-record', slow=True)
    run.wait_for_line('  2  ')
    run.note_children()
    if victim:
        os.kill(run.children[victim], signal.SIGKILL)
    else:
        os.kill(run.process.pid, signal.SIGINT)
    run.wait()
    return run


@pytest.mark.parametrize('victim', ['', 'agent', 'driver'])
def test_a_run_that_was_cut_off_is_repeated_as_far_as_it_goes(start: Any, victim: str) -> None:
    run = cut_off(start, victim)
    steps = steps_of(run.folder)
    code, told, process = replay(start, run.folder)
    assert code == 0, process.output
    assert told['verdict'] in ('identical', 'went_on')
    assert told['control_steps']['original'] == steps > 0
    code, told, process = replay(start, run.folder, '--actions')
    assert code == 0, process.output
    assert told['verdict'] == 'identical'


def test_another_run_is_told_apart(start: Any) -> None:
    run = start('--no-video', '--no-record')
    assert run.wait()[0] == 0, run.output
    # As if a number in the recipe had been another one.
    (recipe,) = run.folder.glob('recipe_*.jsonl')
    head, pick, move, *rest = recipe.read_text().splitlines()
    call = json.loads(move)
    call['arguments']['xyz'][0] += 1e-6
    recipe.write_text('\n'.join([head, pick, json.dumps(call), *rest]) + '\n')
    code, told, process = replay(start, run.folder)
    assert code == 1, process.output
    first = told['first_difference']
    assert (first['tool'], first['turn'], first['other_action']) == ('move_to', 3, True)
    assert first['control_step'] == json.loads(pick)['steps'] + 1
    assert 0 < first['largest_state_difference'] < 1e-5
    # What the robot did is still in the log.
    code, told, process = replay(start, run.folder, '--actions')
    assert (code, told['verdict']) == (0, 'identical')
