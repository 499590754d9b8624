"""OpenGL for a machine without a display: which backend, and what to say if there is none.

MuJoCo and robosuite read MUJOCO_GL when they are imported, and cannot be imported if the backend's
library is missing.  Physics needs no OpenGL, so such a machine can still step and observe.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from rpent_ros.errors import RenderFailed

_LIBRARIES = {'egl': ('libEGL.so.1', 'libGL.so.1'), 'osmesa': ('libOSMesa.so.8',)}
_PACKAGES = {'egl': 'libegl1, libgl1 and libegl-mesa0', 'osmesa': 'libosmesa6'}
# Needs a display for images but nothing for the import; robosuite overrides 'disable'.
_WITHOUT_OPENGL = 'glx'

_wanted = ''


def prepare() -> None:
    """Call before the first import of MuJoCo or robosuite: make it succeed in any case."""
    global _wanted
    if _wanted:
        return
    _wanted = os.environ.setdefault('MUJOCO_GL', 'egl').lower()
    if not all(_is_there(library) for library in _LIBRARIES.get(_wanted, ())):
        os.environ['MUJOCO_GL'] = _WITHOUT_OPENGL


def make_context(size: int) -> Any:
    """An OpenGL context without a window, made current; `size` in pixels.

    Raises:
      RenderFailed: this machine cannot make one; the message names the packages to install.
    """
    try:
        from mujoco.gl_context import GLContext

        context = GLContext(size, size)
        context.make_current()
    # Each backend fails in its own way and with its own classes; all mean the same.
    except Exception as error:
        raise failure(str(error)) from error
    return context


def failure(reason: str) -> RenderFailed:
    """The exception for a machine that cannot render."""
    backend = _wanted or os.environ.get('MUJOCO_GL', '')
    missing = [name for name in _LIBRARIES.get(backend, ()) if not _is_there(name)]
    if missing:
        reason = f'{" and ".join(missing)} not found'
    return RenderFailed(
        f'no OpenGL context with MUJOCO_GL={backend or "unset"}: {reason}; for MUJOCO_GL=egl '
        f'install {_PACKAGES["egl"]}, for MUJOCO_GL=osmesa {_PACKAGES["osmesa"]} '
        '(Debian, Ubuntu), and see ./rpent doctor'
    )


def _is_there(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
