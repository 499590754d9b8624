"""Where things lie in a checkout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Default environment folder per origin of ROS: one each, so that a terminal with a sourced ROS
# and one without do not rebuild each other's environment.
VENV_NAMES = {'wheels': '.venv', 'system': '.venv-system-ros'}


@dataclass(frozen=True)
class Layout:
    """Paths of one checkout and of the environment it uses.

    Args:
        root: The checkout.
        venv: The virtual environment, which also holds the overlay, logs and caches.
    """

    root: Path
    venv: Path

    @classmethod
    def of(cls, root: Path, origin: str, environ: Mapping[str, str]) -> Layout:
        """Return the layout for a ROS origin ('wheels' or 'system'); RPENT_VENV overrides."""
        chosen = environ.get('RPENT_VENV')
        return cls(root, Path(chosen).absolute() if chosen else root / VENV_NAMES[origin])

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.venv / 'bin' / 'python'

    @property
    def overlay(self) -> Path:
        """Folder of the colcon workspace: build/, install/, log/."""
        return self.venv / 'overlay'

    @property
    def install(self) -> Path:
        """Prefix that the built interface packages are installed to."""
        return self.overlay / 'install'

    @property
    def state(self) -> Path:
        """File that says which steps of the set-up are done."""
        return self.venv / 'setup.json'

    @property
    def log(self) -> Path:
        """Output of every tool that the set-up ran."""
        return self.venv / 'setup.log'

    @property
    def lock(self) -> Path:
        """File locked while a set-up runs; outside the environment, which may be replaced."""
        return self.venv.with_name(self.venv.name + '.lock')

    @property
    def cache(self) -> Path:
        """Compiled code and settings that tools keep between runs."""
        return self.venv / 'cache'
