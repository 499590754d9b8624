"""A disk that runs full, for real: what was written before is whole, and the run says so."""

import json
import pathlib
import sys

import pytest
from PIL import Image

from rpent_ros.bag import verify
from rpent_ros.cerebrums import recipe
from rpent_ros.state_log import last_episode
from rpent_ros.states import States

SCRIPT = pathlib.Path(__file__).with_name('full_disk_script.py')
TAG = 'fake_pick_t0_s1'


@pytest.fixture
def on_full_disk(small_disk):
    """Runs one case of the script; returns what it printed, its stderr and the disk."""

    def run(case, size='6m'):
        done = small_disk.run(size, sys.executable, str(SCRIPT), case, str(small_disk.path))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr, small_disk.saved

    return run


def cannot_write(disk, what):
    return (
        f'output_dir {disk.parent / "disk" / "run"}: {what} cannot be written: No space left on '
        'device; free some space there, or choose a folder on another disk; what was written '
        'before is intact'
    )


def assert_whole(folder):
    """Every file of a run can be read, and everything that it names is there."""
    for entry in States(folder).entries():
        for name in entry['artifacts']:
            with Image.open(folder / name) as image:
                image.load()
    json.loads((folder / f'transcript_{TAG}.json').read_text())
    recipe.load(folder / f'recipe_{TAG}.jsonl')
    assert (folder / 'run.log').read_text().endswith('\n')
    assert not list(folder.rglob('.*.part'))


def test_a_state_dump_that_does_not_fit_ends_the_run(on_full_disk):
    told, _, disk = on_full_disk('states')
    assert (told['code'], told['status'], told['reason'], told['exit_code']) == (
        'BAD_OUTPUT_DIR', 'failed', 'component_failed', 3,
    )  # fmt: skip
    assert told['message'] == cannot_write(disk, 'state dump 2')
    assert told['driver'] == 'IDLE'
    folder = disk / 'run'
    assert_whole(folder)
    assert [entry['step_idx'] for entry in States(folder).entries()] == [0, 1]
    # Pictures that no manifest names are gone, and their space took the result.
    assert not list(folder.glob('*/02_*'))
    assert json.loads((folder / 'result.json').read_text())['error_msg'] == told['message']
    assert [call.tool for call in recipe.load(folder / f'recipe_{TAG}.jsonl').calls] == [
        'move_to', 'move_to',
    ]  # fmt: skip
    assert len(last_episode(folder / 'sim_states').states) - 1 == told['steps']


def test_a_transcript_that_does_not_fit_ends_the_run(on_full_disk):
    told, _, disk = on_full_disk('transcript')
    assert (told['code'], told['status'], told['exit_code']) == ('BAD_OUTPUT_DIR', 'failed', 3)
    assert told['message'] == cannot_write(disk, f'transcript_{TAG}.json')
    assert_whole(disk / 'run')
    messages = json.loads((disk / 'run' / f'transcript_{TAG}.json').read_text())['messages']
    assert messages[-1]['tool'] == 'move_to'


def test_a_log_that_does_not_fit_says_so_once_and_ends_with_a_whole_line(on_full_disk):
    told, stderr, disk = on_full_disk('log')
    assert told['reason'] == 'gave_up'
    path = disk.parent / 'disk' / 'run' / 'run.log'
    assert stderr.count('run.log') == 1
    assert f'{path} cannot be written: No space left on device; nothing more is logged' in stderr
    text = (disk / 'run' / 'run.log').read_text()
    assert text.endswith('\n')
    assert 'xxx' not in text


def test_a_disk_that_is_full_already_refuses_the_run(on_full_disk):
    told, _, disk = on_full_disk('from_the_start')
    assert (told['code'], told['status'], told['exit_code']) == ('BAD_OUTPUT_DIR', 'refused', 2)
    assert told['message'] == (
        f'output_dir {disk.parent / "disk" / "run"} cannot be written to: No space left on '
        'device; choose another folder'
    )
    assert told['steps'] == 0


def test_a_recipe_that_does_not_fit_stays_as_it_was(on_full_disk):
    told, _, disk = on_full_disk('recipe', '64k')
    assert told == {'said': 'No space left on device', 'names': ['filler', 'r.jsonl']}
    (call,) = recipe.load(disk / 'r.jsonl').calls
    assert dict(call.notes) == {'turn': 1}


def test_lines_are_whole_or_absent(on_full_disk):
    told, _, disk = on_full_disk('lines', '64k')
    assert told['said'] == ['No space left on device'] * 2
    assert (disk / 'run.log').read_text() == 'first\nlast\n'


def test_the_state_log_ends_with_its_last_whole_row_and_the_robot_goes_on(on_full_disk):
    told, stderr, _ = on_full_disk('state_log', '64k')
    assert 1 < told['rows'] < 201
    assert told['last'] == told['rows'] - 2
    assert told['whole']
    assert stderr.count('states_0001.bin cannot be written: ') == 1
    assert 'are not logged any further, the robot goes on' in stderr


def test_a_bag_can_be_read_up_to_the_full_disk(on_full_disk):
    told, _, disk = on_full_disk('bag', '2m')
    path = disk.parent / 'disk' / 'bag'
    sentence = (
        f'bag {path}: cannot be written: No space left on device; free some space there; what was '
        'written before is readable'
    )
    assert told == {'said': sentence, 'closing': sentence}
    summary = verify(disk / 'bag')
    assert summary.counts['/notes'] >= 3
    assert summary.custom == {'run_id': 'r1'}
    assert sorted(p.name for p in (disk / 'bag').iterdir()) == ['bag_0.mcap', 'metadata.yaml']


def test_the_supervisor_goes_on_without_its_logs(on_full_disk):
    told, stderr, disk = on_full_disk('supervisor', '256k')
    assert told == {'code': 0, 'last': 'last words', 'lines': [50_000, 50_000, 10]}
    path = disk.parent / 'disk' / 'logs' / 'agent.log'
    assert stderr.splitlines() == [
        f'{path} cannot be written: No space left on device; what agent prints is no longer kept'
    ]


def test_a_result_that_cannot_be_written_is_told(on_full_disk):
    told, _, disk = on_full_disk('ending', '256k')
    path = disk.parent / 'disk' / 'run' / 'result.json'
    assert told['unwritten'] == f'{path}: No space left on device'
    assert told['said'] == (
        'the agent ended with 3 and left no result; the last that it said: no space'
    )
    assert 'unwritten' not in told['later']
    assert json.loads((disk / 'run' / 'result.json').read_text())['error_msg'] == told['said']
