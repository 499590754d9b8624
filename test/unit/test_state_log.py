"""The state log survives a crash and never overwrites."""

import numpy as np
import pytest

from rpent_ros.errors import InvalidRequest
from rpent_ros.state_log import StateLog, read_state_log, state_logs


def write(log, rows, episode=1):
    log.begin(
        {'episode': episode, 'suite': 's'}, stamp=1_500_000_000, action_size=2, state=np.zeros(3)
    )
    for n in range(rows):
        log.append(
            2_000_000_000 + n, np.array([n, -n]), np.array([0.1, 0.2, n]), held=n == 1
        )


def test_what_is_written_is_read(tmp_path):
    log = StateLog(tmp_path)
    write(log, 2)
    # Not closed: every row must be in the file already.
    back = read_state_log(log.path)
    assert back.header == {'episode': 1, 'suite': 's', 'action_size': 2, 'state_size': 3}
    np.testing.assert_allclose(back.times, [1.5, 2.0, 2.000000001])
    assert back.held.tolist() == [False, False, True]
    assert np.isnan(back.actions[0]).all()
    np.testing.assert_array_equal(back.actions[1:], [[0, 0], [1, -1]])
    np.testing.assert_array_equal(back.states, [[0, 0, 0], [0.1, 0.2, 0], [0.1, 0.2, 1]])


@pytest.mark.parametrize('lost', [1, 8, 55])
def test_a_torn_last_row_is_dropped(tmp_path, lost):
    log = StateLog(tmp_path)
    write(log, 3)
    log.close()
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-lost])
    assert read_state_log(log.path).states.shape == (3, 3)


def test_one_file_per_episode_and_none_overwritten(tmp_path):
    first = StateLog(tmp_path)
    write(first, 1, episode=1)
    write(first, 2, episode=2)
    restarted = StateLog(tmp_path)
    write(restarted, 3, episode=1)
    assert [p.name for p in state_logs(tmp_path)] == [
        'states_0001.bin', 'states_0002.bin', 'states_0003.bin'
    ]  # fmt: skip
    assert [len(read_state_log(p).times) for p in state_logs(tmp_path)] == [2, 3, 4]
    assert read_state_log(restarted.path).header['episode'] == 1


def test_nothing_happens_after_closing(tmp_path):
    log = StateLog(tmp_path)
    write(log, 1)
    log.close()
    log.append(0, np.zeros(2), np.zeros(3))
    assert len(read_state_log(log.path).times) == 2


def test_other_files_are_refused(tmp_path):
    path = tmp_path / 'states_0001.bin'
    path.write_bytes(b'something else')
    with pytest.raises(InvalidRequest) as caught:
        read_state_log(path)
    assert str(caught.value) == (
        f'{path}: expected a file of simulator states that begins with RPENT-STATES 2, got '
        'something else'
    )


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / 'file').write_text('')
    folder = tmp_path / 'file' / 'below'
    with pytest.raises(InvalidRequest) as caught:
        write(StateLog(folder), 1)
    assert str(caught.value) == (
        f'state_log_dir {folder}: Not a directory; choose a folder that can be written to'
    )
