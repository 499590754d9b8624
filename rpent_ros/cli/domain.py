"""A ROS domain id of its own for each run, so that two runs on one machine do not meet."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import socket
import tempfile
from collections.abc import Iterator, Mapping

from rpent_ros.errors import InvalidRequest, Unavailable

# Above 101 the middleware's ports meet the range from which Linux gives ports to anybody.
CANDIDATES = range(1, 102)
LARGEST = 232
# Fast DDS and Cyclone DDS: first participant's port for discovery is 7400 + 250 * id + 10.
_PORT_BASE, _PORT_GAIN, _PORT_OFFSET = 7400, 250, 10


def choose(domain: int | None) -> None:
    """Have this process and those that it starts use a domain id; None leaves it as it is.

    Raises:
      InvalidRequest: there is no such domain id.
    """
    if domain is None:
        return
    if not 0 <= domain <= LARGEST:
        raise InvalidRequest(f'domain-id: expected 0 to {LARGEST}, got {domain}')
    os.environ['ROS_DOMAIN_ID'] = str(domain)


@contextlib.contextmanager
def claimed_domain(
    environ: Mapping[str, str] = os.environ, *, folder: pathlib.Path | None = None
) -> Iterator[int]:
    """Hold a domain id while the block runs.

    Args:
      environ: ROS_DOMAIN_ID in it is used as it is; nothing is claimed then.
      folder: where the locks are; None: the machine's folder for temporary files.

    Raises:
      InvalidRequest: ROS_DOMAIN_ID is no domain id.
      Unavailable: every id is taken.
    """
    chosen = environ.get('ROS_DOMAIN_ID', '')
    if chosen:
        if not chosen.isdecimal() or int(chosen) > LARGEST:
            raise InvalidRequest(
                f'ROS_DOMAIN_ID: expected an integer from 0 to {LARGEST}, got {chosen!r}'
            )
        yield int(chosen)
        return
    folder = folder or pathlib.Path(tempfile.gettempdir())
    for domain in CANDIDATES:
        lock = _lock(folder / f'rpent_domain_{domain}.lock')
        if lock is None:
            continue
        try:
            if _is_silent(domain):
                yield domain
                return
        finally:
            # The file stays: removing it would let two runs lock two files of one name.
            os.close(lock)
    raise Unavailable(
        f'ROS domain id: all from {CANDIDATES[0]} to {CANDIDATES[-1]} are in use on this machine; '
        'set ROS_DOMAIN_ID'
    )


def _lock(path: pathlib.Path) -> int | None:
    """An open and locked file, or None if somebody else holds it."""
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT | os.O_EXCL):
        try:
            descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor
    return None


def _is_silent(domain: int) -> bool:
    """True if no program of this machine listens where the domain's first participant would."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', _PORT_BASE + _PORT_GAIN * domain + _PORT_OFFSET))
        except OSError:
            return False
    return True
