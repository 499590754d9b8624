"""A whole graph whose disk runs full in the middle of the run."""

import json
import pathlib
import sys
from typing import Any

import pytest
from PIL import Image

from rpent_ros.bag import verify
from rpent_ros.cerebrums import recipe
from rpent_ros.state_log import last_episode
from rpent_ros.states import States

pytestmark = [pytest.mark.ros, pytest.mark.graph]

SCRIPT = pathlib.Path(__file__).with_name('full_disk_script.py')
TAG = 'fake_pick_t1_s0'
PARAMETERS = """\
/**/driver:
  ros__parameters: {step_seconds: 0.05}
/**/agent:
  ros__parameters: {image_size: 1000}
"""


@pytest.mark.parametrize('leave', [0, 20_000, 60_000])
def test_a_disk_that_runs_full_ends_the_run_cleanly(
    small_disk: Any, tmp_path: Any, leave: int
) -> None:
    disk = small_disk.path
    parameters = tmp_path / 'p.yaml'
    parameters.write_text(PARAMETERS)
    done = small_disk.run(
        '8m', sys.executable, str(SCRIPT), str(disk), str(leave), str(parameters)
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert 'Traceback' not in done.stdout + done.stderr
    told = f'output_dir {disk / "run"}: '
    assert told in done.stdout
    cure = 'free some space there, or choose a folder on another disk'
    assert cure in done.stdout
    folder = small_disk.saved / 'run'
    if (folder / 'result.json').exists():
        result = json.loads((folder / 'result.json').read_text())
        assert (result['status'], result['error_name']) == ('failed', 'BAD_OUTPUT_DIR')
        assert result['error_msg'].startswith(told)
    else:
        assert told in done.stderr
    assert_readable(folder)


def assert_readable(folder: pathlib.Path) -> None:
    for entry in States(folder).entries():
        for name in entry['artifacts']:
            with Image.open(folder / name) as image:
                image.load()
    json.loads((folder / f'transcript_{TAG}.json').read_text())
    recipe.load(folder / f'recipe_{TAG}.jsonl')
    assert (folder / 'run.log').read_text().endswith('\n')
    assert len(last_episode(folder / 'sim_states').states) > 1
    assert verify(folder / 'bag').messages > 0
