"""Reading a run's state dumps back, as users do."""

import json
import math
import pathlib
import re

import numpy as np
import pytest

from rpent_ros.errors import InvalidRequest, NoSuchStep, UnknownCamera
from rpent_ros.states import States

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def run(make_toolkit):
    """A run folder with the state after the reset and one motion."""
    toolkit = make_toolkit()
    assert toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]}).ok
    return toolkit


def test_steps_hold_what_was_measured(run):
    states = States(run.output_dir)
    assert len(states) == 2
    first, last = states
    assert (first.index, first.tool, first.arguments, first.result) == (0, '', {}, {})
    assert math.isnan(first.seconds)
    assert (last.index, last.tool) == (1, 'move_to')
    assert last.arguments['xyz'] == [0.45, 0.0, 0.3]
    assert last.result['settled'] is True
    assert last.seconds > 0
    assert (last.frame_id, last.episode, last.success) == ('base', 1, False)
    assert last.control_step == last.result['steps'] > 0
    observation = run.last_dump.observation
    assert last.stamp == observation.stamp > first.stamp
    assert last.instruction == observation.instruction
    np.testing.assert_allclose(last.ee_pose.position, observation.ee_pose.position, atol=1e-9)
    np.testing.assert_allclose(last.joint_positions, observation.joint_positions, atol=1e-9)
    assert last.joint_names == observation.joint_names
    assert last.gripper_width == pytest.approx(observation.gripper_width)
    np.testing.assert_array_equal(last.workspace, [[0.15, -0.4, 0.01], [0.75, 0.4, 0.5]])
    assert states[-1].index == states[1].index == 1


def test_images_are_those_of_the_robot(run, env):
    image = States(run.output_dir)[-1].image('wrist')
    assert (image.resolution, image.width, image.height) == ('high', 128, 128)
    seen = env.observe(['wrist'], width=128, height=128, depth=True).frames[0]
    np.testing.assert_array_equal(image.load_rgb(), seen.rgb)
    depth = image.load_depth()
    known = np.isfinite(seen.depth)
    np.testing.assert_array_equal(np.isfinite(depth), known)
    np.testing.assert_allclose(depth[known], seen.depth[known], atol=5.1e-5)
    np.testing.assert_allclose(image.intrinsics, seen.intrinsics, atol=1e-9)
    np.testing.assert_allclose(image.pose.position, seen.pose.position, atol=1e-9)


def test_artifacts_are_all_that_was_written(run):
    named = {name for step in States(run.output_dir) for name in step.artifacts}
    found = {
        str(path.relative_to(run.output_dir)) for path in run.output_dir.glob('*/*.png')
    }
    assert named == found
    assert len(named) == 16


def test_a_run_that_was_killed_before_its_first_dump(tmp_path):
    states = States(tmp_path)
    assert (len(states), list(states)) == (0, [])
    with pytest.raises(NoSuchStep, match=r'^step -1 has not been recorded; recorded steps: none'):
        states[-1]


def test_what_is_gone_is_told_and_the_rest_can_be_read(run):
    (run.output_dir / 'images' / '01_wrist_high.png').unlink()
    step = States(run.output_dir)[1]
    with pytest.raises(InvalidRequest) as error:
        step.image('wrist').load_rgb()
    assert str(error.value) == (
        f'{run.output_dir}/images/01_wrist_high.png cannot be read: No such file or directory'
    )
    assert step.image('agentview').load_rgb().shape == (128, 128, 3)
    (run.output_dir / 'depth' / '01_wrist_high.png').write_bytes(b'no picture')
    with pytest.raises(InvalidRequest, match=r'/depth/01_wrist_high.png cannot be read: '):
        step.image('wrist').load_depth()


def test_unknown_cameras_are_told(run):
    with pytest.raises(UnknownCamera) as error:
        States(run.output_dir)[0].image('writs')
    assert str(error.value) == "unknown camera 'writs'; recorded cameras: agentview, wrist"


@pytest.mark.parametrize(('version', 'shown'), [(2, '2'), (None, 'None'), ('1', "'1'")])
def test_a_manifest_of_a_newer_version_is_refused(run, version, shown):
    path = run.output_dir / 'states.json'
    path.write_text(json.dumps(json.loads(path.read_text()) | {'schema_version': version}))
    with pytest.raises(InvalidRequest) as error:
        list(States(run.output_dir))
    assert str(error.value) == (
        f'{path}: expected schema_version 1 to 1, got {shown}; a newer rpent_ros wrote it, so '
        'upgrade this one'
    )


def test_a_damaged_manifest_is_told(run):
    path = run.output_dir / 'states.json'
    path.write_text(path.read_text()[:100])
    with pytest.raises(InvalidRequest, match=f'^{re.escape(str(path))} cannot be read: '):
        len(States(run.output_dir))


def test_the_example_in_the_documentation_works(run, capsys):
    page = (ROOT / 'docs' / 'output_dir.md').read_text()
    (example,) = re.findall(r'```python\n(.*?)```', page, re.DOTALL)
    names = {}
    exec(example.replace('runs/my_run', str(run.output_dir)), names)
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in told] == [['0', 'reset'], ['1', 'move_to']]
    # The wrist camera looks down on the table or on what stands on it.
    assert names['rgb'].shape == (128, 128, 3)
    assert -0.01 < names['point'][2] < 0.1
    assert np.linalg.norm(names['point'][:2] - [0.51, 0.0]) < 0.1
