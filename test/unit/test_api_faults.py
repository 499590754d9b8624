"""What people read when a provider fails, and what is tried again."""

import time

import pytest

from rpent_ros.cerebrums.api import models
from rpent_ros.cerebrums.api.history import History
from rpent_ros.cerebrums.api.ids import find_endpoint
from rpent_ros.cerebrums.api.requests import Line
from rpent_ros.cerebrums.base import Steering
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import (
    LlmBadKey,
    LlmFailed,
    LlmUnknownModel,
    LlmUnreachable,
)
from test.llm_server import cut, garbage, say, stall, status, usage

MODELS = {
    'anthropic': 'anthropic:claude-opus-4-8',
    'openai': 'openai:gpt-5.5',
    'openai-chat': 'openai-chat:local-model',
}
every_api = pytest.mark.parametrize('api', list(MODELS))


class Desk:
    """What a request has to know of a run."""

    def __init__(self):
        self.warnings = []
        self.spent = []

    def check(self):
        pass

    def should_stop(self):
        return False

    def spend(self, usage):
        self.spent.append(usage)

    def warn(self, text):
        self.warnings.append(text)


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def ask(llm_server, desk, monkeypatch):
    """Asks a model of the local server one question; returns the text of its answer."""

    def go(*turns, api='anthropic', key=llm_server.key, model='', **llm):
        monkeypatch.setenv('ANTHROPIC_API_KEY', key)
        monkeypatch.setenv('OPENAI_API_KEY', key)
        llm_server.script(*turns)
        base_url = llm_server.url + ('' if api == 'anthropic' else '/v1')
        options = LlmOptions(
            model or MODELS[api], **{'base_url': base_url, 'max_retries': 2, **llm}
        )
        language_model = models.build(find_endpoint(options), options)
        talk = History('be kind', 'hello', in_results=True, images_kept=1, image_bytes_kept=1)
        with Line(language_model, desk, Steering(), max_retries=options.max_retries) as line:
            answer = line.ask(talk.messages, models.parameters([]), pictures=False)
        return ''.join(part.content for part in answer.parts)

    return go


@every_api
def test_an_answer(ask, api, desk):
    assert ask(say('hi', usage=usage(10, 5)), api=api) == 'hi'
    [spent] = desk.spent
    assert (spent.input_tokens, spent.output_tokens, spent.requests) == (10, 5, 1)
    assert spent.model in MODELS[api]


@every_api
@pytest.mark.parametrize(
    ('code', 'word'),
    [
        (408, 'request timeout'),
        (409, 'conflict'),
        (429, 'too many requests'),
        (500, 'internal server error'),
        (503, 'not available'),
        (529, 'overloaded'),
    ],
)
def test_what_passes_is_tried_again(ask, api, code, word, desk, llm_server):
    assert ask(status(code, retry_after=0), say('hi'), api=api) == 'hi'
    assert desk.warnings == [f'{api} answered {code} ({word}); trying again in 0.0 s, 1 of 2']
    assert len(llm_server.requests) == 2


@every_api
def test_a_pause_that_is_asked_for_is_kept(ask, api, desk):
    begun = time.monotonic()
    ask(status(429, retry_after=1), say('hi'), api=api)
    assert time.monotonic() - begun > 1.0
    assert desk.warnings[0].endswith('trying again in 1.0 s, 1 of 2')


@every_api
def test_what_does_not_pass_ends_in_one_sentence(ask, api, desk, llm_server):
    turns = [status(529, retry_after=0, message='Overloaded')] * 3
    with pytest.raises(LlmFailed) as caught:
        ask(*turns, api=api)
    assert str(caught.value) == f'{api} answered 529 (overloaded): Overloaded (3 tries in 0 s)'
    assert len(desk.warnings) == 2
    assert len(llm_server.requests) == 3


def test_pauses_grow(ask, desk):
    ask(status(500), status(500), say('hi'))
    pauses = [float(w.split(' in ')[1].split(' s')[0]) for w in desk.warnings]
    assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 1.5


