"""Keys do not reach files, topics or terminals."""

import pathlib

import pytest

from rpent_ros import events, secrets
from rpent_ros.errors import LlmBadKey

KEY = 'sk-ant-0123456789'


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setattr(secrets.SECRETS, '_values', ())
    monkeypatch.setenv('ANTHROPIC_API_KEY', KEY)
    return KEY


def test_replacing():
    known = secrets.Secrets()
    known.add('0123456789')
    known.add('0123456789-and-more')
    known.add('short')
    known.add(None)
    assert known.redact('a 0123456789-and-more b 0123456789 short') == (
        'a <secret> b <secret> short'
    )
    assert known.redact_all({'x0123456789': ['0123456789', 3, None, ('0123456789',)]}) == {
        'x<secret>': ['<secret>', 3, None, ['<secret>']]
    }


def test_nothing_that_a_run_writes_or_tells_holds_a_key(run, key, listener):
    def leak(tools):
        tools.say(f'my key is {key}')
        tools.warn(f'{key} was not accepted')
        tools.call('move_to', {'xyz': key})
        tools.call(key, {})
        raise LlmBadKey(f'anthropic does not accept {key}')

    result = run(leak, instruction=f'say {key}')
    assert result.message == 'anthropic does not accept <secret>'
    told = ''.join(repr(event) for event in listener.events)
    assert key not in told
    assert told.count('<secret>') > 5
    files = [p for p in pathlib.Path(result.output_dir).rglob('*') if p.is_file()]
    assert len(files) > 5
    assert [p.name for p in files if key.encode() in p.read_bytes()] == []
    assert {e.kind for e in listener.events} >= {events.MESSAGE, events.WARNING}
