"""A run's success, proved from its folder: `rpent replay --verify`."""

import json
import pathlib
import types
from collections.abc import Sequence

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from robots.fake.world import BIN_CENTRE
from rpent_ros.cli.main import main
from rpent_ros.driver import DriverCore
from rpent_ros.replay.verify import Verdict, verify
from rpent_ros.state_log import StateLog
from rpent_ros.video import STATE_FOLDER

IDLE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])


def logged(folder: pathlib.Path, in_bin: Sequence[bool]) -> pathlib.Path:
    """A run in whose control steps the red cube lies in the bin or beside it."""
    robot = FakeRobot(image_size=64)
    core = DriverCore(robot, state_log=StateLog(folder / STATE_FOLDER))
    core.reset(suite='fake_pick', task=0, seed=1)
    for inside in in_bin:
        spot = BIN_CENTRE if inside else BIN_CENTRE + [0.2, 0.0]
        robot._world.cubes[0] = [*spot, 0.03]
        # Success ends an episode; here it must be seen to come and go.
        robot._success = False
        core._episode.flags = type(core._episode.flags)()
        core.step(IDLE)
    core.close()
    return folder


@pytest.mark.parametrize(
    ('in_bin', 'verdict', 'words'),
    [
        (
            [0, 1, 1],
            Verdict(3, achieved=True, begun=2, ended=3),
            "achieved: the task's predicate holds in the final state, after control step 3, and "
            'in every state since control step 2',
        ),
        (
            [1, 0, 1],
            Verdict(3, achieved=True, begun=3, ended=3),
            "achieved: the task's predicate holds in the final state, after control step 3, and "
            'in no state before',
        ),
        (
            [0, 1, 1, 0],
            Verdict(4, achieved=False, begun=2, ended=3),
            "not achieved: the task's predicate does not hold in the final state, after control "
            'step 4; it held last from control step 2 to 3',
        ),
        (
            [0, 0],
            Verdict(2, achieved=False, begun=None, ended=None),
            "not achieved: the task's predicate does not hold in the final state, after control "
            'step 2, nor in any before',
        ),
    ],
)
def test_verdicts(
    tmp_path: pathlib.Path, in_bin: Sequence[bool], verdict: Verdict, words: str
) -> None:
    found = verify(logged(tmp_path, in_bin))
    assert found == verdict
    assert str(found) == words


@pytest.mark.parametrize(('in_bin', 'code'), [([0, 1], 0), ([1, 0], 1)])
@pytest.mark.parametrize('said', [True, False, None])
def test_command(tmp_path, capsys, in_bin, code, said):
    run = logged(tmp_path, in_bin)
    if said is not None:
        (run / 'result.json').write_text(json.dumps({'achieved': said}))
    assert main(['replay', '--verify', str(run)]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f'verify: {verify(run)}'
    contradicted = said is not None and said != (code == 0)
    told = f'verify: result.json says achieved: {str(said).lower()}'
    assert lines[1:] == ([told] if contradicted else [])


def test_what_cannot_be_verified(tmp_path, capsys, monkeypatch):
    assert main(['replay', '--verify', str(tmp_path / 'nowhere')]) == 2
    assert capsys.readouterr().err == (
        f'rpent replay: {tmp_path}/nowhere: expected the output folder of a run, found no folder\n'
    )
    run = logged(tmp_path, [1])
    no_judge = types.SimpleNamespace(close=lambda: None)
    monkeypatch.setattr('rpent_ros.replay.verify.rebuild', lambda *_: no_judge)
    assert main(['replay', '--verify', str(run)]) == 2
    assert capsys.readouterr().err == (
        'rpent replay: robot fake: expected a method judge, found none; whether its tasks are '
        'solved cannot be told from a log\n'
    )


def test_nothing_is_played(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(['replay', '--verify', '--actions', str(tmp_path)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        'rpent replay: --verify plays nothing, so --actions means nothing; see rpent replay '
        '--help\n'
    )
