"""File tools: what they return, and that they stay in their folders."""

import pytest

from rpent_ros.errors import BadPath, InvalidRequest
from rpent_ros.tools.text_files import MAX_FILE_BYTES, MemoryDir, TextFiles


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / 'run'
    (folder / 'logs').mkdir(parents=True)
    (folder / 'sim_states').mkdir()
    (folder / 'images').mkdir()
    (folder / 'run.yaml').write_text('robot: fake\n')
    (folder / 'states.json').write_text('{}')
    (folder / 'logs' / 'driver.log').write_text('secret')
    (tmp_path / 'outside.txt').write_text('secret')
    return folder


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / 'memory'
    folder.mkdir()
    (folder / 'MEMORY.md').write_text('grasp bowls at the rim')
    return folder


@pytest.fixture
def tools(run, memory):
    return TextFiles(run, [MemoryDir.parse(str(memory))])


def refusal(call, *args):
    with pytest.raises(BadPath) as error:
        call(*args)
    return str(error.value)


def test_what_is_written_can_be_read_and_listed(tools, run):
    assert tools.write_text_file('notes/plan.md', 'grüße') == {
        'path': 'notes/plan.md', 'bytes_written': 7,
    }  # fmt: skip
    assert (run / 'notes' / 'plan.md').read_text() == 'grüße'
    assert tools.read_text_file('notes/plan.md') == {
        'path': 'notes/plan.md', 'size': 5, 'content': 'grüße', 'truncated_text': False,
    }  # fmt: skip
    assert tools.list_dir('notes')['files'] == [{'name': 'plan.md', 'bytes': 7}]


def test_a_long_text_is_cut(tools):
    tools.write_text_file('long.txt', 'x' * 50)
    answer = tools.read_text_file('long.txt', max_chars=8)
    assert (answer['content'], answer['size'], answer['truncated_text']) == ('x' * 8, 50, True)


def test_list_dir_of_the_run_leaves_out_what_is_not_for_planners(tools):
    assert tools.list_dir() == {
        'path': '',
        'count': 3,
        'files': [
            {'name': 'images/'},
            {'name': 'run.yaml', 'bytes': 12},
            {'name': 'states.json', 'bytes': 2},
        ],
        'memory': [{'name': 'memory:', 'writable': True}],
    }


def test_memory_folder(tools, memory):
    assert tools.read_text_file('memory:MEMORY.md')['content'] == 'grasp bowls at the rim'
    tools.write_text_file('memory:new/note.md', 'x')
    assert (memory / 'new' / 'note.md').read_text() == 'x'
    assert [f['name'] for f in tools.list_dir('memory:')['files']] == ['MEMORY.md', 'new/']


def test_a_read_only_memory_folder_is_not_written(run, memory):
    tools = TextFiles(run, [MemoryDir.parse(f'{memory}:ro')])
    assert tools.read_text_file('memory:MEMORY.md')['size'] == 22
    assert refusal(tools.write_text_file, 'memory:MEMORY.md', 'gone') == (
        'memory folder memory: is read-only; write to the run instead'
    )
    assert (memory / 'MEMORY.md').read_text() == 'grasp bowls at the rim'


@pytest.mark.parametrize(
    'path', ['../outside.txt', 'notes/../../outside.txt', 'memory:../outside.txt', 'link.txt']
)
def test_nothing_outside_is_read_or_written(tools, run, path):
    outside = run.parent / 'outside.txt'
    (run / 'link.txt').symlink_to(outside)
    folder = 'memory folder memory:' if path.startswith('memory') else "run's folder"
    expected = f'{path} lies outside the {folder}; expected a path below it without ..'
    assert refusal(tools.read_text_file, path) == expected
    assert refusal(tools.write_text_file, path, 'x') == expected
    assert refusal(tools.list_dir, path) == expected
    assert outside.read_text() == 'secret'


def test_an_absolute_path_inside_counts_and_one_outside_does_not(tools, run):
    assert tools.read_text_file(str(run / 'run.yaml'))['content'] == 'robot: fake\n'
    assert 'lies outside' in refusal(tools.read_text_file, '/etc/passwd')


def test_an_unknown_memory_folder_is_named(tools):
    assert refusal(tools.read_text_file, 'mem:x.md') == (
        "mem:x.md: unknown memory folder 'mem'; known memory folders: memory:"
    )


@pytest.mark.parametrize(
    'path',
    ['states.json', 'run.yaml', 'images/00_wrist.png', 'bag/x', 'recipe_a_t0_s0.jsonl',
     'sim_states/states_0001.bin', 'result.json', 'logs/agent.log'],
)  # fmt: skip
def test_what_the_run_records_is_not_overwritten(tools, path):
    assert refusal(tools.write_text_file, path, 'x') == (
        f'{path} is recorded by the run itself and cannot be overwritten; choose another name, '
        'such as notes.md'
    )


def test_what_processes_keep_to_themselves_is_not_read(tools):
    assert refusal(tools.read_text_file, 'logs/driver.log') == (
        "logs/driver.log belongs to the robot's processes and cannot be read with this tool"
    )
    assert 'cannot be read' in refusal(tools.list_dir, 'sim_states')


def test_other_refusals(tools, run):
    (run / 'picture.txt').write_bytes(b'\x89PNG\xff')
    assert refusal(tools.read_text_file, 'gone.md') == (
        'gone.md does not exist; list_dir shows what does'
    )
    assert refusal(tools.read_text_file, 'images') == (
        'images is a folder; expected a file, see list_dir'
    )
    assert refusal(tools.read_text_file, 'picture.txt') == (
        'picture.txt is no text file; for pictures there is read_image'
    )
    assert refusal(tools.list_dir, 'run.yaml') == 'run.yaml is a file; expected a folder'
    assert refusal(tools.list_dir, 'nowhere') == 'nowhere does not exist; expected a folder'
    assert refusal(tools.write_text_file, 'big.txt', 'x' * (MAX_FILE_BYTES + 1)) == (
        f'big.txt: expected at most {MAX_FILE_BYTES} bytes, got {MAX_FILE_BYTES + 1}; shorten it'
    )
    assert refusal(tools.write_text_file, 'memory:', 'x') == (
        'memory: is a folder; expected a file name'
    )
    assert refusal(tools.write_text_file, 'run.yaml/x', 'x').startswith('run.yaml/x')


def test_memory_dirs_are_checked(run, memory, tmp_path):
    with pytest.raises(InvalidRequest) as error:
        MemoryDir.parse(str(tmp_path / 'none'))
    assert str(error.value) == (
        f"memory_dirs: expected folders that exist, got '{tmp_path / 'none'}'; make it or "
        'correct it'
    )
    other = tmp_path / 'other' / 'memory'
    other.mkdir(parents=True)
    with pytest.raises(InvalidRequest) as error:
        TextFiles(run, [MemoryDir.parse(str(memory)), MemoryDir.parse(f'{other}:ro')])
    assert str(error.value) == (
        'memory_dirs: expected folders of different names, got memory, memory'
    )
