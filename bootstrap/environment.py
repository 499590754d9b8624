"""The environment variables of every process that ./rpent starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bootstrap.gl import BACKENDS
from bootstrap.layout import Layout
from bootstrap.ros import DISTRO


def build_environment(layout: Layout, origin: str, mujoco_gl: str,
                      environ: Mapping[str, str]) -> dict[str, str]:
    """Return a complete environment; what the user has set wins over a default.

    Args:
        layout: The checkout and its virtual environment.
        origin: 'wheels' or 'system', as chosen by bootstrap.ros.
        mujoco_gl: GL backend that works here, '' if not known.
        environ: The caller's environment, foreign ROS entries already removed.
    """
    env = dict(environ)
    site_packages = sorted(layout.venv.glob('lib/python3.*/site-packages'))
    prefixes = [layout.install] + ([layout.venv] if origin == 'wheels' else [])
    libraries = [layout.install / 'lib']
    env.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    if origin == 'wheels':
        # The wheels' start-up hook computes the same and then starts Python a second time.
        libraries += [layout.venv / 'lib', *_bundled_libraries(site_packages)]
        env['_ROS_WHEELS_BOOTSTRAP_COMPLETE'] = '1'
        env['ROS_DISTRO'] = DISTRO
        _require_fastdds(env)
    _prepend(env, 'PATH', [layout.venv / 'bin'])
    _prepend(env, 'AMENT_PREFIX_PATH', prefixes)
    _prepend(env, 'CMAKE_PREFIX_PATH', prefixes)
    _prepend(env, 'LD_LIBRARY_PATH', libraries)
    _prepend(env, 'PYTHONPATH', [layout.root, *overlay_site_packages(layout)])
    env.pop('PYTHONHOME', None)
    env['VIRTUAL_ENV'] = str(layout.venv)
    env['RPENT_ROOT'] = str(layout.root)
    env['RPENT_ACTIVE_VENV'] = str(layout.venv)
    env['RPENT_ROS_ORIGIN'] = origin
    defaults = {
        # Nothing leaves this machine unless the user says so.
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'MUJOCO_GL': mujoco_gl if mujoco_gl in BACKENDS else BACKENDS[0],
        # A control loop on small matrices only loses time to BLAS threads.
        'OMP_NUM_THREADS': '1',
        'NUMBA_CACHE_DIR': str(layout.cache / 'numba'),
        'MPLCONFIGDIR': str(layout.cache / 'matplotlib'),
    }
    for name, value in defaults.items():
        env[name] = env.get(name) or value
    return env


def overlay_site_packages(layout: Layout) -> list[Path]:
    """Return the Python folders of the built interface packages."""
    return sorted([*layout.install.glob('lib/python3.*/site-packages'),
                   *layout.install.glob('local/lib/python3.*/dist-packages')])


def _bundled_libraries(site_packages: list[Path]) -> list[Path]:
    return sorted(path for folder in site_packages for path in folder.glob('ros_*.libs'))


def _require_fastdds(env: dict[str, str]) -> None:
    # The wheels bring no other middleware; a value left by another ROS stops rclpy.
    if env.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp') != 'rmw_fastrtps_cpp':
        env['RMW_IMPLEMENTATION'] = 'rmw_fastrtps_cpp'


def _prepend(env: dict[str, str], name: str, paths: list[Path]) -> None:
    added = [str(path) for path in paths]
    kept = [entry for entry in env.get(name, '').split(os.pathsep) if entry and entry not in added]
    env[name] = os.pathsep.join([*added, *kept])
