"""Find out which OpenGL backend can render without a display.

    python -I -S bootstrap/gl.py egl|osmesa      exit code 0 if it works

It runs as a program of its own because a broken driver may crash the process that asks.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Sequence

EGL_PLATFORM_DEVICE_EXT = 0x313F
EGL_OPENGL_API = 0x30A2
# Surface type, renderable type, depth size as MuJoCo asks for them, then the end mark.
CONFIG_ATTRIBUTES = (0x3033, 0x0001, 0x3040, 0x0008, 0x3025, 24, 0x3038)
MAX_DEVICES = 16


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
    """Make a context on the first EGL device that allows it, as MuJoCo does."""
    egl = ctypes.CDLL('libEGL.so.1')
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    query_devices = _function(egl, b'eglQueryDevicesEXT', ctypes.c_uint)
    get_display = _function(egl, b'eglGetPlatformDisplayEXT', ctypes.c_void_p)
    if query_devices is None or get_display is None:
        return False
    devices = (ctypes.c_void_p * MAX_DEVICES)()
    count = ctypes.c_int()
    if not query_devices(MAX_DEVICES, devices, ctypes.byref(count)):
        return False
    return any(_context_on(egl, get_display, devices[k]) for k in range(count.value))


def _context_on(egl: ctypes.CDLL, get_display: ctypes._CFuncPtr, device: int) -> bool:
    display = get_display(EGL_PLATFORM_DEVICE_EXT, ctypes.c_void_p(device), None)
    if not display or not egl.eglInitialize(ctypes.c_void_p(display), None, None):
        return False
    attributes = (ctypes.c_int * len(CONFIG_ATTRIBUTES))(*CONFIG_ATTRIBUTES)
    config = ctypes.c_void_p()
    count = ctypes.c_int()
    egl.eglChooseConfig(ctypes.c_void_p(display), attributes, ctypes.byref(config), 1,
                        ctypes.byref(count))
    egl.eglBindAPI(EGL_OPENGL_API)
    egl.eglCreateContext.restype = ctypes.c_void_p
    return count.value > 0 and bool(
        egl.eglCreateContext(ctypes.c_void_p(display), config, None, None))


def _function(egl: ctypes.CDLL, name: bytes, result: type) -> ctypes._CFuncPtr | None:
    address = egl.eglGetProcAddress(name)
    return ctypes.CFUNCTYPE(result, *_ARGUMENTS[name])(address) if address else None


_ARGUMENTS: dict[bytes, Sequence[type]] = {
    b'eglQueryDevicesEXT': (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)),
    b'eglGetPlatformDisplayEXT': (ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p),
}


if __name__ == '__main__':
    try:
        usable = make_egl_context() if sys.argv[1] == 'egl' else has_library('libOSMesa.so.8')
    except OSError:
        usable = False
    sys.exit(not usable)
