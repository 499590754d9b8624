"""Resolve requirements/*.in into the two committed locks.

    ./rpent exec python -m bootstrap.lock

Each lock is valid for every supported Python version: where versions differ, entries carry an
environment marker.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / 'requirements'


@dataclass(frozen=True)
class LockSpec:
    """One lock file and what goes into it.

    Args:
        name: File name below requirements/.
        inputs: The *.in files it resolves.
        python_below: First Python version that it is not valid for.
        platform: Marker that holds on every machine the lock is meant for.
    """

    name: str
    inputs: tuple[str, ...]
    python_below: str
    platform: str


LINUX = "sys_platform == 'linux'"
X86_64 = f"platform_machine == 'x86_64' and {LINUX}"
LOCKS = (
    LockSpec('wheels.lock', ('runtime.in', 'dev.in', 'ros-wheels.in'), '3.14', X86_64),
    LockSpec('system-ros.lock', ('runtime.in', 'dev.in', 'system-ros.in'), '3.13', X86_64),
)


def simplify(line: str, spec: LockSpec) -> str:
    """Drop the parts of a marker that hold wherever the lock is used.

    Args:
        line: One line of uv's output, e.g. "a==1 ; python_full_version < '3.14' and ...".
        spec: The lock that the line belongs to.
    """
    pin, _, marker = line.partition(' ; ')
    if ' or ' in marker:
        return line
    constant = {f"python_full_version < '{spec.python_below}'", *spec.platform.split(' and '),
                "platform_python_implementation != 'PyPy'"}
    terms = [term for term in marker.split(' and ') if term and term not in constant]
    return f'{pin} ; {" and ".join(terms)}' if terms else pin


def resolve(spec: LockSpec) -> str:
    """Return the text of one lock.

    Raises:
        subprocess.CalledProcessError: The requirements contradict each other.
    """
    environment = f"{spec.platform} and python_full_version < '{spec.python_below}'"
    with tempfile.TemporaryDirectory() as scratch:
        # uv takes this setting from a project file only.
        (Path(scratch) / 'pyproject.toml').write_text(
            f'[tool.uv]\nenvironments = ["{environment}"]\n')
        result = subprocess.run(
            [sys.executable, '-m', 'uv', 'pip', 'compile', '--universal',
             '--python-version', '3.10', '--no-annotate', '--no-header', '--quiet',
             *(str(REQUIREMENTS / name) for name in spec.inputs)],
            check=True, capture_output=True, text=True, cwd=scratch)
    pins = [simplify(line, spec) for line in result.stdout.splitlines() if line]
    header = [f'# Resolved from {", ".join(spec.inputs)} by python -m bootstrap.lock.',
              f'# CPython 3.10 and newer, below {spec.python_below}, on Linux x86-64.']
    return '\n'.join([*header, *pins]) + '\n'


def main() -> int:
    """Rewrite both locks; print what changed in size."""
    for spec in LOCKS:
        try:
            text = resolve(spec)
        except subprocess.CalledProcessError as error:
            print(f'{spec.name}: {error.stderr.strip()}', file=sys.stderr)
            return 1
        (REQUIREMENTS / spec.name).write_text(text)
        print(f'{spec.name}: {sum("==" in line for line in text.splitlines())} pins')
    return 0


if __name__ == '__main__':
    sys.exit(main())
