"""The run folder: refused when it is in use, whole on every way out."""

import json
import os

import pytest

from rpent_ros import files, run_dir
from rpent_ros.errors import BadOutputDir, ErrorCode
from rpent_ros.states import States


@pytest.mark.parametrize(
    ('suite', 'task', 'seed', 'tag'),
    [
        ('libero_object', 2, 0, 'object_t2_s0'),
        ('libero_10', 9, 3, '10_t9_s3'),
        ('fake_pick', 0, 1, 'fake_pick_t0_s1'),
        ('', 0, 0, 'task_t0_s0'),
    ],
)
def test_recipe_tag(suite, task, seed, tag):
    assert run_dir.recipe_tag(suite, task, seed) == tag


def test_run_ids_differ_within_a_second():
    assert len({run_dir.new_run_id('object_t2_s0') for _ in range(20)}) == 20


def test_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / 'a.txt').write_text('precious')
    (tmp_path / 'b.txt').write_text('precious')
    with pytest.raises(BadOutputDir) as error:
        run_dir.create(tmp_path, 't')
    assert str(error.value) == (
        f'output_dir {tmp_path} is not empty (it holds a.txt and 1 more); '
        'choose another folder, or set overwrite to replace the run in this one'
    )


def test_overwriting_removes_a_run_and_nothing_else(tmp_path):
    run = run_dir.create(tmp_path / 'deep' / 'er', 't')
    for path in (run.result, run.transcript, run.recipe, run.log, run.config):
        path.write_text('{}')
    (run.path / 'images').mkdir()
    (run.path / 'images' / '00_wrist.png').write_bytes(b'x')
    (run.path / 'notes.txt').write_text('precious')
    (run.path / 'logs').mkdir()
    run_dir.create(run.path, 't', overwrite=True)
    assert sorted(p.name for p in run.path.iterdir()) == ['logs', 'notes.txt']


def test_logs_of_the_other_processes_do_not_count(tmp_path):
    (tmp_path / 'logs').mkdir()
    assert run_dir.create(tmp_path, 't').path == tmp_path


def test_a_file_is_refused(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(BadOutputDir) as error:
        run_dir.create(tmp_path / 'file', 't')
    assert str(error.value) == f'output_dir {tmp_path / "file"} is a file; expected a folder'


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write anywhere')
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(BadOutputDir) as error:
        run_dir.create(tmp_path / 'sub', 't')
    tmp_path.chmod(0o700)
    assert str(error.value) == (
        f'output_dir {tmp_path / "sub"} cannot be written to: Permission denied; '
        'choose another folder'
    )


def test_a_folder_that_cannot_exist_is_refused():
    with pytest.raises(BadOutputDir) as error:
        run_dir.create('/proc/rpent', 't')
    assert str(error.value) == (
        'output_dir /proc/rpent cannot be written to: No such file or directory; '
        'choose another folder'
    )


def test_finalize_tells_what_is_known(tmp_path):
    run = run_dir.create(tmp_path / 'run', 'object_t2_s0')
    run_dir.write_config(run, {'run_id': 'r1'})
    files.write_json(run.transcript, {'tool_calls': 3, 'messages': []})
    States(run.path).append({'step_idx': 0, 'success': False, 'control_step': 0})
    States(run.path).append({'step_idx': 1, 'success': True, 'control_step': 84})
    result = run_dir.finalize(run.path, 'component_failed', 'the driver died')
    assert result == json.loads(run.result.read_text())
    assert result == {
        'schema_version': 1,
        'run_id': 'r1',
        'status': 'failed',
        'reason': 'component_failed',
        'claimed': '',
        'achieved': True,
        'privileged': None,
        'steps': 84,
        'seconds': None,
        'tool_calls': 3,
        'error_code': int(ErrorCode.PEER_DIED),
        'error_name': 'PEER_DIED',
        'error_msg': 'the driver died',
        'bag': None,
    }


def test_finalize_minds_nothing_half_written(tmp_path):
    for name in ('run.yaml', 'states.json', 'result.json', 'transcript_x.json'):
        (tmp_path / name).write_text('{"a": [1,')
    result = run_dir.finalize(tmp_path, 'interrupted', code=ErrorCode.CANCELED)
    assert (result['reason'], result['error_name'], result['steps']) == (
        'interrupted', 'CANCELED', 0,
    )  # fmt: skip
    assert json.loads((tmp_path / 'result.json').read_text()) == result


def test_finalize_makes_a_missing_folder_and_keeps_a_result(tmp_path):
    run_dir.finalize(tmp_path / 'never', 'component_failed', 'first')
    again = run_dir.finalize(tmp_path / 'never', 'interrupted', 'second')
    assert again['error_msg'] == 'first'


def test_json_files_are_replaced_or_left_alone(tmp_path):
    files.write_json(tmp_path / 'x.json', {'a': 1})
    with pytest.raises(TypeError):
        files.write_bytes(tmp_path / 'x.json', 'not bytes')
    assert [p.name for p in tmp_path.iterdir()] == ['x.json']
    assert json.loads((tmp_path / 'x.json').read_text()) == {'a': 1}
