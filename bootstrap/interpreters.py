"""Find the Python that the environment is made from."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bootstrap.errors import SetupError

OLDEST = (3, 10)
# Newest versions with ROS wheels, and with the NumPy that a ROS installation needs.
NEWEST = {'wheels': (3, 13), 'system': (3, 12)}
PREFERRED = ('3.12', '3.11', '3.13', '3.10')
PROBE = """
import importlib.util, json, os, platform, sys, sysconfig
has_rclpy = False
if sys.argv[1] == 'system':
    try:
        import rclpy
        has_rclpy = True
    except ImportError:
        pass
print(json.dumps({
    'executable': getattr(sys, '_base_executable', sys.executable),
    'version': list(sys.version_info[:3]),
    'machine': platform.machine(),
    'is_cpython': sys.implementation.name == 'cpython',
    'has_venv': all(importlib.util.find_spec(name) for name in ('venv', 'ensurepip')),
    'has_headers': os.path.isfile(os.path.join(sysconfig.get_paths()['include'], 'Python.h')),
    'has_rclpy': has_rclpy}))
"""


@dataclass(frozen=True)
class Interpreter:
    """What one Python can do.

    Args:
        executable: Its program, outside any virtual environment.
        version: (major, minor, micro).
        machine: Processor architecture, e.g. 'x86_64'.
        is_cpython: False for PyPy and others.
        has_venv: Whether venv and ensurepip are there (Debian splits them off).
        has_headers: Whether Python.h is there (Debian splits it off).
        has_rclpy: Whether rclpy can be imported; only looked at for the origin 'system'.
    """

    executable: str
    version: tuple[int, int, int]
    machine: str
    is_cpython: bool
    has_venv: bool
    has_headers: bool
    has_rclpy: bool

    @property
    def minor(self) -> str:
        """Version that decides about binary packages, e.g. '3.11'."""
        return '.'.join(map(str, self.version[:2]))

    @property
    def name(self) -> str:
        """Name for messages, e.g. 'CPython 3.11.7'."""
        return 'CPython ' + '.'.join(map(str, self.version))

    def unfit_reason(self, origin: str) -> str:
        """Return why it cannot be used for a ROS origin, '' if it can.

        A missing venv module or header is not a reason: those can be installed.
        """
        newest = NEWEST[origin]
        if not self.is_cpython or not OLDEST <= self.version[:2] <= newest:
            found = '.'.join(map(str, self.version)) + ('' if self.is_cpython else ', not CPython')
            return f'version {found}, expected CPython 3.10 to {newest[0]}.{newest[1]}'
        if self.machine != 'x86_64':
            return f'machine {self.machine}, expected x86_64'
        if origin == 'system' and not self.has_rclpy:
            return 'cannot import rclpy of the sourced ROS installation'
        return ''


def probe(program: str, origin: str, environ: Mapping[str, str]) -> Interpreter | None:
    """Ask a Python about itself; None if it does not run (e.g. an inactive pyenv shim)."""
    env = dict(environ) | {'_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1'}
    try:
        result = subprocess.run([program, '-c', PROBE, origin], env=env, capture_output=True,
                                text=True, timeout=30.0, stdin=subprocess.DEVNULL)
        data = json.loads(result.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    data['version'] = tuple(data['version'])
    return Interpreter(**data)


def candidates(origin: str, environ: Mapping[str, str]) -> list[str]:
    """List the programs to try, best first, without those that do not exist."""
    path = environ.get('PATH', '')
    names = ['python3', *(f'python{version}' for version in PREFERRED)]
    found = [shutil.which(name, path=path) for name in names]
    # ROS packages are built for the distribution's Python, whatever comes first on PATH.
    first = ['/usr/bin/python3'] if origin == 'system' else []
    pyenv = Path(environ.get('PYENV_ROOT') or Path(environ.get('HOME', '/'), '.pyenv'))
    versions = [str(path) for version in PREFERRED
                for path in sorted(pyenv.glob(f'versions/{version}.*/bin/python3'), reverse=True)]
    return list(dict.fromkeys(name for name in [*first, *found, *versions] if name))


def choose_interpreter(
        origin: str, environ: Mapping[str, str],
        ask: Callable[[str, str, Mapping[str, str]], Interpreter | None] = probe) -> Interpreter:
    """Return the first usable Python; one that has venv is preferred to one that lacks it.

    Args:
        origin: 'wheels' or 'system'.
        environ: RPENT_PYTHON names the only candidate, PATH and PYENV_ROOT say where to look.
        ask: Stands in for `probe` in tests.

    Raises:
        SetupError: None fits.
    """
    wanted = environ.get('RPENT_PYTHON')
    if wanted:
        found = ask(wanted, origin, environ)
        reason = found.unfit_reason(origin) if found else 'it does not run'
        if found is None or reason:
            raise SetupError(f'RPENT_PYTHON={wanted} cannot be used: {reason}')
        return found
    fallback = None
    reasons = []
    for program in candidates(origin, environ):
        found = ask(program, origin, environ)
        reason = found.unfit_reason(origin) if found else 'does not run'
        if found is None or reason:
            reasons.append(f'{program}: {reason}')
        elif found.has_venv:
            return found
        else:
            fallback = fallback or found
    if fallback is not None:
        return fallback
    newest = '.'.join(map(str, NEWEST[origin]))
    raise SetupError(f'no usable CPython 3.10 to {newest} found ({"; ".join(reasons)}); install '
                     'one with its venv module or name one in RPENT_PYTHON')
