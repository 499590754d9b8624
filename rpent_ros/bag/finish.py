"""Ends an MCAP file whose writer could not: drops what is torn and appends the index, in place.

No copy is made, so it works where a disk has run full.  What is kept is every chunk that is whole,
checksum included, with its message index.
"""

from __future__ import annotations

import dataclasses
import io
import os
import pathlib
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import yaml

from rpent_ros import files
from rpent_ros.bag import metadata
from rpent_ros.errors import BagFailed

MAGIC = b'\x89MCAP0\r\n'
_PREFIX = struct.Struct('<BQ')  # opcode and length of a record
_LARGEST_RECORD = 1 << 30  # a damaged length must not make us read for ever [bytes]
# Name of the record that rosbag2 reads the metadata from; written anew.
_ROSBAG2 = 'rosbag2'


@dataclasses.dataclass
class _Content:
    """What is whole in a file: its records, and where they end."""

    end: int
    schemas: dict[int, Any] = dataclasses.field(default_factory=dict)
    channels: dict[int, Any] = dataclasses.field(default_factory=dict)
    chunks: list[Any] = dataclasses.field(default_factory=list)
    metadata: list[Any] = dataclasses.field(default_factory=list)
    counts: Counter[int] = dataclasses.field(default_factory=Counter)
    custom: dict[str, str] = dataclasses.field(default_factory=dict)


def finish(source: pathlib.Path, custom: Mapping[str, str]) -> None:
    """Make a readable bag of an MCAP file that was not ended.

    Args:
      source: the file, in the bag's folder.
      custom: more values to store with the bag.

    Raises:
      BagFailed: it is no MCAP file, or not even its end can be written.
    """
    limit = source.stat().st_size
    while True:
        content = _scan(source, limit)
        try:
            _end(source, content, custom)
            return
        except OSError as error:
            if not content.chunks:
                raise BagFailed(
                    f'bag {source.parent}: cannot be ended: {error.strerror or error}; free some '
                    'space there'
                ) from None
            # No room for the index: the last chunk makes way for it.
            limit = content.chunks[-1].chunk_start_offset


def whole_bytes(source: pathlib.Path) -> int:
    """How far an MCAP file that was not ended is whole [bytes].

    Raises:
      BagFailed: it is no MCAP file.
    """
    return _scan(source, source.stat().st_size).end


def _scan(source: pathlib.Path, limit: int) -> _Content:
    """Read what is whole before `limit`."""
    from mcap.exceptions import McapError
    from mcap.opcode import Opcode
    from mcap.records import Chunk, MessageIndex, Metadata, MetadataIndex
    from zstandard import ZstdError

    pending: _PendingChunk | None = None
    with open(source, 'rb') as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise BagFailed(f'bag {source.parent}: expected an MCAP file, got {source.name}')
        content = _Content(file.tell())
        try:
            for opcode, begin, end, data in _records(file, limit):
                stream = _stream(data)
                if opcode == Opcode.CHUNK and pending is None:
                    pending = _PendingChunk(begin, end, Chunk.read(stream))
                elif opcode == Opcode.MESSAGE_INDEX and pending is not None:
                    pending.add(MessageIndex.read(stream).channel_id, begin, end)
                elif opcode == Opcode.METADATA and pending is None:
                    record = Metadata.read(stream)
                    if record.name == _ROSBAG2:
                        break
                    content.metadata.append(MetadataIndex(begin, end - begin, record.name))
                    content.custom.update(record.metadata)
                elif opcode != Opcode.HEADER:
                    break
                if pending is None or pending.is_complete:
                    content.end = end
                    if pending is not None:
                        pending.hand_over(content)
                        pending = None
        except (McapError, ZstdError, struct.error, ValueError):
            # The damaged end: what a killed writer leaves behind.
            pass
    return content


