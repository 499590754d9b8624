"""result.json and exit code for every way in which a run can end."""

import json
import pathlib
from typing import Any

import pytest

from rpent_ros.bag import BagWriter, MessageDefinition
from rpent_ros.ending import Outcome, conclude, exit_code, summary_lines

OWN = {'status': 'achieved', 'reason': 'finished', 'achieved': True, 'claimed': 'success'}


def write_result(folder: pathlib.Path, **values: Any) -> None:
    """What the agent wrote by itself."""
    (folder / 'result.json').write_text(json.dumps(OWN | values))


@pytest.mark.parametrize(
    'own, outcome, expected, code',
    [
        (OWN, Outcome(0), OWN, 0),
        (OWN | {'status': 'not_achieved'}, Outcome(1), {'status': 'not_achieved'}, 1),
        (OWN | {'status': 'refused'}, Outcome(2), {'status': 'refused'}, 2),
        (OWN | {'status': 'failed'}, Outcome(3), {'status': 'failed'}, 3),
        (
            None,
            Outcome(1),
            {
                'reason': 'component_failed',
                'error_msg': 'the agent ended with 1 and left no result',
            },
            3,
        ),
        (
            None,
            Outcome(interrupted=True),
            {'reason': 'interrupted', 'error_name': 'CANCELED', 'achieved': False},
            130,
        ),
        (
            OWN | {'status': 'not_achieved', 'reason': 'interrupted', 'tool_calls': 3},
            Outcome(interrupted=True),
            {'reason': 'interrupted', 'tool_calls': 3},
            130,
        ),
        (OWN | {'reason': 'interrupted'}, Outcome(130), {'reason': 'interrupted'}, 130),
        (
            OWN | {'status': 'not_achieved', 'reason': 'interrupted', 'tool_calls': 3},
            Outcome(failure='driver was killed by SIGKILL'),
            {
                'status': 'failed',
                'reason': 'component_failed',
                'error_msg': 'driver was killed by SIGKILL',
                'error_name': 'PEER_DIED',
                'tool_calls': 3,
            },
            3,
        ),
        (
            None,
            Outcome(failure='vla ended with 3', survivors=(12, 13)),
            {'error_msg': 'vla ended with 3; these processes could not be killed: 12, 13'},
            3,
        ),
    ],
)
def test_result_and_exit_code(
    tmp_path: pathlib.Path,
    own: dict[str, Any] | None,
    outcome: Outcome,
    expected: dict[str, Any],
    code: int,
) -> None:
    if own is not None:
        write_result(tmp_path, **own)
    result = conclude(tmp_path, outcome)
    assert {key: result[key] for key in expected} == expected
    assert exit_code(outcome, result) == code
    assert json.loads((tmp_path / 'result.json').read_text()) == result


def test_bag_of_a_killed_recorder_is_repaired(tmp_path: pathlib.Path) -> None:
    definition = MessageDefinition('notes_msgs/msg/Note', text='string text\n')
    clock = iter(range(100)).__next__
    writer = BagWriter(tmp_path / 'bag', clock=clock)
    writer.add_topic('/notes', definition.type, definition=definition)
    writer.write('/notes', 1, b'\x00\x01\x00\x00\x02\x00\x00\x00a\x00')
    write_result(tmp_path)
    result = conclude(tmp_path, Outcome(0))
    assert result['bag'] == {'path': str(tmp_path / 'bag'), 'messages': 1, 'repaired': True}


def test_bag_that_the_recorder_closed_after_the_agent_had_gone(tmp_path: pathlib.Path) -> None:
    BagWriter(tmp_path / 'bag').close()
    result = conclude(tmp_path, Outcome(interrupted=True))
    assert result['bag'] == {'path': str(tmp_path / 'bag'), 'messages': 0}


def test_bag_that_cannot_be_repaired(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'bag').mkdir()
    write_result(tmp_path)
    assert conclude(tmp_path, Outcome(0))['bag'] == {
        'path': str(tmp_path / 'bag'),
        'error': f'bag {tmp_path / "bag"}: expected bag_0.mcap in it, found none',
    }


def test_summary_says_what_happened_and_where_things_are(tmp_path: pathlib.Path) -> None:
    for name in ('result.json', 'states.json', 'transcript_t.json'):
        (tmp_path / name).write_text('')
    (tmp_path / 'images').mkdir()
    result = OWN | {'tool_calls': 5, 'steps': 140, 'seconds': 12.34, 'privileged': True}
    assert summary_lines(tmp_path, result) == [
        'achieved: true',
        'claimed: success, 5 tool calls, 140 control steps, 12.3 s',
        'privileged: yes, simulator state was read that a real robot lacks',
        f'everything is in {tmp_path}:',
        '  result         result.json',
        '  states         states.json',
        '  images         images',
        '  transcript     transcript_t.json',
    ]
