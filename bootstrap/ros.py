"""Which ROS 2 to use: the sourced Jazzy installation, or wheels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

DISTRO = 'jazzy'
# Search paths into which a ROS setup file puts its prefixes or folders below them.
SEARCH_PATHS = ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'COLCON_PREFIX_PATH', 'PYTHONPATH',
                'LD_LIBRARY_PATH', 'PATH', 'PKG_CONFIG_PATH')


@dataclass(frozen=True)
class RosChoice:
    """Where ROS 2 comes from.

    Args:
        origin: 'wheels' or 'system'.
        notice: One sentence for the user when this is not what the terminal suggests, else ''.
        hidden: Prefixes whose entries must not reach our processes.
    """

    origin: str
    notice: str = ''
    hidden: tuple[str, ...] = ()


def choose_ros(environ: Mapping[str, str]) -> RosChoice:
    """Decide from the environment variables, without importing anything.

    A sourced Jazzy with rclpy is used as it is.  Another distribution's messages and libraries
    would be loaded in place of Jazzy's, so its entries are taken out of the search paths of the
    processes started here; the user's terminal is left alone.

    Args:
        environ: The caller's environment, after `without_own_entries`.
    """
    distro = environ.get('ROS_DISTRO', '')
    prefixes = tuple(_entries(environ, 'AMENT_PREFIX_PATH'))
    if distro == DISTRO and find_package(prefixes, 'rclpy'):
        return RosChoice('system')
    roots = tuple(dict.fromkeys([*prefixes, *_entries(environ, 'COLCON_PREFIX_PATH')]))
    if distro == DISTRO:
        return RosChoice(
            'wheels', 'ROS_DISTRO is jazzy but no prefix in AMENT_PREFIX_PATH has rclpy; using '
            'ROS 2 Jazzy from wheels (source /opt/ros/jazzy/setup.bash to use the installation)',
            roots)
    if distro or roots:
        name = f'ROS {distro}' if distro else 'a ROS workspace without ROS_DISTRO'
        return RosChoice(
            'wheels', f'{name} is sourced here, rpent_ros needs ROS 2 Jazzy; using Jazzy from '
            'wheels and hiding the sourced one from this run', roots)
    return RosChoice('wheels')


def find_package(prefixes: Iterable[str | Path], name: str) -> Path | None:
    """Return the first prefix whose ament index lists a package, or None."""
    for prefix in prefixes:
        if Path(prefix, 'share/ament_index/resource_index/packages', name).is_file():
            return Path(prefix)
    return None


def without_prefixes(environ: Mapping[str, str], prefixes: Iterable[str]) -> dict[str, str]:
    """Return the environment without search path entries that lie in some prefixes.

    Args:
        environ: Environment variables.
        prefixes: Folders; entries equal to one of them or below it are dropped.
    """
    roots = [os.path.normpath(prefix) for prefix in prefixes if prefix]
    cleaned = dict(environ)
    for name in SEARCH_PATHS:
        if name not in cleaned:
            continue
        kept = [entry for entry in _entries(cleaned, name) if not _below(entry, roots)]
        if kept:
            cleaned[name] = os.pathsep.join(kept)
        else:
            del cleaned[name]
    return cleaned


def without_own_entries(environ: Mapping[str, str]) -> dict[str, str]:
    """Undo what an enclosing `./rpent exec` added, so that a call inside it starts afresh."""
    own = [environ[name] for name in ('RPENT_ROOT', 'RPENT_ACTIVE_VENV') if environ.get(name)]
    cleaned = without_prefixes(environ, own)
    if own and environ.get('RPENT_ROS_ORIGIN') == 'wheels':
        cleaned.pop('ROS_DISTRO', None)
    return cleaned


def _entries(environ: Mapping[str, str], name: str) -> list[str]:
    return [entry for entry in environ.get(name, '').split(os.pathsep) if entry]


def _below(entry: str, roots: Iterable[str]) -> bool:
    path = os.path.normpath(entry)
    return any(path == root or path.startswith(root + os.sep) for root in roots)
