"""Bags: what is written is read back, by two libraries, also after the writer was killed."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest
import yaml
from mcap.reader import make_reader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from rpent_ros.bag import BagWriter, MessageDefinition, QosProfile, load_definition, repair, verify
from rpent_ros.errors import BagFailed

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTE = MessageDefinition('notes_msgs/msg/Note', text='string text\n', hash='RIHS01_00ff')


def note(text: str) -> bytes:
    """A serialised notes_msgs/msg/Note."""
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(NOTE.text, NOTE.type))
    message = store.types[NOTE.type](text=text)
    return bytes(store.serialize_cdr(message, NOTE.type))


def write_notes(path: pathlib.Path, texts: list[str]) -> BagWriter:
    """An open bag with one topic, one message a second from t = 1 s."""
    writer = BagWriter(path, custom={'run_id': 'r1'})
    writer.add_topic('/notes', NOTE.type, definition=NOTE, offered_qos=[QosProfile(depth=5)])
    for i, text in enumerate(texts, start=1):
        writer.write('/notes', i * 10**9, note(text), sent=i * 10**9 - 1000)
    return writer


@pytest.fixture
def interfaces(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A prefix with two interface packages, one of which uses the other."""
    files = {
        'a_msgs/msg/Outer.msg': (
            '# Comment.\n\nInner[] inner\nb_msgs/Leaf leaf  # x\nstring<=5 s\n'
        ),
        'a_msgs/msg/Inner.msg': 'uint8 LIMIT=3\nfloat64[3] values\nb_msgs/Leaf leaf\n',
        'a_msgs/msg/Outer.json': (
            '{"type_hashes": [{"type_name": "a_msgs/msg/Outer", "hash_string": "RIHS01_12"}]}'
        ),
        'b_msgs/msg/Leaf.msg': 'bool flag\n',
    }
    for name, text in files.items():
        path = tmp_path / 'prefix' / 'share' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path / "prefix"}')
    load_definition.cache_clear()
    yield tmp_path / 'prefix'
    load_definition.cache_clear()


def test_definition_holds_every_nested_type_once(interfaces: pathlib.Path) -> None:
    line = '=' * 80
    assert load_definition('a_msgs/msg/Outer') == MessageDefinition(
        'a_msgs/msg/Outer',
        text=(
            '# Comment.\n\nInner[] inner\nb_msgs/Leaf leaf  # x\nstring<=5 s\n\n'
            f'{line}\nMSG: a_msgs/Inner\n'
            'uint8 LIMIT=3\nfloat64[3] values\nb_msgs/Leaf leaf\n\n'
            f'{line}\nMSG: b_msgs/Leaf\nbool flag\n'
        ),
        hash='RIHS01_12',
    )
    assert load_definition('a_msgs/msg/Inner').hash == ''


def test_definition_that_is_not_installed(interfaces: pathlib.Path) -> None:
    message = (
        'definition of c_msgs/msg/Gone: no such file in AMENT_PREFIX_PATH '
        f'(/nowhere:{interfaces}); is the package built and sourced?'
    )
    with pytest.raises(BagFailed, match=f'^{re.escape(message)}$'):
        load_definition('c_msgs/msg/Gone')


def test_written_bag_is_read_by_rosbags_and_mcap(tmp_path: pathlib.Path) -> None:
    summary = write_notes(tmp_path / 'bag', ['a', 'b', 'c']).close(custom={'dropped': '0'})
    assert (summary.counts, summary.messages) == ({'/notes': 3}, 3)
    assert (summary.start, summary.end) == (10**9, 3 * 10**9)

    with Reader(tmp_path / 'bag') as reader:
        assert [(t, bytes(d)) for _, t, d in reader.messages()] == [
            (10**9, note('a')),
            (2 * 10**9, note('b')),
            (3 * 10**9, note('c')),
        ]
    with open(tmp_path / 'bag' / 'bag_0.mcap', 'rb') as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == 'ros2'
        [(schema, channel, message), *_] = reader.iter_messages()
        assert (schema.name, schema.encoding, schema.data) == (
            'notes_msgs/msg/Note',
            'ros2msg',
            b'string text\n',
        )
        assert (channel.message_encoding, channel.metadata['topic_type_hash']) == (
            'cdr',
            'RIHS01_00ff',
        )
        assert (message.log_time, message.publish_time) == (10**9, 10**9 - 1000)


