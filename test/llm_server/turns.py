"""What a scripted model does when it is its turn: values that know nothing of an API."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Usage:
    """What an answer takes [tokens]; `input` counts only what is neither read from nor cached."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0


@dataclasses.dataclass(frozen=True)
class Text:
    """Words."""

    text: str


@dataclasses.dataclass(frozen=True)
class Thought:
    """Words that the model says to itself."""

    text: str


@dataclasses.dataclass(frozen=True)
class Call:
    """A tool call; its arguments are JSON, or what a model took for it."""

    name: str
    arguments: str


Block = Text | Thought | Call


@dataclasses.dataclass(frozen=True)
class Delivery:
    """How an answer travels.

    Attributes:
      slow_s: time that it takes in all [s].
      silent_s: silence [s] once the part `silent_after` has been sent; 0.0: before anything is.
      ends_after: the part after which it ends; None: it is whole.
      clean: it ends in good order, as if it were whole; False: the connection is lost.
      error: status of an error that the stream tells where it ends; None: it tells none.
    """

    slow_s: float = 0.0
    silent_s: float = 0.0
    silent_after: float = 0.0
    ends_after: float | None = None
    clean: bool = False
    error: int | None = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the model says and calls; `stop` is '' (it is done), max_tokens or refusal."""

    blocks: tuple[Block, ...]
    usage: Usage = Usage(10, 5)
    stop: str = ''
    delivery: Delivery = Delivery()


@dataclasses.dataclass(frozen=True)
class Status:
    """An error in the vendor's words; `kind` is '', images or context."""

    code: int
    message: str = ''
    retry_after: float | None = None
    kind: str = ''


@dataclasses.dataclass(frozen=True)
class Garbage:
    """An answer that is not the API's."""

    text: str
    media_type: str


Turn = Answer | Status | Garbage