@every_api
def test_a_key_that_is_not_accepted(ask, api, llm_server):
    with pytest.raises(LlmBadKey) as caught:
        ask(api=api, key='wrong-key-123')
    variable = 'ANTHROPIC_API_KEY' if api == 'anthropic' else 'OPENAI_API_KEY'
    assert f'does not accept the key in {variable} (401: ' in str(caught.value)
    assert str(caught.value).endswith('; export a valid one')
    assert 'wrong-key-123' not in str(caught.value)


@every_api
def test_a_key_that_may_not(ask, api):
    with pytest.raises(LlmBadKey, match=r'\(403: not for you\)'):
        ask(status(403, message='not for you'), api=api)


def test_a_server_of_ones_own_that_wants_a_key(ask, monkeypatch):
    with pytest.raises(LlmBadKey, match=r'wants a key .*: export OPENAI_API_KEY='):
        ask(api='openai-chat', key='')


@every_api
def test_a_model_that_does_not_exist(ask, api, llm_server):
    with pytest.raises(LlmUnknownModel) as caught:
        ask(api=api, model=f'{api}:no-such-model')
    message = str(caught.value)
    assert message.startswith(f'{api} at {llm_server.url}')
    assert "has no model 'no-such-model' (404: " in message


@every_api
def test_an_address_where_nothing_is(ask, api, llm_server):
    base_url = f'{llm_server.url}/elsewhere'
    with pytest.raises(LlmUnknownModel, match=r'check .*the base URL$'):
        ask(api=api, base_url=base_url)


@every_api
def test_nobody_at_the_address(ask, api, desk):
    with pytest.raises(LlmUnreachable) as caught:
        ask(api=api, base_url='http://127.0.0.1:9', max_retries=1)
    message = str(caught.value)
    assert message.startswith(f'{api} cannot be reached at http://127.0.0.1:9 (')
    assert 'BASE_URL (2 tries in ' in message
    assert len(desk.warnings) == 1


@every_api
def test_a_request_that_is_refused(ask, api, desk):
    with pytest.raises(LlmFailed) as caught:
        ask(status(400, message='tools.0.name: too long'), api=api)
    assert str(caught.value) == f'{api} answered 400 (bad request): tools.0.name: too long'
    assert desk.warnings == []


@every_api
def test_an_answer_that_makes_no_sense(ask, api):
    with pytest.raises(LlmFailed, match=r'(is not its API|an empty answer)'):
        ask(*[garbage()] * 2, api=api, max_retries=1)


@every_api
def test_an_answer_that_breaks_off(ask, api, desk):
    assert ask(cut(say('hello there', usage=usage(10, 5))), say('hi'), api=api) == 'hi'
    assert 'broke off before its answer was whole; trying again' in desk.warnings[0]


@every_api
def test_a_long_silence(ask, api, desk):
    answer = ask(stall(5), say('hi'), api=api, request_timeout_s=0.3)
    assert answer == 'hi'
    assert 'said nothing for too long; trying again' in desk.warnings[0]


def test_a_provider_that_wants_a_very_long_pause(ask, desk):
    with pytest.raises(LlmFailed, match=r'asks us to wait for 3600 s: later$'):
        ask(status(429, retry_after=3600, message='later'))


def test_effort_makes_a_model_think(ask, llm_server):
    ask(say('hi'), effort='low')
    body = llm_server.requests[0].body
    assert body['thinking']['type'] == 'adaptive'
    assert body['output_config'] == {'effort': 'low'}


def test_effort_of_an_older_model_is_a_number_of_tokens(ask, llm_server):
    ask(say('hi'), model='anthropic:claude-haiku-4-5', effort='high')
    body = llm_server.requests[0].body
    assert body['thinking']['budget_tokens'] + 16_000 == body['max_tokens']


def test_effort_at_openai(ask, llm_server):
    ask(say('hi'), api='openai', effort='max')
    assert llm_server.requests[0].body['reasoning']['effort'] in ('high', 'xhigh', 'max')


def test_effort_at_a_server_of_ones_own(ask, llm_server):
    ask(say('hi'), api='openai-chat', effort='medium')
    assert llm_server.requests[0].body['reasoning_effort'] == 'medium'