def test_metadata_has_the_fields_that_rosbag2_reads(tmp_path: pathlib.Path) -> None:
    write_notes(tmp_path / 'bag', ['a', 'b']).close(custom={'dropped': '0'})
    text = (tmp_path / 'bag' / 'metadata.yaml').read_text()
    # The same values occur in several places; each is written out.
    assert '&' not in text
    assert '*' not in text
    infinite = {'sec': 9223372036, 'nsec': 854775807}
    assert yaml.safe_load(text) == {
        'rosbag2_bagfile_information': {
            'version': 9,
            'storage_identifier': 'mcap',
            'duration': {'nanoseconds': 10**9},
            'starting_time': {'nanoseconds_since_epoch': 10**9},
            'message_count': 2,
            'topics_with_message_count': [
                {
                    'topic_metadata': {
                        'name': '/notes',
                        'type': 'notes_msgs/msg/Note',
                        'serialization_format': 'cdr',
                        'offered_qos_profiles': [
                            {
                                'history': 'keep_last',
                                'depth': 5,
                                'reliability': 'reliable',
                                'durability': 'volatile',
                                'deadline': infinite,
                                'lifespan': infinite,
                                'liveliness': 'automatic',
                                'liveliness_lease_duration': infinite,
                                'avoid_ros_namespace_conventions': False,
                            }
                        ],
                        'type_description_hash': 'RIHS01_00ff',
                    },
                    'message_count': 2,
                }
            ],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': ['bag_0.mcap'],
            'files': [
                {
                    'path': 'bag_0.mcap',
                    'duration': {'nanoseconds': 10**9},
                    'starting_time': {'nanoseconds_since_epoch': 10**9},
                    'message_count': 2,
                }
            ],
            'custom_data': {'run_id': 'r1', 'dropped': '0'},
            'ros_distro': 'jazzy',
        }
    }


def test_verify_counts_and_keeps_the_stored_values(tmp_path: pathlib.Path) -> None:
    writer = write_notes(tmp_path / 'bag', ['a', 'b'])
    writer.add_topic('/silent', NOTE.type, definition=NOTE)
    closed = writer.close()
    assert verify(tmp_path / 'bag') == closed
    assert closed.counts == {'/notes': 2, '/silent': 0}
    assert closed.custom == {'run_id': 'r1'}


def test_empty_bag_is_readable(tmp_path: pathlib.Path) -> None:
    closed = write_notes(tmp_path / 'bag', []).close()
    assert verify(tmp_path / 'bag') == closed
    assert (closed.messages, closed.start, closed.end) == (0, 0, 0)


def test_verify_refuses_a_message_of_another_type(tmp_path: pathlib.Path) -> None:
    writer = write_notes(tmp_path / 'bag', ['a'])
    writer.write('/notes', 5 * 10**9, b'\x00\x01\x00\x00\xff\xff\xff\x7fno')
    writer.close()
    with pytest.raises(BagFailed, match=r': a message of /notes is no notes_msgs/msg/Note: '):
        verify(tmp_path / 'bag')


def test_verify_refuses_a_flipped_bit(tmp_path: pathlib.Path) -> None:
    write_notes(tmp_path / 'bag', ['a' * 1000]).close()
    file = tmp_path / 'bag' / 'bag_0.mcap'
    data = bytearray(file.read_bytes())
    at = data.index(b'\x28\xb5\x2f\xfd') + 20  # inside the zstd frame of the only chunk
    data[at] ^= 0x40
    file.write_bytes(data)
    with pytest.raises(BagFailed, match=r'bag: cannot be read: '):
        verify(tmp_path / 'bag')


