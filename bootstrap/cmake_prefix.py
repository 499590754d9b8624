"""Make the CMake files of the ROS wheels point at this environment.

The wheels were built in a container whose Python prefix, /opt/python/cp3XY-cp3XY, is written into
their exported CMake files; find_package() then looks for headers and libraries that exist
nowhere else.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

BUILD_PREFIX = re.compile(r'/opt/python/cp3[0-9]+-cp3[0-9]+')
BUILD_INCLUDE = re.compile(BUILD_PREFIX.pattern + r'/include/python3\.[0-9]+')
BUILD_NUMPY = re.compile(
    BUILD_PREFIX.pattern + r'/lib/python3\.[0-9]+/site-packages/numpy/(?:_core|core)/include')
QUERY = ('import sysconfig, numpy\n'
         'print(sysconfig.get_paths()["include"], numpy.get_include(), sep="\\n")')


@dataclass(frozen=True)
class Prefixes:
    """What replaces the three kinds of path.

    Args:
        venv: The virtual environment.
        python_include: Folder of Python.h.
        numpy_include: Folder of NumPy's headers.
    """

    venv: str
    python_include: str
    numpy_include: str

    @classmethod
    def of(cls, venv: Path) -> Prefixes:
        """Ask the environment's interpreter."""
        result = subprocess.run([venv / 'bin' / 'python', '-c', QUERY], check=True, text=True,
                                stdout=subprocess.PIPE)
        python_include, numpy_include = result.stdout.splitlines()
        return cls(str(venv), python_include, numpy_include)

    def rewrite(self, text: str) -> str:
        """Return a CMake file's text with every build path replaced."""
        # Replacements are given as functions: a path may contain a backslash.
        text = BUILD_NUMPY.sub(lambda _: self.numpy_include, text)
        text = BUILD_INCLUDE.sub(lambda _: self.python_include, text)
        return BUILD_PREFIX.sub(lambda _: self.venv, text)


def rewrite_tree(share: Path, prefixes: Prefixes) -> int:
    """Rewrite every CMake file below a folder; return how many changed.

    Files are replaced, never written in place: the installer may have hard-linked them to its
    cache, which other environments use.
    """
    changed = 0
    for path in share.rglob('*.cmake'):
        text = path.read_text(errors='surrogateescape')
        rewritten = prefixes.rewrite(text)
        if rewritten != text:
            scratch = path.with_name(path.name + '.new')
            scratch.write_text(rewritten, errors='surrogateescape')
            os.replace(scratch, path)
            changed += 1
    return changed
