"""Names of models, and what their providers want."""

import pytest

from rpent_ros import secrets
from rpent_ros.cerebrums.api import ApiCerebrum, check_ready
from rpent_ros.cerebrums.api.ids import find_endpoint
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import LlmNoKey, LlmNotInstalled, LlmUnknownModel

KEYS = {'ANTHROPIC_API_KEY': 'a-key-12345', 'OPENAI_API_KEY': 'an-o-key-12345'}


@pytest.mark.parametrize(
    ('model', 'name', 'url'),
    [
        ('', 'anthropic:claude-opus-4-8', 'https://api.anthropic.com'),
        ('anthropic:claude-haiku-4-5', 'anthropic:claude-haiku-4-5', 'https://api.anthropic.com'),
        ('claude-haiku-4-5', 'anthropic:claude-haiku-4-5', 'https://api.anthropic.com'),
        ('openai:gpt-5.5', 'openai:gpt-5.5', 'https://api.openai.com/v1'),
        ('gpt-5.5', 'openai:gpt-5.5', 'https://api.openai.com/v1'),
        ('openai-chat:qwen3-vl:8b', 'openai-chat:qwen3-vl:8b', 'https://api.openai.com/v1'),
    ],
)
def test_names(model, name, url):
    endpoint = find_endpoint(LlmOptions(model), KEYS)
    assert (endpoint.name, endpoint.url) == (name, url)
    assert endpoint.key == KEYS[endpoint.provider.key_variable]
    assert endpoint.key not in repr(endpoint)


@pytest.mark.parametrize('model', ['gemini:pro', 'qwen3:8b', 'llama', 'anthropic:', ':'])
def test_other_names_are_refused_with_the_known_ones(model):
    with pytest.raises(LlmUnknownModel) as caught:
        find_endpoint(LlmOptions(model), KEYS)
    assert str(caught.value) == (
        f'model {model!r}: expected one of anthropic:NAME, openai:NAME, openai-chat:NAME, '
        'e.g. anthropic:claude-opus-4-8'
    )


@pytest.mark.parametrize(
    ('model', 'variable'),
    [
        ('', 'ANTHROPIC_API_KEY'),
        ('openai:gpt-5.5', 'OPENAI_API_KEY'),
        ('openai-chat:gpt-4o', 'OPENAI_API_KEY'),
    ],
)
def test_a_missing_key_is_named(model, variable, monkeypatch):
    for name in (*KEYS, 'OPENAI_BASE_URL'):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LlmNoKey, match=f'needs a key: export {variable}=... before you start$'):
        check_ready(LlmOptions(model))


def test_a_server_of_ones_own_needs_no_key():
    llm = LlmOptions('openai-chat:qwen3-vl:8b', base_url='http://localhost:11434/v1')
    assert find_endpoint(llm, {}).keyless
    by_variable = {'OPENAI_BASE_URL': 'http://localhost:8000/v1'}
    assert find_endpoint(LlmOptions('openai-chat:m'), by_variable).url == (
        'http://localhost:8000/v1'
    )
    # The Responses API is OpenAI's, behind whatever address.
    with pytest.raises(LlmNoKey):
        find_endpoint(LlmOptions('openai:m', base_url='http://localhost:8000/v1'), {})


def test_the_option_beats_the_variable():
    environ = {**KEYS, 'ANTHROPIC_BASE_URL': 'http://gateway:1'}
    assert find_endpoint(LlmOptions(), environ).url == 'http://gateway:1'
    llm = LlmOptions(base_url='http://other:2')
    assert find_endpoint(llm, environ).url == 'http://other:2'


def test_keys_and_passwords_are_kept_secret():
    environ = {
        'ANTHROPIC_API_KEY': 'sk-very-secret-1',
        'ANTHROPIC_BASE_URL': 'https://me:hunter2hunter2@gate.example/llm?token=1',
    }
    endpoint = find_endpoint(LlmOptions(), environ)
    assert endpoint.url == 'https://gate.example/llm'
    assert secrets.redact('sk-very-secret-1 hunter2hunter2') == '<secret> <secret>'


def test_the_planner_is_chosen_as_api():
    assert ApiCerebrum(LlmOptions()).name == 'api'


def test_a_library_that_is_missing(monkeypatch):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None if name == 'openai' else ...)
    with pytest.raises(LlmNotInstalled) as caught:
        check_ready(LlmOptions('openai-chat:m', base_url='http://localhost:8000/v1'))
    assert str(caught.value) == (
        'the planner api needs the Python package openai; run ./rpent setup'
    )
