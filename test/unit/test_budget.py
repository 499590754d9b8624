"""Limits of a run, the same for every planner."""

import json
import pathlib

import pytest

from rpent_ros import events
from rpent_ros.errors import CostLimit, ErrorCode, InvalidRequest, TokenLimit, TurnLimit
from rpent_ros.limits import Limits
from rpent_ros.usage import Usage

OPUS = 'claude-opus-4-8'


@pytest.mark.parametrize('name', ['max_tool_calls', 'max_seconds', 'max_usd', 'max_repeats'])
@pytest.mark.parametrize('value', [-1, float('nan'), float('inf')])
def test_bad_limits(name, value):
    with pytest.raises(InvalidRequest, match=f'{name}: expected 0 or above, got {value}'):
        Limits(**{name: value})


def thinker(usage, *, claims=False):
    """A planner that asks its model again and again."""

    def solve(tools):
        while True:
            tools.check()
            tools.spend(usage)
            tools.call('finish' if claims else 'view_env_state', CLAIM if claims else {})
            if claims:
                return

    return solve


CLAIM = {'status': 'failure', 'summary': 'too expensive'}


@pytest.mark.parametrize(
    ('usage', 'limits', 'reason', 'error', 'message'),
    [
        (
            Usage(OPUS, output_tokens=400), {'max_tokens': 1000}, 'token_limit', TokenLimit,
            'the run used up its tokens (1200 of 1000) after 2 tool calls; whoever starts it can '
            'allow more with max_tokens',
        ),
        (
            Usage(OPUS, output_tokens=40_000), {'max_usd': 2.5}, 'cost_limit', CostLimit,
            'the run used up its money (3 of 2.5 US dollars) after 2 tool calls; whoever starts '
            'it can allow more with max_usd',
        ),
        (
            Usage(OPUS), {'max_turns': 2}, 'turn_limit', TurnLimit,
            'all 2 answers of the language model are used up; whoever starts the run can allow '
            'more with max_turns',
        ),
    ],
)  # fmt: skip
def test_a_limit_of_the_model_ends_the_run(run, usage, limits, reason, error, message):
    result = run(thinker(usage), limits=Limits(**limits))
    assert (result.reason, result.code, result.message) == (reason, error.code, message)
    assert (result.tool_calls, result.exit_code) == (2, 1)


def test_a_claim_beyond_the_limit_is_heard(run):
    result = run(thinker(Usage(OPUS, output_tokens=9000), claims=True),
                 limits=Limits(max_tokens=1000))  # fmt: skip
    assert (result.reason, result.claimed) == ('finished', 'failure')


def test_usage_goes_to_transcript_events_and_result(run, listener):
    def solve(tools):
        tools.spend(Usage(OPUS, input_tokens=1000, output_tokens=100))
        tools.spend(Usage(OPUS, cache_read_tokens=2000, output_tokens=100))

    result = run(solve)
    first, second = (e for e in listener.events if e.kind == events.USAGE)
    assert first.data['usd'] == pytest.approx(0.0075)
    assert second.data['total']['tokens'] == 3200
    lines = []
    sink = events.LineSink(lines.append)
    sink.event(second)
    assert lines == [
        'claude-opus-4-8: 2000 tokens read (2000 from cache), 100 written, 0.0035 US dollars; so '
        'far 3200 tokens, 0.01 US dollars'
    ]
    stored = json.loads(pathlib.Path(result.output_dir, 'result.json').read_text())
    assert stored['usage'] == {
        'models': [OPUS], 'requests': 2, 'input_tokens': 1000, 'cache_read_tokens': 2000,
        'cache_write_tokens': 0, 'output_tokens': 200, 'tokens': 3200, 'usd': 0.011,
        'unpriced_models': [],
    }  # fmt: skip
    transcript = json.loads(
        pathlib.Path(result.output_dir, 'transcript_fake_pick_t0_s1.json').read_text()
    )
    noted = [m for m in transcript['messages'] if m['role'] == 'usage']
    assert [m['output_tokens'] for m in noted] == [100, 100]


def test_an_unknown_price_is_said_once_and_cannot_stop_the_run(run, listener):
    def solve(tools):
        for _ in range(3):
            tools.check()
            tools.spend(Usage('local-model', output_tokens=10_000_000))

    result = run(solve, limits=Limits(max_usd=0.01, max_tokens=0))
    assert result.code == ErrorCode.NOT_ACHIEVED
    assert result.to_json()['usage']['usd'] is None
    said = [e.data['text'] for e in listener.events if e.kind == events.WARNING]
    assert said[1:] == [
        "no price is known for the model 'local-model', so its answers count as tokens only and "
        'max_usd cannot stop them; add it to config/prices.yaml'
    ]


def test_people_are_told_before_the_money_is_gone(run, listener):
    def solve(tools):
        for _ in range(9):
            tools.spend(Usage(OPUS, output_tokens=40_000))

    run(solve, limits=Limits(max_usd=10.0, max_tokens=0))
    said = [e.data['text'] for e in listener.events if e.kind == events.WARNING]
    assert said[1:] == ['8.00 of 10.00 US dollars are used up (max_usd)']
