"""A recording under way: messages come in on any thread, one worker writes them.

The queue between them is bounded by bytes.  A message that does not fit is dropped and counted,
and the counts are stored in the bag: a disk that is too slow must neither stall the graph nor be
silent about it.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import threading
from collections.abc import Mapping, Sequence

from rpent_ros.bag.records import BagSummary, QosProfile
from rpent_ros.bag.verify import verify
from rpent_ros.bag.writer import BagWriter
from rpent_ros.errors import BagFailed

_IDLE_FLUSH_S = 0.5


@dataclasses.dataclass(frozen=True)
class _Topic:
    name: str
    type_name: str
    offered_qos: tuple[QosProfile, ...]


@dataclasses.dataclass(frozen=True)
class _Message:
    topic: str
    received: int
    data: bytes
    sent: int | None


class Recording:
    """Writes one bag in the background.  Thread-safe.

    Args:
      path: folder of the bag; it must not exist.
      run_id: stored with the bag.
      queue_bytes: messages waiting to be written never exceed this [bytes].
      flush_period: longest time that a message waits in memory [s].

    Raises:
      BagFailed: the folder exists or cannot be created.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        run_id: str = '',
        queue_bytes: int = 128 << 20,
        flush_period: float = 1.0,
    ) -> None:
        self._writer = BagWriter(path, custom={'run_id': run_id}, flush_period=flush_period)
        self._queue_bytes = queue_bytes
        self._waiting: collections.deque[_Topic | _Message] = collections.deque()
        self._waiting_bytes = 0
        self._known: set[str] = set()
        self._dropped: collections.Counter[str] = collections.Counter()
        self._error: BagFailed | None = None
        self._stopping = False
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._work, name='bag writer', daemon=True)
        self._worker.start()

    @property
    def path(self) -> str:
        """Folder of the bag."""
        return str(self._writer.path)

    @property
    def dropped(self) -> Mapping[str, int]:
        """Messages lost so far, per topic."""
        with self._changed:
            return dict(self._dropped)

    @property
    def error(self) -> BagFailed | None:
        """What made the worker give up; None while all is well."""
        return self._error

    def knows(self, topic: str) -> bool:
        """True once `add_topic` was called for it."""
        with self._changed:
            return topic in self._known

    def add_topic(
        self, name: str, type_name: str, offered_qos: Sequence[QosProfile] = ()
    ) -> None:
        """Make a topic known before its first message."""
        with self._changed:
            if name not in self._known:
                self._known.add(name)
                self._waiting.append(_Topic(name, type_name, tuple(offered_qos)))
                self._changed.notify()

    def write(self, topic: str, received: int, data: bytes, *, sent: int | None = None) -> bool:
        """Queue one message; returns False if it had to be dropped.

        Args:
          topic: a name given to `add_topic`.
          received: when it arrived [ns].
          data: serialised message (CDR).
          sent: when it was published [ns]; None: unknown.
        """
        with self._changed:
            full = self._waiting_bytes + len(data) > self._queue_bytes
            if full or self._stopping or self._error is not None:
                self._dropped[topic] += 1
                return False
            self._waiting_bytes += len(data)
            self._waiting.append(_Message(topic, received, data, sent))
            self._changed.notify()
            return True

    def stop(self) -> BagSummary:
        """Write what waits, close the bag and read it back.

        Raises:
          BagFailed: not everything could be written, or the bag cannot be read back.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._worker.join()
        # Ends the bag; raises what the worker met, too.
        self._writer.close(custom={'dropped': str(sum(self._dropped.values()))})
        if self._error is not None:
            raise self._error
        return verify(self._writer.path)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting and not self._stopping:
                    self._changed.wait(_IDLE_FLUSH_S)
                item = self._waiting.popleft() if self._waiting else None
                if isinstance(item, _Message):
                    self._waiting_bytes -= len(item.data)
                if item is None and self._stopping:
                    return
            try:
                self._handle(item)
            except BagFailed as error:
                with self._changed:
                    self._error = error
                    lost = [item, *self._waiting]
                    self._dropped.update(i.topic for i in lost if isinstance(i, _Message))
                    self._waiting.clear()
                return

    def _handle(self, item: _Topic | _Message | None) -> None:
        if isinstance(item, _Topic):
            self._writer.add_topic(item.name, item.type_name, offered_qos=item.offered_qos)
        elif isinstance(item, _Message):
            self._writer.write(item.topic, item.received, item.data, sent=item.sent)
        else:
            self._writer.flush_if_due()
