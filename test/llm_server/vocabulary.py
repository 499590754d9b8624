"""The words in which a test scripts its turns."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from test.llm_server.turns import (
    Answer,
    Block,
    Call,
    Delivery,
    Garbage,
    Status,
    Text,
    Thought,
    Usage,
)


def usage(input: int, output: int, *, cache_read: int = 0, cache_write: int = 0) -> Usage:
    """Tokens of an answer."""
    return Usage(input, output, cache_read, cache_write)


def say(text: str, *, usage: Usage = Answer.usage) -> Answer:
    """Words only."""
    return Answer((Text(text),), usage)


def call(
    name: str, arguments: Mapping[str, Any], *, text: str = '', usage: Usage = Answer.usage
) -> Answer:
    """One tool call, after some words if there are any."""
    said = (Text(text),) if text else ()
    return Answer((*said, Call(name, json.dumps(arguments))), usage)


def calls(*turns: Answer, usage: Usage = Answer.usage) -> Answer:
    """Several calls in one answer."""
    return Answer(tuple(block for turn in turns for block in turn.blocks), usage)


def malformed(name: str, text: str) -> Answer:
    """A call whose arguments are not JSON."""
    return Answer((Call(name, text),))


def thinking(text: str, *, then: Answer | None = None) -> Answer:
    """Thoughts, and an answer after them; None: it ends while it thinks."""
    if then is None:
        return max_tokens(Answer((Thought(text * 2),)))
    return dataclasses.replace(then, blocks=(Thought(text), *then.blocks))


def max_tokens(turn: Answer) -> Answer:
    """An answer that ends at its longest length, in the middle of its last part."""
    *whole, last = turn.blocks
    if isinstance(last, Call):
        half: Block = Call(last.name, last.arguments[: len(last.arguments) // 2])
    else:
        half = type(last)(last.text[: len(last.text) // 2])
    return dataclasses.replace(turn, blocks=(*whole, half), stop='max_tokens')


def refusal(text: str = 'This request was declined.') -> Answer:
    """The model, or what watches over it, declines to answer."""
    return Answer((Text(text),), stop='refusal')


def cut(turn: Answer, *, after: float = 0.5, clean: bool = False) -> Answer:
    """An answer that breaks off once the part `after` of its bytes has been sent.

    Args:
      turn: the answer.
      after: 0.0 to 1.0.
      clean: it is closed as if it were whole, as proxies do; False: the connection is lost.
    """
    return _deliver(turn, ends_after=after, clean=clean)


def failing(turn: Answer, code: int, *, after: float = 0.5) -> Answer:
    """An answer that ends in an error within the stream, the one that `code` stands for."""
    return _deliver(turn, ends_after=after, error=code)


def slow(turn: Answer, seconds: float) -> Answer:
    """An answer that takes some time."""
    return _deliver(turn, slow_s=seconds)


def stall(seconds: float, turn: Answer | None = None, *, after: float = 0.0) -> Answer:
    """Silence once the part `after` has been sent; without a turn nothing ever comes."""
    if turn is None:
        return Answer((), delivery=Delivery(silent_s=seconds, ends_after=0.0))
    return _deliver(turn, silent_s=seconds, silent_after=after)


def _deliver(turn: Answer, **changes: Any) -> Answer:
    return dataclasses.replace(turn, delivery=dataclasses.replace(turn.delivery, **changes))


def status(code: int, *, retry_after: float | None = None, message: str = '') -> Status:
    """An HTTP status with the vendor's error; '': in the vendor's words."""
    return Status(code, message, retry_after)


def refuse_images() -> Status:
    """The model takes no pictures."""
    return Status(400, kind='images')


def context_too_long() -> Status:
    """The conversation does not fit the model."""
    return Status(400, kind='context')


def garbage(
    text: str = '<html><body>Please sign in to the network.</body></html>',
    media_type: str = 'text/html',
) -> Garbage:
    """Something else answers, e.g. the sign-in page of a network."""
    return Garbage(text, media_type)
