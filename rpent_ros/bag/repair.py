"""Rebuilds the bag of a writer that was killed."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from rpent_ros.bag.definitions import MessageDefinition
from rpent_ros.bag.records import BagSummary, QosProfile
from rpent_ros.bag.verify import verify
from rpent_ros.bag.writer import BagWriter
from rpent_ros.errors import BagFailed

_MAGIC = b'\x89MCAP0\r\n'
_LARGEST_RECORD = 1 << 30  # a damaged length field must not make us read for ever [bytes]


def repair(path: str | os.PathLike[str]) -> BagSummary:
    """Make a bag readable whose writer was killed; an intact bag is left alone.

    Everything up to the first damaged record is kept.  The summary's `custom` then says
    'repaired' and how many bytes at the end were lost.

    Raises:
      BagFailed: there is no bag, or nothing in it can be read.
    """
    folder = pathlib.Path(path)
    source = folder / f'{folder.name}_0.mcap'
    if not source.is_file():
        raise BagFailed(f'bag {folder}: expected {source.name} in it, found none')
    if (folder / 'metadata.yaml').is_file() and _is_complete(source):
        return verify(folder)
    scratch = folder.with_name(f'.{folder.name}.repair') / folder.name
    _remove_bag(scratch)
    writer = BagWriter(scratch, flush_period=60.0)
    custom = _copy_records(source, writer)
    writer.close(custom=custom | {'repaired': 'true'})
    os.replace(scratch / source.name, source)
    os.replace(scratch / 'metadata.yaml', folder / 'metadata.yaml')
    _remove_bag(scratch)
    return verify(folder)


def _copy_records(source: pathlib.Path, writer: BagWriter) -> dict[str, str]:
    """Copy all readable messages; returns the values stored with the bag and the bytes lost."""
    from mcap.records import Channel, Message, Metadata, Schema

    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    custom: dict[str, str] = {}
    end = 0
    for offset, record in _records(source):
        end = offset
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            if record.id not in channels:
                channels[record.id] = record
                _add_channel(writer, record, schemas[record.schema_id])
        elif isinstance(record, Message):
            writer.write(
                channels[record.channel_id].topic,
                record.log_time,
                record.data,
                sent=record.publish_time,
            )
        elif isinstance(record, Metadata) and record.name == 'rpent_ros':
            custom.update(record.metadata)
    lost = 0 if _is_complete(source) else source.stat().st_size - end
    return custom | {'bytes_lost': str(lost)}


def _add_channel(writer: BagWriter, channel: Any, schema: Any) -> None:
    definition = MessageDefinition(
        schema.name,
        text=schema.data.decode(),
        hash=channel.metadata.get('topic_type_hash', ''),
    )
    profiles = yaml.safe_load(channel.metadata.get('offered_qos_profiles', '')) or ()
    writer.add_topic(
        channel.topic,
        schema.name,
        definition=definition,
        offered_qos=[_qos_from_rosbag2(profile) for profile in profiles],
    )


def _records(source: pathlib.Path) -> Iterator[tuple[int, Any]]:
    """(offset behind the record, record) up to the end or the first damaged record."""
    from mcap.exceptions import McapError
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader, breakup_chunk
    from zstandard import ZstdError

    with open(source, 'rb') as file:
        reader = StreamReader(file, emit_chunks=True, record_size_limit=_LARGEST_RECORD)
        try:
            for record in reader.records:
                for part in (
                    breakup_chunk(record, validate_crc=True)
                    if isinstance(record, Chunk)
                    else (record,)
                ):
                    yield file.tell(), part
        except (McapError, ZstdError, struct.error, ValueError):
            # The damaged end: what a killed writer leaves behind.
            return


def _is_complete(source: pathlib.Path) -> bool:
    """True if the file ends as a closed MCAP file does."""
    with open(source, 'rb') as file:
        file.seek(0, os.SEEK_END)
        if file.tell() < 2 * len(_MAGIC):
            return False
        file.seek(-len(_MAGIC), os.SEEK_END)
        return file.read() == _MAGIC


def _remove_bag(folder: pathlib.Path) -> None:
    shutil.rmtree(folder.parent, ignore_errors=True)


def _qos_from_rosbag2(profile: Mapping[str, Any]) -> QosProfile:
    values = {}
    for field in dataclasses.fields(QosProfile):
        value = profile[field.name]
        values[field.name] = (
            value['sec'] * 10**9 + value['nsec'] if isinstance(value, Mapping) else value
        )
    return QosProfile(**values)
