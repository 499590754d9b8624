"""Writes a bag so that little is lost when the writer is killed.

Whatever came in is handed to the operating system after at most `flush_period` seconds, in
self-contained chunks, so that `repair` can end the bag from what is on disk.  Some space is kept
in reserve, so that a bag whose disk runs full can still be ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpent_ros import __version__, files
from rpent_ros.bag import metadata
from rpent_ros.bag.definitions import MessageDefinition, load_definition
from rpent_ros.bag.finish import finish
from rpent_ros.bag.records import BagSummary, QosProfile
from rpent_ros.errors import BagFailed

_CHUNK_BYTES = 1 << 20
# File that takes up space in the bag's folder until the end: index and metadata need it.
RESERVE = '.reserve.part'
_RESERVE_BYTES = 1 << 18


@dataclasses.dataclass
class _Topic:
    definition: MessageDefinition
    qos: list[dict[str, Any]]
    channel: int
    count: int = 0


class BagWriter:
    """Writes one bag.  Not thread-safe: one thread calls everything.

    Args:
      path: folder to create; it must not exist.
      custom: values to store with the bag, e.g. {'run_id': ...}.
      flush_period: longest time that a message waits in memory [s].
      clock: monotonic time [s].

    Raises:
      BagFailed: the folder exists or cannot be created.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        custom: Mapping[str, str] | None = None,
        flush_period: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from mcap.writer import CompressionType, Writer

        self.path = pathlib.Path(path)
        self._custom = dict(custom or {})
        self._clock = clock
        self._flush_period = flush_period
        self._flushed_at = clock()
        self._topics: dict[str, _Topic] = {}
        self._schemas: dict[str, int] = {}
        self._start, self._end = metadata.NO_TIME, 0
        self._failure: BagFailed | None = None
        try:
            self.path.mkdir(parents=True)
            _reserve(self.path / RESERVE)
            self._file = open(self.path / f'{self.path.name}_0.mcap', 'xb')  # noqa: SIM115
        except FileExistsError:
            raise BagFailed(
                f'bag {self.path}: expected a new folder, but it exists; choose another one'
            ) from None
        except OSError as error:
            raise BagFailed(
                f'bag {self.path}: cannot be created: {error.strerror or error}; free some space '
                'there, or choose another folder'
            ) from None
        self._mcap = Writer(
            self._file, chunk_size=_CHUNK_BYTES, compression=CompressionType.ZSTD
        )
        try:
            self._mcap.start(profile='ros2', library=f'rpent_ros {__version__}')
            # Written first too, because a killed writer never gets to the end of the file.
            self._mcap.add_metadata('rpent_ros', self._custom)
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None

    def add_topic(
        self,
        name: str,
        type_name: str,
        *,
        definition: MessageDefinition | None = None,
        offered_qos: Sequence[QosProfile] = (),
    ) -> None:
        """Make a topic known; a topic that is known already is left as it is.

        Args:
          name: absolute topic name.
          type_name: 'package/msg/Type'.
          definition: its definition; None reads it from the installed interface files.
          offered_qos: profile of each publisher.

        Raises:
          BagFailed: the definition is not installed, or the topic is known with another type.
        """
        known = self._topics.get(name)
        if known is not None:
            if known.definition.type != type_name:
                raise BagFailed(
                    f'bag topic {name}: expected type {known.definition.type}, got {type_name}'
                )
            return
        definition = definition or load_definition(type_name)
        if type_name not in self._schemas:
            self._schemas[type_name] = self._mcap.register_schema(
                type_name, 'ros2msg', definition.text.encode()
            )
        qos = [profile.as_rosbag2() for profile in offered_qos]
        channel = self._mcap.register_channel(
            name,
            'cdr',
            self._schemas[type_name],
            {'offered_qos_profiles': files.to_yaml(qos), 'topic_type_hash': definition.hash},
        )
        self._topics[name] = _Topic(definition, qos, channel)

    def write(self, topic: str, received: int, data: bytes, *, sent: int | None = None) -> None:
        """Append one message.

        Args:
          topic: a name given to `add_topic`.
          received: when it arrived [ns].
          data: serialised message (CDR with its 4-byte header).
          sent: when it was published [ns]; None: unknown, the same as `received`.

        Raises:
          BagFailed: unknown topic, or the disk refuses.
        """
        entry = self._topics.get(topic)
        if entry is None:
            raise BagFailed(f'bag topic {topic}: expected add_topic before write')
        try:
            self._mcap.add_message(
                entry.channel, received, data, sent or received, sequence=entry.count
            )
        except OSError as error:
            raise self._failed(error) from None
        entry.count += 1
        self._start, self._end = min(self._start, received), max(self._end, received)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Hand everything to the operating system if `flush_period` has passed."""
        now = self._clock()
        if now - self._flushed_at < self._flush_period:
            return
        self._flushed_at = now
        try:
            self._mcap.flush()
        except OSError as error:
            raise self._failed(error) from None

    def close(self, *, custom: Mapping[str, str] | None = None) -> BagSummary:
        """Write index and metadata.  Safe to call twice.

        Args:
          custom: more values to store with the bag.

        Raises:
          BagFailed: the disk refused something; the bag is ended where it is whole.
        """
        if not self._file.closed:
            self._custom.update(custom or {})
            (self.path / RESERVE).unlink(missing_ok=True)
            if self._failure is None:
                self._finish()
            # After a failure it still wants to write what it holds.
            with contextlib.suppress(OSError):
                self._file.close()
            if self._failure is not None:
                finish(pathlib.Path(self._file.name), self._custom)
        if self._failure is not None:
            raise self._failure
        empty = self._start == metadata.NO_TIME
        return BagSummary(
            self.path,
            counts={name: topic.count for name, topic in self._topics.items()},
            types={name: topic.definition.type for name, topic in self._topics.items()},
            start=0 if empty else self._start,
            end=self._end,
            custom=dict(self._custom),
        )

    def _finish(self) -> None:
        """Write everything behind the messages; a failure is noted."""
        document = self._metadata()
        try:
            # The chunk in progress first: behind the metadata there shall be no message.
            self._mcap.flush()
            self._mcap.add_metadata('rosbag2', {'serialized_metadata': files.to_yaml(document)})
            self._mcap.finish()
            self._file.flush()
            os.fsync(self._file.fileno())
            metadata.write(self.path, document)
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> BagFailed:
        """Note that the file is no longer whole; returns what to tell about it."""
        self._failure = self._failure or BagFailed(
            f'bag {self.path}: cannot be written: {error.strerror or error}; free some space '
            'there; what was written before is readable'
        )
        return self._failure

    def _metadata(self) -> dict[str, Any]:
        return metadata.document(
            pathlib.Path(self._file.name).name,
            [
                metadata.TopicRecord(
                    name,
                    type=topic.definition.type,
                    hash=topic.definition.hash,
                    offered_qos=topic.qos,
                    count=topic.count,
                )
                for name, topic in self._topics.items()
            ],
            start=self._start,
            end=self._end,
            custom=self._custom,
        )


def _reserve(path: pathlib.Path) -> None:
    """Make a file that really takes up space."""
    with open(path, 'wb') as file:
        os.posix_fallocate(file.fileno(), 0, _RESERVE_BYTES)