@pytest.mark.parametrize(
    'misuse, message',
    [
        (
            lambda w: w.write('/other', 1, b''),
            'bag topic /other: expected add_topic before write',
        ),
        (
            lambda w: w.add_topic('/notes', 'x_msgs/msg/X', definition=NOTE),
            'bag topic /notes: expected type notes_msgs/msg/Note, got x_msgs/msg/X',
        ),
        (
            lambda w: w.add_topic('/new', 'notes_msgs/Note'),
            "message type: expected package/msg/Type, got 'notes_msgs/Note'",
        ),
    ],
)
def test_misuse(
    tmp_path: pathlib.Path, misuse: Callable[[BagWriter], None], message: str
) -> None:
    writer = write_notes(tmp_path / 'bag', [])
    with pytest.raises(BagFailed, match=f'^{re.escape(message)}$'):
        misuse(writer)
    writer.close()


def test_existing_folder_is_refused(tmp_path: pathlib.Path) -> None:
    message = f'bag {tmp_path}: expected a new folder, but it exists; choose another one'
    with pytest.raises(BagFailed, match=f'^{re.escape(message)}$'):
        BagWriter(tmp_path)


def test_repair_leaves_an_intact_bag_alone(tmp_path: pathlib.Path) -> None:
    write_notes(tmp_path / 'bag', ['a']).close()
    before = (tmp_path / 'bag' / 'bag_0.mcap').read_bytes()
    assert repair(tmp_path / 'bag').custom == {'run_id': 'r1'}
    assert (tmp_path / 'bag' / 'bag_0.mcap').read_bytes() == before


def test_repair_of_a_bag_without_metadata_loses_nothing(tmp_path: pathlib.Path) -> None:
    write_notes(tmp_path / 'bag', ['a', 'b']).close()
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    summary = repair(tmp_path / 'bag')
    assert summary.counts == {'/notes': 2}
    assert summary.custom == {'run_id': 'r1', 'repaired': 'true', 'bytes_lost': '0'}
    assert sorted(p.name for p in tmp_path.iterdir()) == ['bag']


def test_repair_keeps_everything_before_the_cut(tmp_path: pathlib.Path) -> None:
    """A file cut at any byte gives a readable bag with a prefix of the messages."""
    clock = iter(range(1000)).__next__  # every write is due for a flush
    writer = BagWriter(tmp_path / 'bag', clock=clock)
    writer.add_topic('/notes', NOTE.type, definition=NOTE, offered_qos=[QosProfile()])
    for i in range(1, 5):
        writer.write('/notes', i, note(f'text {i}'))
    writer._file.flush()
    data = (tmp_path / 'bag' / 'bag_0.mcap').read_bytes()
    writer.close()
    kept = []
    for cut in range(120, len(data) + 1, 17):
        folder = tmp_path / f'cut{cut}' / 'bag'
        folder.mkdir(parents=True)
        (folder / 'bag_0.mcap').write_bytes(data[:cut])
        kept.append(repair(folder).messages)
        with Reader(folder) as reader:
            times = [t for _, t, _ in reader.messages()]
        assert times == list(range(1, kept[-1] + 1))
    assert kept == sorted(kept)
    assert {0, 1, 2, 3} <= set(kept)


def test_killed_writer_loses_at_most_one_flush_period(tmp_path: pathlib.Path) -> None:
    code = """
    import os, signal, sys
    sys.path.insert(0, 'test/unit')
    import pathlib
    from test_bag import note, write_notes
    now = [0.0]
    writer = write_notes(pathlib.Path(sys.argv[1]), [])
    writer._clock = lambda: now[0]
    writer._flushed_at = 0.0
    for i in range(1, 11):
        now[0] = i * 0.4
        writer.write('/notes', i, note(str(i)))
    os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code), str(tmp_path / 'bag')],
        cwd=ROOT,
        env=os.environ | {'PYTHONPATH': str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    summary = repair(tmp_path / 'bag')
    # Flushed at 1.2, 2.4 and 3.6 s, that is with messages 3, 6 and 9.
    assert summary.counts == {'/notes': 9}
    assert summary.custom['repaired'] == 'true'
    assert summary.custom['run_id'] == 'r1'


def test_repair_without_a_bag(tmp_path: pathlib.Path) -> None:
    message = f'bag {tmp_path}: expected {tmp_path.name}_0.mcap in it, found none'
    with pytest.raises(BagFailed, match=f'^{re.escape(message)}$'):
        repair(tmp_path)
    shutil.rmtree(tmp_path)
