"""Files that tell where an MCP server is: who may read them, which are stale, which is meant."""

import os
import pathlib
import subprocess
import sys

import pytest

from rpent_ros.errors import BadPath, InvalidRequest, Unavailable
from rpent_ros.mcp import endpoint
from rpent_ros.mcp.endpoint import Endpoint, choose, published, running

URL = 'http://127.0.0.1:5000/mcp'


@pytest.fixture(autouse=True)
def runtime_dir(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(tmp_path))
    return tmp_path / f'rpent-{os.getuid()}'


@pytest.fixture
def ended():
    """The id of a process that is gone."""
    process = subprocess.Popen(['true'])
    process.wait()
    return process.pid


def test_the_file_is_there_while_the_server_is_and_only_its_user_reads_it(runtime_dir):
    own = Endpoint(URL, 'secret', robot='fake', namespace='left', domain='7')
    assert (own.pid, own.alive) == (os.getpid(), True)
    with published(own) as path:
        assert path == runtime_dir / f'left-run-{os.getpid()}.json'
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert running() == [own]
    assert running() == []
    assert list(runtime_dir.iterdir()) == []


def test_the_token_is_not_shown():
    own = Endpoint(URL, 'secret', robot='fake', domain='7')
    assert str(own) == f'fake (run, {URL}, process {os.getpid()}, domain 7)'
    assert 'secret' not in repr(own)


def test_without_a_runtime_folder_the_one_for_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(tmp_path / 'missing'))
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path / 'temporary'))
    (tmp_path / 'temporary').mkdir()
    assert endpoint.folder() == tmp_path / 'temporary' / f'rpent-{os.getuid()}'


def test_a_folder_that_others_can_open_is_not_trusted(runtime_dir):
    runtime_dir.mkdir(mode=0o755)
    with pytest.raises(BadPath) as caught:
        running()
    assert str(caught.value) == (
        f'{runtime_dir}: expected a folder of user {os.getuid()} that nobody else can open; '
        'remove it'
    )


def test_a_link_in_its_place_is_not_followed(runtime_dir, tmp_path):
    (tmp_path / 'elsewhere').mkdir(mode=0o700)
    runtime_dir.symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(BadPath, match='expected a folder of user'):
        running()


def test_files_of_processes_that_are_gone_are_removed(runtime_dir, ended):
    gone = Endpoint(URL, 'x', namespace='gone', pid=ended, born=1)
    reborn = Endpoint(URL, 'x', namespace='reborn', born=1)
    with published(gone), published(reborn):
        assert len(list(runtime_dir.iterdir())) == 2
        assert running() == []
        assert list(runtime_dir.iterdir()) == []


def test_files_of_another_version_are_left_alone(runtime_dir):
    folder = endpoint.folder()
    (folder / 'new.json').write_text('{"url": "x", "token": "y", "more": 1}')
    (folder / 'broken.json').write_text('{')
    assert running() == []
    assert len(list(runtime_dir.iterdir())) == 2


def test_a_descendant_is_known():
    child = subprocess.Popen(
        [sys.executable, '-c', 'import subprocess; subprocess.run(["sleep", "60"])'],
        start_new_session=True,
    )
    try:
        grandchild = 0
        while not grandchild:
            children = pathlib.Path(f'/proc/{child.pid}/task/{child.pid}/children').read_text()
            grandchild = int(children or 0)
        below = Endpoint(URL, 'x', pid=grandchild, born=0)
        assert below.descends_from(child.pid)
        assert below.descends_from(os.getpid())
        assert not Endpoint(URL, 'x').descends_from(child.pid)
    finally:
        os.killpg(child.pid, 9)
        child.wait()


def test_the_one_that_runs_is_chosen():
    with published(Endpoint(URL, 'x', namespace='left')) as _:
        assert choose().namespace == 'left'
        assert choose(namespace='/left').namespace == 'left'
        assert choose(url=URL).namespace == 'left'


def test_none_runs():
    with pytest.raises(Unavailable) as caught:
        choose()
    assert str(caught.value) == (
        'no robot is served over MCP on this machine; start one with: rpent run --cerebrum mcp'
    )


def test_one_of_several_must_be_chosen():
    # As the process that started this one, so that there are two.
    parent = os.getppid()
    born = endpoint._born(parent)
    left = Endpoint(URL, 'x', namespace='left')
    right = Endpoint('http://127.0.0.1:6000/mcp', 'x', namespace='right', pid=parent, born=born)
    with published(left), published(right):
        assert choose(namespace='right') == right
        assert choose(url=URL) == left
        with pytest.raises(InvalidRequest) as caught:
            choose()
        assert str(caught.value) == (
            f'several MCP servers run; choose with --namespace or --url: {left}; {right}'
        )
        with pytest.raises(InvalidRequest) as caught:
            choose(namespace='middle')
        assert str(caught.value) == (
            f'no MCP server fits --namespace or --url; running: {left}; {right}'
        )


def test_the_run_of_a_graph_goes_before_its_tools_by_hand():
    by_hand = Endpoint(URL, 'x', kind='graph', namespace='left')
    run = Endpoint('http://127.0.0.1:6000/mcp', 'x', namespace='left')
    with published(by_hand), published(run):
        assert choose() == run
    with published(by_hand):
        assert choose() == by_hand
