"""The steps that turn a checkout into a working environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bootstrap import gl, system_packages
from bootstrap.dependencies import install_lock, make_venv, package_count
from bootstrap.errors import SetupError
from bootstrap.gl import NO_GL
from bootstrap.interpreters import Interpreter, choose_interpreter, probe
from bootstrap.layout import Layout
from bootstrap.overlay import build_overlay
from bootstrap.progress import Progress
from bootstrap.state import (
    INSTALLING,
    LAYOUT_VERSION,
    SetupState,
    dependencies_fingerprint,
    exclusive,
    lock_file,
    overlay_fingerprint,
)

# Free space [bytes] that a new environment needs, its downloads included.
NEEDED_SPACE = 4_000_000_000
GL_PURPOSE = ' (needed by every robot that renders images)'


@dataclass(frozen=True)
class Setup:
    """One set-up of one environment.

    Args:
        layout: Checkout and environment.
        origin: 'wheels' or 'system'.
        environ: The caller's environment, foreign ROS entries already removed.
        progress: Reporter.
    """

    layout: Layout
    origin: str
    environ: Mapping[str, str]
    progress: Progress

    def run(self, *, check_all: bool = False) -> SetupState:
        """Do whatever is not done yet; safe to interrupt and to call from two places at once.

        Args:
            check_all: Look at every part again even if all was done before.

        Returns:
            The state after the set-up.

        Raises:
            SetupError: A step failed; what was done before it is kept.
        """
        def on_wait() -> None:
            self.progress.note('another set-up of this checkout is running, waiting for it')

        try:
            self.layout.venv.parent.mkdir(parents=True, exist_ok=True)
            with exclusive(self.layout.lock, on_wait):
                state = SetupState.load(self.layout.state)
                if check_all or not state.is_complete(self.layout, self.origin):
                    self._run_alone(state, check_all)
                return SetupState.load(self.layout.state)
        except OSError as error:
            raise SetupError(f'cannot set up {self.layout.venv}: {error}') from error

    def _run_alone(self, state: SetupState, check_all: bool) -> None:
        interpreter = self._existing_interpreter(state)
        if interpreter is None:
            interpreter = choose_interpreter(self.origin, self.environ)
            self._require_space()
            self.progress.note(f'setting up {self.layout.venv} with {interpreter.name}; it takes '
                               'a few minutes, once')
            interpreter = self._install_system_packages(interpreter)
            state = self._make_venv(interpreter)
        else:
            interpreter = self._install_system_packages(interpreter)
        self._install_dependencies(state, check_all)
        self._build_overlay(state, interpreter)
        state.mujoco_gl = self._choose_gl()
        state.save(self.layout.state)

    def _existing_interpreter(self, state: SetupState) -> Interpreter | None:
        """Return the Python of an environment that can be kept, None if it must be made anew."""
        if not state.fits(self.layout):
            return None
        found = probe(str(self.layout.python), self.origin, self.environ)
        if found is None or found.minor != state.python:
            return None
        if self.environ.get('RPENT_PYTHON'):
            wanted = choose_interpreter(self.origin, self.environ)
            return found if wanted.minor == found.minor else None
        return found

    def _require_space(self) -> None:
        parent = self.layout.venv.parent
        free = shutil.disk_usage(parent).free
        if free < NEEDED_SPACE:
            raise SetupError(f'{parent} has {free / 1e9:.1f} GB free, the environment needs '
                             f'{NEEDED_SPACE / 1e9:.0f} GB; make room or choose another place '
                             'with RPENT_VENV')

    def _install_system_packages(self, interpreter: Interpreter) -> Interpreter:
        """Install what this machine lacks; return the Python as it is then."""
        path = self.environ.get('PATH', os.defpath)
        needs = system_packages.missing(interpreter, path)
        if not needs:
            return interpreter
        packages = system_packages.packages_of(needs)
        with self.progress.step(f'system packages {" ".join(packages)}'):
            system_packages.install(packages, self.environ, self.progress)
        interpreter = probe(interpreter.executable, self.origin, self.environ) or interpreter
        needs = system_packages.missing(interpreter, path)
        if any(need.required for need in needs):
            raise SetupError(system_packages.advice(needs, self.environ))
        if needs:
            self.progress.note(system_packages.advice(needs, self.environ) + GL_PURPOSE)
        return interpreter

    def _make_venv(self, interpreter: Interpreter) -> SetupState:
        with self.progress.step('virtual environment'):
            make_venv(self.layout, interpreter, self.origin, self.environ, self.progress)
        return SetupState(LAYOUT_VERSION, str(self.layout.root), interpreter.minor)

    def _install_dependencies(self, state: SetupState, check_all: bool) -> None:
        wanted = dependencies_fingerprint(self.layout, self.origin)
        if state.dependencies == wanted and not check_all:
            return
        state.dependencies = INSTALLING
        state.save(self.layout.state)
        lock = lock_file(self.layout, self.origin)
        with self.progress.step(f'{package_count(lock)} Python packages'):
            install_lock(self.layout, lock, self.environ, self.progress)
        state.dependencies = wanted
        state.save(self.layout.state)

    def _build_overlay(self, state: SetupState, interpreter: Interpreter) -> None:
        wanted = overlay_fingerprint(self.layout, self.origin)
        if state.overlay == wanted:
            return
        state.overlay = ''
        state.save(self.layout.state)
        with self.progress.step('ROS interfaces (colcon build)'):
            build_overlay(self.layout, self.origin, Path(interpreter.executable), self.environ,
                          self.progress)
        state.overlay = wanted
        state.save(self.layout.state)

    def _choose_gl(self) -> str:
        """Return the backend that works, installing a driver if none does."""
        backend = gl.first_working()
        if backend == NO_GL:
            with self.progress.step('system packages for OpenGL rendering'):
                for need in (system_packages.EGL_DRIVER, system_packages.OSMESA):
                    system_packages.install(list(need.packages), self.environ, self.progress)
                    backend = gl.first_working()
                    if backend != NO_GL:
                        break
        if backend == 'osmesa':
            self.progress.note('EGL gives no context on this machine, rendering with OSMesa')
        elif backend == NO_GL:
            self.progress.note(
                system_packages.advice([system_packages.EGL_DRIVER], self.environ) + GL_PURPOSE)
        return backend
