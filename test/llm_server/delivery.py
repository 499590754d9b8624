"""Sends an answer at its pace, breaks it off where it shall break, and notices who goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from starlette.types import Receive, Scope, Send

from test.llm_server.turns import Delivery

# In an ASGI scope: a function that closes the connection, whatever has been sent.
DROP = 'test.llm_server.drop'


class _Lost(Exception):
    """Raised where the connection breaks."""


class Answering:
    """An ASGI answer.

    Args:
      chunks: what to send.
      media_type: what it is.
      delivery: how.
      failure: what a stream tells if it ends in an error; None: no error.
      left: called if the client goes away before it has everything.
    """

    def __init__(
        self, chunks: Sequence[bytes], media_type: str, delivery: Delivery,
        failure: bytes | None, left: Callable[[], None],
    ) -> None:  # fmt: skip
        self._chunks = chunks
        self._media_type = media_type
        self._delivery = delivery
        self._failure = failure
        self._left = left
        self._total = sum(len(chunk) for chunk in chunks)
        self._begun = False
        self._silent = False
        self._sent_all = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
            elif not self._sent_all:
                self._left()
        except _Lost:
            scope[DROP]()
            # Until then the server would take it for an answer that was forgotten.
            await leaving
        finally:
            for task in (sending, leaving):
                task.cancel()

    async def _send(self, send: Send) -> None:
        how = self._delivery
        end = self._total if how.ends_after is None else round(self._total * how.ends_after)
        sent = 0
        for chunk in self._chunks:
            if sent >= end or (sent + len(chunk) > end and self._failure is not None):
                break
            await self._pause(sent)
            await asyncio.sleep(how.slow_s / len(self._chunks))
            await self._give(send, chunk[: end - sent])
            sent += len(chunk)
        await self._pause(sent)
        if self._failure is not None:
            await self._give(send, self._failure)
        elif how.ends_after is not None and not how.clean:
            raise _Lost
        # Some clients know the last event and do not wait for the end.
        self._sent_all = True
        await self._give(send, b'', more=False)

    async def _pause(self, sent: int) -> None:
        """Be silent, once, if it is time to."""
        if not self._silent and sent >= self._total * self._delivery.silent_after:
            self._silent = True
            await asyncio.sleep(self._delivery.silent_s)

    async def _give(self, send: Send, chunk: bytes, *, more: bool = True) -> None:
        if not self._begun:
            self._begun = True
            await send({
                'type': 'http.response.start',
                'status': 200,
                'headers': [(b'content-type', self._media_type.encode())],
            })  # fmt: skip
        await send({'type': 'http.response.body', 'body': chunk, 'more_body': more})


async def _disconnected(receive: Receive) -> None:
    while (await receive())['type'] != 'http.disconnect':
        pass
