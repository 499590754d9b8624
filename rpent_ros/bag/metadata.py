"""metadata.yaml of a bag, as rosbag2 writes it."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from rpent_ros import files

_FORMAT_VERSION = 9  # of rosbag2's metadata: the one Jazzy writes
_DISTRIBUTION = 'jazzy'
# rosbag2's starting time of an empty bag [ns].
NO_TIME = 2**63 - 1
FILE = 'metadata.yaml'


@dataclasses.dataclass(frozen=True)
class TopicRecord:
    """One topic of a bag.

    Attributes:
      name: absolute topic name.
      type: 'package/msg/Type'.
      hash: hash of the type description; '' if unknown.
      offered_qos: profile of each publisher, as rosbag2 stores it.
      count: messages.
    """

    name: str
    _: dataclasses.KW_ONLY
    type: str
    hash: str
    offered_qos: Sequence[Mapping[str, Any]]
    count: int


def document(
    file_name: str,
    topics: Sequence[TopicRecord],
    *,
    start: int,
    end: int,
    custom: Mapping[str, str],
) -> dict[str, Any]:
    """The content of metadata.yaml, in the order rosbag2 writes it.

    Args:
      file_name: name of the MCAP file in the bag's folder.
      topics: what the bag holds.
      start: receive time of the first message [ns]; NO_TIME: there is none.
      end: receive time of the last message [ns]; 0: there is none.
      custom: values to store with the bag.
    """
    extent = {
        'duration': {'nanoseconds': max(0, end - start)},
        'starting_time': {'nanoseconds_since_epoch': start},
        'message_count': sum(topic.count for topic in topics),
    }
    return {
        'version': _FORMAT_VERSION,
        'storage_identifier': 'mcap',
        **extent,
        'topics_with_message_count': [
            {
                'topic_metadata': {
                    'name': topic.name,
                    'type': topic.type,
                    'serialization_format': 'cdr',
                    'offered_qos_profiles': list(topic.offered_qos),
                    'type_description_hash': topic.hash,
                },
                'message_count': topic.count,
            }
            for topic in topics
        ],
        'compression_format': '',
        'compression_mode': '',
        'relative_file_paths': [file_name],
        'files': [{'path': file_name, **extent}],
        'custom_data': dict(custom) or None,
        'ros_distro': _DISTRIBUTION,
    }


def write(folder: pathlib.Path, metadata: Mapping[str, Any]) -> None:
    """Write metadata.yaml, atomically.

    Raises:
      OSError: it cannot be written.
    """
    text = files.to_yaml({'rosbag2_bagfile_information': dict(metadata)})
    files.write_bytes(folder / FILE, text.encode())
