"""A recording under way: background writing, a bounded queue, and failures that are told."""

import os
import pathlib
import threading
from typing import Any

import pytest

from rpent_ros.bag import BagWriter, MessageDefinition, QosProfile, Recording, recording, verify
from rpent_ros.errors import BagFailed

NOTE = 'notes_msgs/msg/Note'
MESSAGE = b'\x00\x01\x00\x00\x02\x00\x00\x00a\x00'


@pytest.fixture(autouse=True)
def installed_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The type's definition, as if its package were installed."""
    from rpent_ros.bag import writer

    monkeypatch.setattr(
        writer, 'load_definition', lambda name: MessageDefinition(name, text='string text\n')
    )


class Gate:
    """Holds the writer back, as a slow disk would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.reached = threading.Event()
        write = BagWriter.write

        def slow(*args: Any, **kwargs: Any) -> None:
            self.reached.set()
            assert self.open.wait(20)
            write(*args, **kwargs)

        monkeypatch.setattr(BagWriter, 'write', slow)


def test_messages_reach_the_bag_in_order(tmp_path: pathlib.Path) -> None:
    rec = Recording(tmp_path / 'bag', run_id='r1')
    assert not rec.knows('/a')
    rec.add_topic('/a', NOTE, [QosProfile()])
    rec.add_topic('/b', NOTE)
    for i in range(1, 101):
        assert rec.write('/a' if i % 4 else '/b', i, MESSAGE)
    summary = rec.stop()
    assert rec.knows('/a')
    assert summary.counts == {'/a': 75, '/b': 25}
    assert (summary.start, summary.end) == (1, 100)
    assert summary.custom == {'run_id': 'r1', 'dropped': '0'}
    assert verify(rec.path) == summary


def test_what_does_not_fit_is_dropped_and_counted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    rec = Recording(tmp_path / 'bag', queue_bytes=3 * len(MESSAGE))
    rec.add_topic('/a', NOTE)
    rec.add_topic('/b', NOTE)
    assert rec.write('/a', 1, MESSAGE)
    assert gate.reached.wait(20)  # the first one is out of the queue, on its way to the disk
    assert [rec.write('/a', i, MESSAGE) for i in range(2, 6)] == [True, True, True, False]
    assert not rec.write('/b', 6, MESSAGE)
    assert rec.dropped == {'/a': 1, '/b': 1}
    gate.open.set()
    summary = rec.stop()
    assert summary.counts == {'/a': 4, '/b': 0}
    assert summary.custom['dropped'] == '2'


def test_full_disk_is_told_and_the_bag_stays_readable(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    rec = Recording(tmp_path / 'bag')
    rec.add_topic('/a', NOTE)
    rec.write('/a', 1, MESSAGE)
    assert gate.reached.wait(20)
    rec.write('/a', 2, MESSAGE)
    rec.write('/a', 3, MESSAGE)

    def fail(*_: Any, **__: Any) -> None:
        raise BagFailed('bag: cannot be written: No space left on device')

    monkeypatch.setattr(BagWriter, 'write', fail)
    gate.open.set()
    with pytest.raises(BagFailed, match=r'^bag: cannot be written: No space left on device$'):
        rec.stop()
    assert str(rec.error) == 'bag: cannot be written: No space left on device'
    assert rec.dropped == {'/a': 2}
    summary = verify(tmp_path / 'bag')
    assert summary.counts == {'/a': 1}
    assert summary.custom['dropped'] == '2'


def test_quiet_times_are_flushed_too(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, '_IDLE_FLUSH_S', 0.01)
    rec = Recording(tmp_path / 'bag', flush_period=0.05)
    rec.add_topic('/a', NOTE)
    rec.write('/a', 1, MESSAGE)
    file = tmp_path / 'bag' / 'bag_0.mcap'
    for _ in range(500):
        if b'notes_msgs' in file.read_bytes() or b'\x28\xb5\x2f\xfd' in file.read_bytes():
            break
        threading.Event().wait(0.02)
    else:
        pytest.fail('the message never reached the disk')
    rec.stop()


def test_nothing_is_taken_after_the_end(tmp_path: pathlib.Path) -> None:
    rec = Recording(tmp_path / 'bag')
    rec.add_topic('/a', NOTE)
    rec.stop()
    assert not rec.write('/a', 1, MESSAGE)


def test_folder_that_cannot_be_made() -> None:
    if os.geteuid() == 0:
        path = '/proc/bag'
    else:
        path = '/bag'
    with pytest.raises(BagFailed, match=rf'^bag {path}: cannot be created: '):
        Recording(path)
