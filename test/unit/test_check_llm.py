"""`rpent check-llm` against a local server."""

import re

import pytest

from rpent_ros.cerebrums.api.probe import COLOURS, draw
from rpent_ros.cli import check_llm
from test.llm_server import call, garbage, refuse_images, say, status, usage

MODELS = {
    'anthropic': 'anthropic:claude-opus-4-8',
    'openai': 'openai:gpt-5.5',
    'openai-chat': 'openai-chat:local-model',
}
LOOK = call('look', {}, usage=usage(100, 10))
SEEN = call('report', {'number': 47, 'colour': 'green'}, usage=usage(400, 20))


@pytest.fixture
def check(llm_server, capsys, monkeypatch):
    """Runs the command; returns its exit code and what it printed."""
    monkeypatch.setattr(check_llm, 'something_to_see', lambda: (47, 'green'))

    def go(*turns, api='anthropic', key=llm_server.key, arguments=()):
        monkeypatch.setenv('ANTHROPIC_API_KEY', key)
        monkeypatch.setenv('OPENAI_API_KEY', key)
        llm_server.script(*turns)
        base_url = llm_server.url + ('' if api == 'anthropic' else '/v1')
        code = check_llm.main(['--model', MODELS[api], '--base-url', base_url, *arguments])
        return code, capsys.readouterr().out

    return go


@pytest.mark.parametrize('api', list(MODELS))
def test_a_model_that_can(check, api, llm_server):
    code, out = check(LOOK, SEEN, api=api)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith(f'ok       model        {MODELS[api]} at {llm_server.url}')
    assert re.match(r'ok       tools        called look after \d\.\d s$', lines[1])
    assert re.match(r'ok       pictures     read 47 on green after \d\.\d s$', lines[2])
    assert '2 answers, 530 tokens' in lines[3]
    assert len(llm_server.requests[1].images) == 1


def test_prices(check):
    _, out = check(LOOK, SEEN)
    # 500 tokens at 5 and 30 tokens at 25 dollars per million.
    assert out.splitlines()[-1] == 'ok       cost         2 answers, 530 tokens, 0.0033 USD'
    _, out = check(LOOK, SEEN, api='openai-chat')
    assert 'no price for local-model; add it to config/prices.yaml' in out


def test_without_pictures(check, llm_server):
    code, out = check(LOOK, SEEN, arguments=['--text-only'])
    assert (code, 'ok       results' in out) == (0, True)
    assert llm_server.requests[1].images == []


@pytest.mark.parametrize(
    ('turns', 'stage', 'said'),
    [
        ([say('I see a cube.')], 'tools', "LLM_NO_TOOLS: .* said 'I see a cube.'"),
        ([SEEN], 'tools', 'LLM_NO_TOOLS: .* was asked to call look and called report'),
        ([LOOK, refuse_images()], 'pictures', 'LLM_NO_VISION: .*; use --text-only'),
        (
            [LOOK, call('report', {'number': 12, 'colour': 'red'})],
            'pictures',
            'LLM_NO_VISION: .* where 47 on green was shown',
        ),
        ([status(400, message='no')], 'tools', 'LLM_FAILED: anthropic answered 400'),
        ([garbage()] * 3, 'tools', 'LLM_FAILED: '),
        ([status(404)], 'tools', 'LLM_UNKNOWN_MODEL: '),
    ],
)
def test_what_a_model_cannot_do(check, turns, stage, said):
    code, out = check(*turns)
    assert code == 1
    assert re.match(f'problem  {stage:12} {said}', out.splitlines()[-1])


def test_a_wrong_key(check):
    code, out = check(key='wrong-key-123')
    assert code == 1
    assert 'problem  tools        LLM_BAD_KEY: ' in out
    assert 'wrong-key-123' not in out


def test_no_key(monkeypatch, capsys):
    monkeypatch.delenv('ANTHROPIC_API_KEY', raising=False)
    assert check_llm.main([]) == 1
    assert capsys.readouterr().out == (
        'problem  model        LLM_NO_KEY: anthropic:claude-opus-4-8 needs a key: export '
        'ANTHROPIC_API_KEY=... before you start\n'
    )


@pytest.mark.parametrize('arguments', [['--effort', 'huge'], ['--base-url', 'nowhere'], ['--x']])
def test_wrong_usage(arguments, capsys):
    try:
        code = check_llm.main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert capsys.readouterr().err.startswith('rpent check-llm: ')


def test_numbers_are_drawn():
    assert len({draw(number, colour) for number in (11, 12) for colour in COLOURS}) == 8
