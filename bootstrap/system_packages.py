"""Libraries and tools that pip cannot bring, and how to install what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bootstrap import gl
from bootstrap.interpreters import Interpreter
from bootstrap.progress import Progress

LIST_FOLDER = '/var/lib/apt/lists'


@dataclass(frozen=True)
class Need:
    """Something missing on this machine.

    Args:
        what: Library, tool or header that was looked for.
        packages: Debian and Ubuntu packages that bring it.
        required: Whether the set-up cannot go on without it.
    """

    what: str
    packages: tuple[str, ...]
    required: bool = True


TOOLS = (Need('cmake', ('cmake',)), Need('g++', ('g++',)), Need('make', ('make',)))
# OpenCV and the EGL renderer load these; without them only the fake robot works.
LIBRARIES = (
    Need('libGL.so.1', ('libgl1',), required=False),
    Need('libEGL.so.1', ('libegl1', 'libegl-mesa0'), required=False),
    Need('libgthread-2.0.so.0', ('libglib2.0-0',), required=False),
)
# Mesa's software renderer: without a GPU it is what an EGL context comes from.
EGL_DRIVER = Need('an EGL driver', ('libegl-mesa0', 'libgl1-mesa-dri'), required=False)
OSMESA = Need('libOSMesa.so.8', ('libosmesa6',), required=False)


def missing(interpreter: Interpreter, path: str,
            has_library: Callable[[str], bool] = gl.has_library) -> list[Need]:
    """List what this machine lacks, found by loading and looking, not by package names.

    Args:
        interpreter: Python that the environment is made from.
        path: PATH to look for tools on.
        has_library: Stands in for the dynamic linker in tests.
    """
    needs = [tool for tool in TOOLS if not shutil.which(tool.what, path=path)]
    version = f'python{interpreter.minor}'
    if not interpreter.has_venv:
        needs.append(Need('the venv module', (f'{version}-venv',)))
    if not interpreter.has_headers:
        needs.append(Need('Python.h', (f'{version}-dev',)))
    return needs + [need for need in LIBRARIES if not has_library(need.what)]


def packages_of(needs: Iterable[Need]) -> list[str]:
    """Return the packages of some needs, each once."""
    return list(dict.fromkeys(name for need in needs for name in need.packages))


def privilege_prefix(environ: Mapping[str, str]) -> list[str] | None:
    """Return the words before a command that needs root; None if there is no way to be root."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which('sudo', path=environ.get('PATH'))
    if sudo and subprocess.run([sudo, '-n', 'true'], capture_output=True,
                               stdin=subprocess.DEVNULL).returncode == 0:
        return [sudo, '-n']
    return None


def install(packages: list[str], environ: Mapping[str, str], progress: Progress) -> bool:
    """Install Debian packages; False if this user or this machine cannot.

    The package lists are fetched when there are none yet or when a package is not found.
    """
    prefix = privilege_prefix(environ)
    apt = shutil.which('apt-get', path=environ.get('PATH'))
    if prefix is None or apt is None:
        return False
    # Two minutes: long enough for an automatic upgrade that holds the package database.
    command = [*prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', apt, '-q', '-y',
               '-o', 'DPkg::Lock::Timeout=120']

    def run(*words: str) -> bool:
        return progress.run([*command, *words], env=environ, may_fail=True)

    request = ('install', '--no-install-recommends', *packages)
    if _has_lists() and run(*request):
        return True
    return run('update') and run(*request)


def advice(needs: Iterable[Need], environ: Mapping[str, str]) -> str:
    """Return the one line that tells what to install by hand."""
    needs = list(needs)
    names = ', '.join(need.what for need in needs)
    packages = ' '.join(packages_of(needs))
    if shutil.which('apt-get', path=environ.get('PATH')):
        return f'{names} missing; install with: sudo apt-get install {packages}'
    return f'{names} missing; install the packages that Debian calls {packages}'


def _has_lists() -> bool:
    try:
        return any(name.endswith(('_Packages', '_Packages.lz4', '_Packages.gz', '_Packages.xz'))
                   for name in os.listdir(LIST_FOLDER))
    except OSError:
        return False
