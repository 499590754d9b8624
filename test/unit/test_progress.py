"""Planners that go round in circles are told, and then stopped."""

import json
import pathlib

import pytest

from rpent_ros import events
from rpent_ros.errors import ErrorCode, NoProgress
from rpent_ros.limits import Limits
from rpent_ros.progress import ProgressWatch
from rpent_ros.tools.result import ToolResult

FAILED = ToolResult(ErrorCode.NOT_REACHED, 'stopped short')
MOVED = ToolResult(data={'steps': 5})
LOOKED = ToolResult()


def watch(**limits):
    return ProgressWatch(Limits(**limits))


def test_looking_only():
    progress = watch(max_idle_calls=3)
    for result in (LOOKED, LOOKED, MOVED, LOOKED, LOOKED):
        progress.note('view', {}, result)
        assert not progress.hint
    progress.note('view', {}, LOOKED)
    assert progress.hint.startswith('nothing has moved in the last 3 calls: act')
    for _ in range(2):
        progress.note('view', {}, LOOKED)
        assert (progress.hint, progress.verdict) == ('', '')
    progress.note('view', {}, LOOKED)
    assert progress.verdict.startswith('nothing moved in 6 tool calls')


def test_the_same_failure():
    progress = watch(max_repeats=2)
    progress.note('move_to', {'x': 1}, FAILED)
    progress.note('move_to', {'x': 2}, FAILED)
    assert not progress.hint
    # Other calls in between make it no better.
    progress.note('move_to', {'x': 1}, FAILED)
    assert 'failed with NOT_REACHED 2 times: do something else' in progress.hint
    progress.note('move_to', {'x': 1}, FAILED)
    assert not progress.verdict
    progress.note('move_to', {'x': 1}, FAILED)
    assert progress.verdict.startswith('move_to failed 4 times with NOT_REACHED')


def test_success_forgives():
    progress = watch(max_repeats=2)
    for result in (FAILED, MOVED, FAILED):
        progress.note('move_to', {'x': 1}, result)
    assert not progress.hint


@pytest.mark.parametrize('code', [ErrorCode.TOOL_BUSY, ErrorCode.CANCELED])
def test_what_others_did_is_not_counted(code):
    progress = watch(max_repeats=1, max_idle_calls=0)
    for _ in range(5):
        progress.note('move_to', {}, ToolResult(code, 'stopped'))
        assert (progress.hint, progress.verdict) == ('', '')


def test_no_limits():
    progress = watch(max_repeats=0, max_idle_calls=0)
    for _ in range(200):
        progress.note('move_to', {}, FAILED)
    assert (progress.hint, progress.verdict) == ('', '')


def test_the_planner_is_told_and_then_the_run_ends(run, listener):
    seen = []

    def stubborn(tools):
        while True:
            seen.append(tools.call('move_to', {'xyz': [9.0, 0.0, 0.0]}))

    result = run(stubborn, limits=Limits(max_repeats=2))
    assert [bool(answer.data.get('hint')) for answer in seen] == [False, True, False]
    assert 'do something else' in seen[1].data['hint']
    assert (result.reason, result.code, result.status) == (
        'no_progress', ErrorCode.NO_PROGRESS, 'not_achieved',
    )  # fmt: skip
    assert NoProgress(result.message).code == result.code
    assert result.message == (
        'move_to failed 4 times with OUT_OF_WORKSPACE for the same arguments; whoever starts the '
        'run can allow more with max_repeats'
    )
    assert result.tool_calls == 4
    hints = [
        e.data.get('hint', '') for e in listener.events if e.kind == events.TOOL_RESULT
    ]
    assert 'do something else' in hints[1]
    transcript = json.loads(
        pathlib.Path(result.output_dir, 'transcript_fake_pick_t0_s1.json').read_text()
    )
    assert transcript['tool_calls'] == 4
    assert transcript['messages'][-1]['result']['code'] == 'OUT_OF_WORKSPACE'
