"""Writes a bag so that little is lost when the writer is killed.

Whatever came in is handed to the operating system after at most `flush_period` seconds, in
self-contained chunks, so that `repair` can rebuild the bag from what is on disk.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from rpent_ros import __version__
from rpent_ros.bag.definitions import MessageDefinition, load_definition
from rpent_ros.bag.records import BagSummary, QosProfile
from rpent_ros.errors import BagFailed

_FORMAT_VERSION = 9  # of rosbag2's metadata: the one Jazzy writes
_DISTRIBUTION = 'jazzy'
_NO_TIME = 2**63 - 1  # rosbag2's starting time of an empty bag
_CHUNK_BYTES = 1 << 20


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
        self._start, self._end = _NO_TIME, 0
        try:
            self.path.mkdir(parents=True)
            self._file = open(self.path / f'{self.path.name}_0.mcap', 'xb')  # noqa: SIM115
        except FileExistsError:
            raise BagFailed(
                f'bag {self.path}: expected a new folder, but it exists; choose another one'
            ) from None
        except OSError as error:
            raise BagFailed(f'bag {self.path}: cannot be created: {error.strerror}') from None
        self._mcap = Writer(
            self._file, chunk_size=_CHUNK_BYTES, compression=CompressionType.ZSTD
        )
        self._mcap.start(profile='ros2', library=f'rpent_ros {__version__}')
        # Written first too, because a killed writer never gets to the end of the file.
        self._mcap.add_metadata('rpent_ros', self._custom)
        self._file.flush()

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
            {'offered_qos_profiles': _yaml(qos), 'topic_type_hash': definition.hash},
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
            raise BagFailed(f'bag {self.path}: cannot be written: {error.strerror}') from None
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
            raise BagFailed(f'bag {self.path}: cannot be written: {error.strerror}') from None

    def close(self, *, custom: Mapping[str, str] | None = None) -> BagSummary:
        """Write index and metadata.  Safe to call twice.

        Args:
          custom: more values to store with the bag.

        Raises:
          BagFailed: the disk refuses.
        """
        if not self._file.closed:
            self._custom.update(custom or {})
            metadata = self._metadata()
            try:
                self._mcap.add_metadata('rosbag2', {'serialized_metadata': _yaml(metadata)})
                self._mcap.finish()
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                _write_metadata(self.path, metadata)
            except OSError as error:
                raise BagFailed(f'bag {self.path}: cannot be closed: {error.strerror}') from None
        empty = self._start == _NO_TIME
        return BagSummary(
            self.path,
            counts={name: topic.count for name, topic in self._topics.items()},
            types={name: topic.definition.type for name, topic in self._topics.items()},
            start=0 if empty else self._start,
            end=self._end,
            custom=dict(self._custom),
        )

    def _metadata(self) -> dict[str, Any]:
        """The content of metadata.yaml, in the order rosbag2 writes it."""
        file_name = pathlib.Path(self._file.name).name
        return {
            'version': _FORMAT_VERSION,
            'storage_identifier': 'mcap',
            **self._extent(),
            'topics_with_message_count': [
                {
                    'topic_metadata': {
                        'name': name,
                        'type': topic.definition.type,
                        'serialization_format': 'cdr',
                        'offered_qos_profiles': topic.qos,
                        'type_description_hash': topic.definition.hash,
                    },
                    'message_count': topic.count,
                }
                for name, topic in self._topics.items()
            ],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': [file_name],
            'files': [{'path': file_name, **self._extent()}],
            'custom_data': self._custom or None,
            'ros_distro': _DISTRIBUTION,
        }

    def _extent(self) -> dict[str, Any]:
        return {
            'duration': {'nanoseconds': max(0, self._end - self._start)},
            'starting_time': {'nanoseconds_since_epoch': self._start},
            'message_count': sum(topic.count for topic in self._topics.values()),
        }


def _yaml(value: Any) -> str:

    return str(yaml.safe_dump(value, sort_keys=False))


def _write_metadata(folder: pathlib.Path, metadata: Mapping[str, Any]) -> None:
    text = _yaml({'rosbag2_bagfile_information': dict(metadata)})
    partial = folder / '.metadata.yaml.part'
    partial.write_text(text)
    os.replace(partial, folder / 'metadata.yaml')
