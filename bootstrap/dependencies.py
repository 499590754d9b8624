"""Make the virtual environment and install the lock into it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bootstrap.errors import SetupError
from bootstrap.interpreters import Interpreter
from bootstrap.layout import Layout
from bootstrap.progress import Progress

# pip's setting -> uv's variable.  People behind a mirror have configured pip already.
PIP_TO_UV = {
    'index-url': 'UV_DEFAULT_INDEX',
    'extra-index-url': 'UV_INDEX',
    'find-links': 'UV_FIND_LINKS',
    'cert': 'SSL_CERT_FILE',
}
LINE = re.compile(r"^(?P<section>global|install|:env:)\.(?P<key>[a-z-]+)=(?P<value>'.*'|\".*\")$")


def make_venv(layout: Layout, interpreter: Interpreter, origin: str, env: Mapping[str, str],
              progress: Progress) -> None:
    """Make an empty virtual environment in place of whatever is there."""
    discard(layout.venv)
    command = [interpreter.executable, '-m', 'venv', str(layout.venv)]
    if origin == 'system':
        # rclpy and the message packages belong to the distribution's Python.
        command.insert(3, '--system-site-packages')
    progress.run(command, env=env)


def discard(folder: Path) -> None:
    """Delete a folder; renamed first, so that no half-deleted environment is ever in its place."""
    for leftover in folder.parent.glob(f'{folder.name}.old*'):
        shutil.rmtree(leftover, ignore_errors=True)
    if not folder.exists():
        return
    content = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    # An interrupted set-up may have left nothing but its log.
    if content and not content & {'pyvenv.cfg', 'setup.json', 'setup.log'}:
        raise SetupError(f'{folder} exists and is no virtual environment; move it away or choose '
                         'another place with RPENT_VENV')
    old = folder.with_name(f'{folder.name}.old')
    folder.rename(old)
    shutil.rmtree(old, ignore_errors=True)


def install_lock(layout: Layout, lock: Path, env: Mapping[str, str], progress: Progress) -> None:
    """Install every pin of a lock, with uv; with pip if uv does not manage.

    Args:
        layout: Where the environment is.
        lock: Lock file; complete, so nothing is resolved.
        env: Environment; UV_* and PIP_* settings in it are respected.
        progress: Reporter with an open step.
    """
    python = str(layout.python)
    uv_env = {**env, **uv_settings(pip_settings(python, env), env), 'UV_NO_PROGRESS': '1'}
    has_uv = progress.run([python, '-m', 'pip', 'install', '--quiet', pin('uv', lock)], env=env,
                          may_fail=True)
    # Compiled here and once: every node would otherwise pay a second of its start for it, in
    # particular where PYTHONDONTWRITEBYTECODE is set.
    if has_uv and progress.run([python, '-m', 'uv', 'pip', 'install', '--python', python,
                                '--no-deps', '--compile-bytecode', '--requirement', lock],
                               env=uv_env, cwd=layout.venv, may_fail=True):
        return
    progress.note('uv could not install the packages, trying pip (slower)')
    progress.run([python, '-m', 'pip', 'install', '--quiet', '--no-deps', '--requirement', lock],
                 env=env)


def package_count(lock: Path) -> int:
    """Return how many packages a lock installs."""
    names = {line.split('==')[0] for line in lock.read_text().splitlines() if '==' in line}
    return len(names)


def pin(name: str, lock: Path) -> str:
    """Return the line of a lock that pins a package, e.g. 'uv==0.13.9'.

    Raises:
        SetupError: There is none.
    """
    for line in lock.read_text().splitlines():
        if line.startswith(f'{name}=='):
            return line.split(';')[0].strip()
    raise SetupError(f'{lock} has no pin of {name}; make it anew with python -m bootstrap.lock')


def pip_settings(python: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return pip's index settings from its files and variables, without the section names."""
    result = subprocess.run([python, '-m', 'pip', 'config', 'list'], env=dict(env), text=True,
                            capture_output=True, stdin=subprocess.DEVNULL)
    return parse_pip_settings(result.stdout) if result.returncode == 0 else {}


def parse_pip_settings(text: str) -> dict[str, str]:
    """Parse the output of `pip config list`; variables win over files, [install] over [global]."""
    order = ('global', 'install', ':env:')
    found: dict[str, dict[str, str]] = {section: {} for section in order}
    for line in text.splitlines():
        match = LINE.match(line.strip())
        if match:
            value = ast.literal_eval(match['value'])
            found[match['section']][match['key']] = ' '.join(str(value).split())
    return {**found['global'], **found['install'], **found[':env:']}


def uv_settings(pip: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """Translate pip's index settings for uv; a UV_* variable that the user has set stays."""
    settings = {PIP_TO_UV[key]: value for key, value in pip.items() if key in PIP_TO_UV and value}
    if 'UV_FIND_LINKS' in settings:
        settings['UV_FIND_LINKS'] = ','.join(settings['UV_FIND_LINKS'].split())
    if 'UV_INDEX' in settings:
        # pip takes a pin from whichever index has it; uv would stop at the first index that
        # knows the name.
        settings['UV_INDEX_STRATEGY'] = 'unsafe-best-match'
    return {name: value for name, value in settings.items() if not env.get(name)}
