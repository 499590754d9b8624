"""The simulator's state after every control step, in a file that survives a crash.

From it an episode can be rendered afterwards, at any size and from any camera, and its actions can
be played again.

File format: the line `RPENT-STATES 2`, one line of JSON (the header), then rows of little-endian
float64 until the end.  A row is the driver's clock [s since the epoch], 1 if the robot was told to
hold since the row before (which may change its controller's goal) or else 0, the action that was
sent (D values, NaN in the first row, which is the state after reset), and the simulator's state (N
values, simulator time [s] first).  The header has `action_size` D and `state_size` N besides
everything that is needed to rebuild the scene.  Each row is one write, so a killed driver leaves
at most one torn row, which the reader drops; a full disk ends the log after its last whole row.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pathlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import InvalidRequest

Vector = NDArray[np.float64]

LOG = logging.getLogger('rpent_ros.state_log')

_MAGIC = b'RPENT-STATES 2\n'
# Values of a row before its action: time, hold.
_LEADING = 2


class StateLog:
    """Writes one file per episode into a folder: states_<episode>.bin, four digits.

    A file that exists is left alone and the next free number is taken; the header has the episode.
    """

    def __init__(self, folder: pathlib.Path | str) -> None:
        self._folder = pathlib.Path(folder)
        self._file: BinaryIO | None = None
        self._action_size = 0
        self.path: pathlib.Path | None = None

    def begin(
        self, header: Mapping[str, Any], *, stamp: int, action_size: int, state: Vector
    ) -> None:
        """Close the file of the last episode and start one with the state after reset.

        Args:
          header: facts of the episode, JSON values; has 'episode'.
          stamp: driver's clock [ns].
          action_size: values per action.
          state: (N,) simulator state.

        Raises:
          InvalidRequest: the folder cannot be written to.
        """
        self.close()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file, self.path = self._open(int(header['episode']))
        except OSError as error:
            raise InvalidRequest(
                f'state_log_dir {self._folder}: {error.strerror}; choose a folder that can be '
                'written to'
            ) from None
        self._action_size = action_size
        sizes = {'action_size': action_size, 'state_size': int(state.size)}
        text = json.dumps({**header, **sizes}, sort_keys=True)
        self._write(_MAGIC + text.encode() + b'\n')
        self.append(stamp, np.full(action_size, np.nan), state)

    def append(self, stamp: int, action: Vector, state: Vector, *, held: bool = False) -> None:
        """Add the state after one control step; without an open file, do nothing.

        A disk that is full must not stop a robot: the log ends there, and says so once.

        Args:
          stamp: driver's clock [ns].
          action: (D,) values sent.
          state: (N,) simulator state.
          held: the robot was told to hold since the row before.
        """
        row = np.empty(_LEADING + self._action_size + state.size, '<f8')
        row[0] = stamp * 1e-9
        row[1] = held
        row[_LEADING : _LEADING + self._action_size] = action
        row[_LEADING + self._action_size :] = state
        self._write(row.tobytes())

    def close(self) -> None:
        """Close the file, if one is open."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, data: bytes) -> None:
        """Write all of it, or nothing and end the log."""
        if self._file is None:
            return
        size = os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(data)
            if written != len(data):
                # The last free bytes took the beginning of it.
                raise OSError('the disk is full')
        except OSError as error:
            LOG.error(
                '%s cannot be written: %s; the simulator states of this episode are not logged '
                'any further, the robot goes on', self.path, error.strerror or error,
            )  # fmt: skip
            os.ftruncate(self._file.fileno(), size)
            self.close()

    def _open(self, number: int) -> tuple[BinaryIO, pathlib.Path]:
        while True:
            path = self._folder / f'states_{number:04d}.bin'
            try:
                # Unbuffered: a row is in the kernel's hands as soon as it is written.
                return open(path, 'xb', buffering=0), path
            except FileExistsError:
                number += 1


@dataclasses.dataclass(frozen=True)
class RecordedStates:
    """One episode: row 0 is the state after reset, row n the one after n control steps.

    Attributes:
      path: the file.
      header: facts of the episode.
      times: (T,) driver's clock [s since the epoch].
      held: (T,) True where the robot was told to hold since the row before.
      actions: (T, D) actions sent; NaN in row 0.
      states: (T, N) simulator states.
    """

    path: pathlib.Path
    _: dataclasses.KW_ONLY
    header: Mapping[str, Any]
    times: Vector
    held: NDArray[np.bool_]
    actions: Vector
    states: Vector


def read_state_log(path: pathlib.Path | str) -> RecordedStates:
    """Read an episode back; a torn last row is dropped.

    Raises:
      InvalidRequest: not such a file.
    """
    path = pathlib.Path(path)
    data = path.read_bytes()
    end = data.find(b'\n', len(_MAGIC))
    if not data.startswith(_MAGIC) or end < 0:
        raise InvalidRequest(
            f'{path}: expected a file of simulator states that begins with '
            f'{_MAGIC.decode().strip()}, got something else'
        )
    header = json.loads(data[len(_MAGIC) : end])
    split = _LEADING + header['action_size']
    width = split + header['state_size']
    count = (len(data) - end - 1) // (8 * width)
    rows = np.frombuffer(data, '<f8', count * width, end + 1).reshape(count, width)
    return RecordedStates(
        path,
        header=header,
        times=rows[:, 0],
        held=rows[:, 1] != 0,
        actions=rows[:, _LEADING:split],
        states=rows[:, split:],
    )


def last_episode(folder: pathlib.Path) -> RecordedStates:
    """The last episode of a run's state folder of which anything was logged.

    Raises:
      InvalidRequest: there is none.
    """
    unreadable: InvalidRequest | None = None
    for path in reversed(state_logs(folder)):
        try:
            recorded = read_state_log(path)
        except InvalidRequest as error:
            # A driver that was killed at the end of a reset leaves half a header.
            unreadable = unreadable or error
            continue
        if len(recorded.states):
            return recorded
    raise unreadable or InvalidRequest(
        f'{folder}: expected simulator states of an episode, found none; did the run get as far '
        'as a reset, and is the robot a simulator?'
    )


def state_logs(folder: pathlib.Path | str) -> tuple[pathlib.Path, ...]:
    """All state files of a folder, oldest episode first."""
    return tuple(sorted(pathlib.Path(folder).glob('states_*.bin')))
