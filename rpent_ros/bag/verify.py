"""Reads a bag back with the same library that users read it with."""

from __future__ import annotations

import os
import pathlib
import struct
from collections import Counter

import yaml

from rpent_ros.bag.records import BagSummary
from rpent_ros.errors import BagFailed


def verify(path: str | os.PathLike[str]) -> BagSummary:
    """Read a bag back: every message's header and checksum, and the content of two per topic.

    Raises:
      BagFailed: it cannot be read, or holds another number of messages than its metadata says.
    """
    # The decompressor that rosbags uses; it does not translate its errors.
    from backports.zstd import ZstdError
    from rosbags.rosbag2 import Reader
    from rosbags.rosbag2.errors import ReaderError
    from rosbags.serde import SerdeError
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    counts: Counter[str] = Counter()
    types: dict[str, str] = {}
    samples: dict[str, list[tuple[str, bytes]]] = {}
    try:
        with Reader(path) as reader:
            store = get_typestore(Stores.EMPTY)
            for connection in reader.connections:
                counts[connection.topic] += 0
                types[connection.topic] = connection.msgtype
                store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
            for connection, _, data in reader.messages():
                counts[connection.topic] += 1
                kept = samples.setdefault(connection.topic, [])
                kept[1:] = [(connection.msgtype, bytes(data))]
            for topic, kept in samples.items():
                for msgtype, data in kept:
                    try:
                        store.deserialize_cdr(data, msgtype)
                    except (SerdeError, struct.error, IndexError, ValueError) as error:
                        raise BagFailed(
                            f'bag {path}: a message of {topic} is no {msgtype}: {error}'
                        ) from None
            declared, total = reader.message_count, sum(counts.values())
            if declared != total:
                raise BagFailed(
                    f'bag {path}: expected {declared} messages as its metadata says, '
                    f'read {total}; the file is damaged'
                )
            return BagSummary(
                pathlib.Path(path),
                counts=dict(counts),
                types=types,
                start=reader.start_time if total else 0,
                end=reader.end_time - 1 if total else 0,
                custom=_stored_values(pathlib.Path(path)),
            )
    except (ReaderError, ZstdError, OSError) as error:
        raise BagFailed(f'bag {path}: cannot be read: {error}') from None


def _stored_values(folder: pathlib.Path) -> dict[str, str]:

    metadata = yaml.safe_load((folder / 'metadata.yaml').read_text())
    return dict(metadata['rosbag2_bagfile_information'].get('custom_data') or {})