class _PendingChunk:
    """A chunk whose message index is still to come."""

    def __init__(self, begin: int, end: int, chunk: Any) -> None:
        from mcap.records import Channel, ChunkIndex, Message, Schema
        from mcap.stream_reader import breakup_chunk

        self.schemas: dict[int, Any] = {}
        self.channels: dict[int, Any] = {}
        self.counts: Counter[int] = Counter()
        for record in breakup_chunk(chunk, validate_crc=True):
            if isinstance(record, Schema):
                self.schemas[record.id] = record
            elif isinstance(record, Channel):
                self.channels[record.id] = record
            elif isinstance(record, Message):
                self.counts[record.channel_id] += 1
        self.index = ChunkIndex(
            chunk_length=end - begin,
            chunk_start_offset=begin,
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            message_end_time=chunk.message_end_time,
            message_index_length=0,
            message_index_offsets={},
            message_start_time=chunk.message_start_time,
            uncompressed_size=chunk.uncompressed_size,
        )

    def add(self, channel: int, begin: int, end: int) -> None:
        """Note one record of the message index."""
        self.index.message_index_offsets[channel] = begin
        self.index.message_index_length += end - begin

    @property
    def is_complete(self) -> bool:
        return self.counts.keys() <= self.index.message_index_offsets.keys()

    def hand_over(self, content: _Content) -> None:
        """Add it to what is whole."""
        content.schemas.update(self.schemas)
        content.channels.update(self.channels)
        content.counts.update(self.counts)
        content.chunks.append(self.index)


def _records(file: BinaryIO, limit: int) -> Iterator[tuple[int, int, int, bytes]]:
    """(opcode, begin, end, content) of each record that is whole before `limit`."""
    position = file.tell()
    while position + _PREFIX.size <= limit:
        opcode, length = _PREFIX.unpack(file.read(_PREFIX.size))
        end = position + _PREFIX.size + length
        if length > _LARGEST_RECORD or end > limit:
            return
        yield opcode, position, end, file.read(length)
        position = end


def _stream(data: bytes) -> Any:
    from mcap.data_stream import ReadDataStream

    return ReadDataStream(io.BytesIO(data))


def _end(source: pathlib.Path, content: _Content, custom: Mapping[str, str]) -> None:
    document = metadata.document(
        source.name,
        [
            metadata.TopicRecord(
                channel.topic,
                type=content.schemas[channel.schema_id].name,
                hash=channel.metadata.get('topic_type_hash', ''),
                offered_qos=yaml.safe_load(channel.metadata.get('offered_qos_profiles', '')) or (),
                count=content.counts[number],
            )
            for number, channel in sorted(content.channels.items())
        ],
        start=min((c.message_start_time for c in content.chunks), default=metadata.NO_TIME),
        end=max((c.message_end_time for c in content.chunks), default=0),
        custom=content.custom | dict(custom),
    )
    tail = _tail(content, document)
    with open(source, 'r+b', buffering=0) as file:
        file.truncate(content.end)
        file.seek(content.end)
        written = file.write(tail)
        if written != len(tail):
            raise OSError('the disk is full')
        os.fsync(file.fileno())
    metadata.write(source.parent, document)


def _tail(content: _Content, document: Mapping[str, Any]) -> bytes:
    """Everything after the last chunk."""
    from mcap.data_stream import RecordBuilder
    from mcap.opcode import Opcode
    from mcap.records import DataEnd, Footer, Metadata, MetadataIndex, Statistics, SummaryOffset

    data = RecordBuilder()
    Metadata(_ROSBAG2, {'serialized_metadata': files.to_yaml(document)}).write(data)
    indexes = [*content.metadata, MetadataIndex(content.end, data.count, _ROSBAG2)]
    DataEnd(0).write(data)
    before = data.end()
    begin = content.end + len(before)
    statistics = Statistics(
        attachment_count=0,
        channel_count=len(content.channels),
        channel_message_counts=dict(content.counts),
        chunk_count=len(content.chunks),
        message_count=content.counts.total(),
        message_end_time=max((c.message_end_time for c in content.chunks), default=0),
        message_start_time=min((c.message_start_time for c in content.chunks), default=0),
        metadata_count=len(indexes),
        schema_count=len(content.schemas),
    )
    summary = RecordBuilder()
    offsets = []
    for opcode, records in (
        (Opcode.SCHEMA, list(content.schemas.values())),
        (Opcode.CHANNEL, list(content.channels.values())),
        (Opcode.STATISTICS, [statistics]),
        (Opcode.CHUNK_INDEX, content.chunks),
        (Opcode.METADATA_INDEX, indexes),
    ):
        group = summary.count
        for record in records:
            record.write(summary)
        if records:
            offsets.append(SummaryOffset(opcode, begin + group, summary.count - group))
    offset_start = begin + summary.count
    for offset in offsets:
        offset.write(summary)
    middle = summary.end()
    crc = zlib.crc32(struct.pack('<BQQQ', Opcode.FOOTER, 20, begin, offset_start),
                     zlib.crc32(middle))  # fmt: skip
    footer = RecordBuilder()
    Footer(summary_start=begin, summary_offset_start=offset_start, summary_crc=crc).write(footer)
    return bytes(before + middle + footer.end() + MAGIC)
