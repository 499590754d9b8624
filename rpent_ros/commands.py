"""What people may say to a run, in words: the same at a terminal, in a pipe and on a topic."""

from __future__ import annotations

import dataclasses
import json

from rpent_ros.errors import InvalidRequest

STOP = '/stop'
QUIT = '/quit'
HELP = '/help'

HELP_TEXT = """\
TEXT          a message to the planner
/stop [TEXT]  the robot holds, the planner is told, with TEXT if there is one; so does stop alone
/quit         end the run; its files are written
/help         these words
//TEXT        a message that begins with /"""

# Whoever types this in a hurry means the robot, not the planner.
_STOP_ALONE = frozenset({'stop', 'stop!'})


@dataclasses.dataclass(frozen=True)
class Message:
    """A message to the planner."""

    text: str


@dataclasses.dataclass(frozen=True)
class Interrupt:
    """The robot shall hold and the planner be told; `text` is for the planner, '' for none."""

    text: str = ''


@dataclasses.dataclass(frozen=True)
class Quit:
    """The run shall end."""


@dataclasses.dataclass(frozen=True)
class Help:
    """Somebody asks which words there are."""


Said = Message | Interrupt | Quit | Help


def parse(text: str) -> Said | None:
    """What a person means; None: nothing was said.

    A slash that is no known word is refused: a mistyped /stop must not become a message.

    Raises:
      InvalidRequest: an unknown word; the message lists the known ones.
    """
    text = text.strip()
    if not text:
        return None
    if text.casefold() in _STOP_ALONE:
        return Interrupt()
    if not text.startswith('/'):
        return Message(text)
    if text.startswith('//'):
        return Message(text[1:])
    word, *rest = text.split(None, 1)
    known: dict[str, Said] = {STOP: Interrupt(*rest), QUIT: Quit(), HELP: Help()}
    name = word.casefold().rstrip('!.')
    if name not in known:
        raise InvalidRequest(
            f'unknown word {word!r}; known words: {", ".join(known)}; a message that begins with '
            '/ is written //...'
        )
    return known[name]


def encode(text: str) -> bytes:
    """A text as one line for the agent's standard input, line breaks and all."""
    return json.dumps({'text': text}).encode() + b'\n'


def decode(line: str) -> str:
    """The text of a line of standard input: what `encode` made, or the line itself."""
    if line.startswith('{'):
        try:
            document = json.loads(line)
        except ValueError:
            return line
        if isinstance(document, dict) and isinstance(document.get('text'), str):
            return str(document['text'])
    return line
