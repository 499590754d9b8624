"""What every wire format is made of, and what the server remembers of its own answers."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping
from typing import Any, Protocol

from PIL import Image

from test.llm_server.turns import Answer, Status

Json = dict[str, Any]
_NUMBERS = itertools.count(1)
_PIECES = 4


class Refused(Exception):
    """Raised when a request is answered with an error.

    Attributes:
      status: the HTTP status.
      message: the vendor's sentence.
      code: the vendor's word for it, where it has one; likewise `param`, which field it is about.
      headers: sent with it.
      violation: the request broke a rule of the API.
    """

    def __init__(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None,
        headers: Mapping[str, str] | None = None, violation: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.headers = dict(headers or {})
        self.violation = violation


def broken(
    message: str, *, status: int = 400, code: str | None = None, param: str | None = None
) -> Refused:
    """A request that breaks a rule."""
    return Refused(status, message, code=code, param=param, violation=True)


@dataclasses.dataclass(frozen=True)
class Conversation:
    """What a request says.

    Attributes:
      messages: the vendor's list of them.
      tools: names of the tools on offer.
      images: all pictures, in order.
      tool_results: the texts of all results, in order.
    """

    messages: list[Any]
    tools: list[str]
    images: list[Image.Image]
    tool_results: list[str]


@dataclasses.dataclass
class Memory:
    """What the server has said, for clients must send it back as it was.

    Attributes:
      thoughts: text of each thought by its signature; '' where the text is not sent back.
      calls: the signature or id of the thought before each call, by the call's id; '': there was
        none.
    """

    thoughts: dict[str, str] = dataclasses.field(default_factory=dict)
    calls: dict[str, str] = dataclasses.field(default_factory=dict)


class Wire(Protocol):
    """One API."""

    def check(self, body: Json, headers: Mapping[str, str], memory: Memory) -> None:
        """Raise Refused if a request breaks a rule."""

    def read(self, body: Json) -> Conversation:
        """What a request says."""

    def whole(self, body: Json, answer: Answer, memory: Memory) -> Json:
        """An answer that is not streamed."""

    def events(self, body: Json, answer: Answer, memory: Memory) -> list[bytes]:
        """An answer that is streamed."""

    def wrong_key(self, key: str) -> Refused:
        """A key that is not accepted; '': there is none."""

    def unknown_model(self, model: str) -> Refused:
        """A model that does not exist."""

    def error(self, refused: Refused) -> Json:
        """The body of an error."""

    def error_event(self, refused: Refused, begun: bool) -> bytes:
        """The same within a stream, which has begun to answer or not."""

    def words(self, status: Status, body: Json) -> Refused:
        """An error in the vendor's words."""

    def models(self) -> Json:
        """The list of models."""


def new_id(prefix: str) -> str:
    """An id as long as the vendors' are."""
    return f'{prefix}{next(_NUMBERS):024d}'


def event(data: Json, name: str | None = None) -> bytes:
    """A server-sent event."""
    head = f'event: {name}\n' if name else ''
    return f'{head}data: {json.dumps(data, ensure_ascii=False)}\n\n'.encode()


def pieces(text: str) -> list[str]:
    """The text as it comes in a stream."""
    size = max(1, -(-len(text) // _PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]


def object_of(arguments: str) -> Json:
    """What a client that does not stream reads of a call's arguments; {} if it is no object."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
