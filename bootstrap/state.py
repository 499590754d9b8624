"""What the set-up has done so far, and the lock that keeps two set-ups apart."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bootstrap.layout import Layout

# Raise it when environments made by earlier versions of bootstrap/ must be made anew.
LAYOUT_VERSION = 1
# Value of `dependencies` while packages are being installed: an environment found in this
# state was interrupted, and single packages in it may be half there.
INSTALLING = 'installing'
# Seconds between two signs of life while another set-up runs.
WAIT_PERIOD_S = 20.0
LOCK_FILES = {'wheels': 'wheels.lock', 'system': 'system-ros.lock'}
# Files beside the interface definitions that the build does not read.
_PROSE = ('.md', '.rst')


@dataclass
class SetupState:
    """Contents of setup.json; an empty field is a step not done.

    Args:
        layout_version: LAYOUT_VERSION of the bootstrap that made the environment.
        root: Checkout it was made in; moved environments do not work.
        python: Version of its interpreter, e.g. '3.11'.
        dependencies: Fingerprint of the installed lock, or INSTALLING.
        overlay: Fingerprint of the built interface packages.
        mujoco_gl: GL backend that works, one of bootstrap.gl.BACKENDS, or NO_GL.
    """

    layout_version: int = 0
    root: str = ''
    python: str = ''
    dependencies: str = ''
    overlay: str = ''
    mujoco_gl: str = ''

    @classmethod
    def load(cls, path: Path) -> SetupState:
        """Read a state file; a missing or damaged one is the empty state."""
        try:
            data = json.loads(path.read_text())
            names = {field.name for field in fields(cls)}
            return cls(**data) if data.keys() == names else cls()
        except (OSError, ValueError, AttributeError):
            return cls()

    def save(self, path: Path) -> None:
        """Replace a state file in one step."""
        scratch = path.with_name(f'{path.name}.{os.getpid()}')
        scratch.write_text(json.dumps(asdict(self), indent=2) + '\n')
        os.replace(scratch, path)

    def fits(self, layout: Layout) -> bool:
        """Whether the environment was made here, by this version, and not interrupted."""
        return (self.layout_version == LAYOUT_VERSION and self.root == str(layout.root)
                and self.dependencies not in ('', INSTALLING) and layout.python.exists())

    def is_complete(self, layout: Layout, origin: str) -> bool:
        """Whether nothing is left to do."""
        return (self.fits(layout) and self.mujoco_gl != ''
                and self.dependencies == dependencies_fingerprint(layout, origin)
                and self.overlay == overlay_fingerprint(layout, origin))

def lock_file(layout: Layout, origin: str) -> Path:
    """Return the committed lock for a ROS origin."""
    return layout.root / 'bootstrap' / 'requirements' / LOCK_FILES[origin]


def dependencies_fingerprint(layout: Layout, origin: str) -> str:
    """Return a hash of what is to be installed."""
    return _hash([lock_file(layout, origin)], layout.root)


def overlay_fingerprint(layout: Layout, origin: str) -> str:
    """Return a hash of the interface definitions and of what they are built with."""
    folders = [layout.root / 'rpent_msgs', layout.root / 'bootstrap' / 'interfaces']
    sources = [path for folder in folders for path in sorted(folder.rglob('*'))
               if path.is_file() and path.suffix not in _PROSE]
    return _hash([lock_file(layout, origin), *sources], layout.root)


def _hash(paths: list[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f'{path.relative_to(root)}\0{len(content)}\0'.encode())
        digest.update(content)
    return digest.hexdigest()


@contextlib.contextmanager
def exclusive(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock file; the system lets go of it however the process ends.

    Args:
        path: The file, made if missing.
        on_wait: Called at once and then every WAIT_PERIOD_S while another process holds it.
    """
    with path.open('a') as stream:
        next_call = 0.0
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= next_call:
                    next_call = time.monotonic() + WAIT_PERIOD_S
                    on_wait()
                time.sleep(0.2)
        yield
