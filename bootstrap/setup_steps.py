"""The steps that turn a checkout into a working environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bootstrap import gl, system_packages
from bootstrap.dependencies import install_lock, make_venv
from bootstrap.errors import SetupError
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


def set_up(layout: Layout, origin: str, environ: Mapping[str, str],
           progress: Progress) -> SetupState:
    """Do whatever is not done yet; safe to interrupt and to call from two places at once.

    Args:
        layout: Checkout and environment.
        origin: 'wheels' or 'system'.
        environ: The caller's environment, foreign ROS entries already removed.
        progress: Reporter.

    Returns:
        The state after the set-up.

    Raises:
        SetupError: A step failed; what was done before it is kept.
    """
    try:
        layout.venv.parent.mkdir(parents=True, exist_ok=True)
        guard = exclusive(layout.lock, lambda: progress.note('another set-up of this checkout is '
                                                             'running, waiting for it'))
        with guard:
            return _set_up_alone(layout, origin, environ, progress)
    except OSError as error:
        raise SetupError(f'cannot set up in {layout.venv}: {error}') from error


def _set_up_alone(layout: Layout, origin: str, environ: Mapping[str, str],
                  progress: Progress) -> SetupState:
    state = SetupState.load(layout.state)
    if state.is_complete(layout, origin):
        return state
    interpreter = _existing_interpreter(layout, origin, state, environ)
    fresh = interpreter is None
    if interpreter is None:
        interpreter = choose_interpreter(origin, environ)
    interpreter = _install_system_packages(interpreter, origin, environ, progress)
    if fresh:
        with progress.step(f'Python environment in {layout.venv.name}, {interpreter.name}'):
            make_venv(layout, interpreter, origin, environ, progress)
        state = SetupState(LAYOUT_VERSION, str(layout.root),
                           '.'.join(map(str, interpreter.version)))
    lock = lock_file(layout, origin)
    wanted = dependencies_fingerprint(layout, origin)
    if state.dependencies != wanted:
        state.dependencies, state.overlay = INSTALLING, ''
        state.save(layout.state)
        pins = sum('==' in line for line in lock.read_text().splitlines())
        with progress.step(f'Python packages, {pins} pins'):
            install_lock(layout, lock, environ, progress)
        state.dependencies = wanted
        state.save(layout.state)
    wanted = overlay_fingerprint(layout, origin)
    if state.overlay != wanted:
        state.overlay = ''
        state.save(layout.state)
        with progress.step('ROS interfaces, colcon build'):
            build_overlay(layout, origin, interpreter, environ, progress)
        state.overlay = wanted
    state.mujoco_gl = choose_gl(environ, progress)
    state.save(layout.state)
    return state


def _existing_interpreter(layout: Layout, origin: str, state: SetupState,
                          environ: Mapping[str, str]) -> Interpreter | None:
    """Return the Python of an environment that can be kept, None if it must be made anew."""
    if not state.fits(layout):
        return None
    found = probe(str(layout.python), origin, environ)
    if found is None or '.'.join(map(str, found.version)) != state.python:
        return None
    if environ.get('RPENT_PYTHON'):
        wanted = choose_interpreter(origin, environ)
        if wanted.version != found.version:
            return None
    return found


def _install_system_packages(interpreter: Interpreter, origin: str, environ: Mapping[str, str],
                             progress: Progress) -> Interpreter:
    """Install what this machine lacks, or say what to install; return the Python as it is then."""
    path = environ.get('PATH', os.defpath)
    needs = system_packages.missing(interpreter, path)
    if not needs:
        return interpreter
    packages = system_packages.packages_of(needs)
    with progress.step(f'System packages, {" ".join(packages)}'):
        system_packages.install(packages, environ, progress)
    interpreter = probe(interpreter.executable, origin, environ) or interpreter
    needs = system_packages.missing(interpreter, path)
    required = [need for need in needs if need.required]
    if required:
        raise SetupError(system_packages.advice(needs, environ))
    if needs:
        progress.note(system_packages.advice(needs, environ) + ' (needed by every robot that '
                      'renders images)')
    return interpreter


def choose_gl(environ: Mapping[str, str], progress: Progress) -> str:
    """Return the GL backend that works, 'egl' first; '' if none does, after saying so."""
    for attempt in ('found', 'installed'):
        if gl.works('egl'):
            return 'egl'
        if gl.works('osmesa'):
            progress.note('EGL gives no context on this machine, rendering with OSMesa instead')
            return 'osmesa'
        if attempt == 'found':
            with progress.step('System packages, an OpenGL driver'):
                (system_packages.install(list(system_packages.EGL_DRIVER.packages), environ,
                                         progress) and gl.works('egl')
                 or system_packages.install(list(system_packages.OSMESA.packages), environ,
                                            progress))
    progress.note(system_packages.advice([system_packages.EGL_DRIVER], environ)
                  + ' (needed by every robot that renders images)')
    return ''
