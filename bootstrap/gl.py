"""Find out which OpenGL backend can render without a display.

    python -I -S bootstrap/gl.py egl|osmesa      exit code 0 if it works

It runs as a program of its own because a broken driver may crash the process that asks.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

BACKENDS = ('egl', 'osmesa')
# What the set-up remembers where nothing can render; it is looked at again at every start.
NO_GL = 'none'

EGL_PLATFORM_DEVICE_EXT = 0x313F
EGL_OPENGL_API = 0x30A2
EGL_NONE = 0x3038
# Pbuffer surface, desktop OpenGL, 24 bits of depth: what MuJoCo asks for.
CONFIG_ATTRIBUTES = (0x3033, 0x0001, 0x3040, 0x0008, 0x3025, 24, EGL_NONE)
MAX_DEVICES = 16


def first_working() -> str:
    """Return the backend to use, EGL before OSMesa, NO_GL if neither works."""
    return next((backend for backend in BACKENDS if works(backend)), NO_GL)


def works(backend: str) -> bool:
    """Whether a backend ('egl' or 'osmesa') makes a context here."""
    try:
        result = subprocess.run([sys.executable, '-I', '-S', __file__, backend], timeout=30.0,
                                capture_output=True, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


def has_library(name: str) -> bool:
    """Whether the dynamic linker finds a shared library, e.g. 'libGL.so.1'."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def make_egl_context() -> bool:
    """Make a context on the first EGL device that allows it, as MuJoCo does.

    Raises:
        OSError: There is no libEGL.
    """
    egl = ctypes.CDLL('libEGL.so.1')
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    query_devices = _extension(egl, 'eglQueryDevicesEXT', ctypes.c_uint, integer, pointer, pointer)
    get_display = _extension(egl, 'eglGetPlatformDisplayEXT', pointer, ctypes.c_uint, pointer,
                             pointer)
    if query_devices is None or get_display is None:
        return False
    devices = (pointer * MAX_DEVICES)()
    count = integer()
    if not query_devices(MAX_DEVICES, devices, ctypes.byref(count)):
        return False
    return any(_has_context(egl, get_display(EGL_PLATFORM_DEVICE_EXT, devices[k], None))
               for k in range(count.value))


def _has_context(egl: ctypes.CDLL, address: int | None) -> bool:
    display = ctypes.c_void_p(address)
    if not display or not egl.eglInitialize(display, None, None):
        return False
    attributes = (ctypes.c_int * len(CONFIG_ATTRIBUTES))(*CONFIG_ATTRIBUTES)
    config, count = ctypes.c_void_p(), ctypes.c_int()
    egl.eglChooseConfig(display, attributes, ctypes.byref(config), 1, ctypes.byref(count))
    egl.eglBindAPI(EGL_OPENGL_API)
    egl.eglCreateContext.restype = ctypes.c_void_p
    return count.value > 0 and bool(egl.eglCreateContext(display, config, None, None))


def _extension(egl: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    """Return an extension function, None where the driver manager does not know it."""
    address = egl.eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(result, *arguments)(address) if address else None


if __name__ == '__main__':
    try:
        usable = make_egl_context() if sys.argv[1] == 'egl' else has_library('libOSMesa.so.8')
    except OSError:
        usable = False
    sys.exit(not usable)
