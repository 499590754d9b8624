"""The words that people say to a run."""

import pytest

from rpent_ros.commands import HELP_TEXT, Help, Interrupt, Message, Quit, decode, encode, parse
from rpent_ros.errors import InvalidRequest


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', None),
        (' \t\n', None),
        ('take the blue one', Message('take the blue one')),
        ('  take\nthe blue one \n', Message('take\nthe blue one')),
        ('/stop', Interrupt()),
        ('/stop not the red one', Interrupt('not the red one')),
        ('/stop\nnot the  red one\n', Interrupt('not the  red one')),
        (' /STOP  now', Interrupt('now')),
        ('/stop! left', Interrupt('left')),
        ('stop', Interrupt()),
        ('Stop!', Interrupt()),
        ('stop above the bin', Message('stop above the bin')),
        ('/quit', Quit()),
        ('/quit please', Quit()),
        ('/help', Help()),
        ('//tmp/x is the folder', Message('/tmp/x is the folder')),
        ('why /stop?', Message('why /stop?')),
    ],
)
def test_words(text: str, said: object) -> None:
    assert parse(text) == said


@pytest.mark.parametrize('text', ['/stpo', '/', '/tmp/x is the folder', '/stopnow'])
def test_an_unknown_word_is_no_message(text: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        parse(text)
    assert str(error.value) == (
        f'unknown word {text.split()[0]!r}; known words: /stop, /quit, /help; a message that '
        'begins with / is written //...'
    )


def test_help_names_every_word() -> None:
    first = [line.split()[0] for line in HELP_TEXT.splitlines()]
    assert first == ['TEXT', '/stop', '/quit', '/help', '//TEXT']


@pytest.mark.parametrize('text', ['left', 'two\nlines', 'größer', '{"text": "x"}', '\u2028', ''])
def test_a_text_is_one_line_on_its_way(text: str) -> None:
    line = encode(text)
    assert line.count(b'\n') == 1
    assert line.endswith(b'\n')
    assert decode(line.decode().rstrip('\n')) == text


@pytest.mark.parametrize('line', ['left', '{left}', '{"text": 1}', '{"say": "x"}', '[1]', '{'])
def test_a_plain_line_is_taken_as_it_is(line: str) -> None:
    assert decode(line) == line
