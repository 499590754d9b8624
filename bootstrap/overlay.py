"""Build the interface packages with colcon."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from bootstrap.cmake_prefix import Prefixes, rewrite_tree
from bootstrap.environment import build_environment
from bootstrap.layout import Layout
from bootstrap.progress import Progress
from bootstrap.ros import find_package

# Standard interface packages that we need and that not every ROS brings; a definition of each
# lies in bootstrap/interfaces/.
STANDARD_INTERFACES = ('tf2_msgs',)


def packages_to_build(layout: Layout, origin: str, env: Mapping[str, str]) -> list[Path]:
    """Return the source folders: rpent_msgs and what the ROS in use lacks of the standard ones."""
    prefixes = [entry for entry in env.get('AMENT_PREFIX_PATH', '').split(':')
                if entry and entry != str(layout.install)]
    if origin == 'wheels':
        prefixes.append(str(layout.venv))
    absent = [name for name in STANDARD_INTERFACES if not find_package(prefixes, name)]
    return [layout.root / 'rpent_msgs',
            *(layout.root / 'bootstrap' / 'interfaces' / name for name in absent)]


def build_overlay(layout: Layout, origin: str, base_python: Path, environ: Mapping[str, str],
                  progress: Progress) -> None:
    """Build and install the interface packages into the overlay.

    Args:
        layout: Where sources and overlay are.
        origin: 'wheels' or 'system'.
        base_python: Program that the environment was made from.
        environ: The caller's environment, foreign ROS entries already removed.
        progress: Reporter with an open step.
    """
    env = build_environment(layout, origin, '', environ)
    # A definition that was removed or renamed would live on in an old build.
    for folder in (layout.overlay / 'build', layout.install):
        shutil.rmtree(folder, ignore_errors=True)
    layout.overlay.mkdir(parents=True, exist_ok=True)
    interfaces = layout.root / 'bootstrap' / 'interfaces'
    if origin == 'wheels':
        rewrite_tree(layout.venv / 'share', Prefixes.of(layout.venv))
        options = [f'-DPython3_EXECUTABLE={layout.python}',
                   f'-DCMAKE_PROJECT_INCLUDE={interfaces / "python_only.cmake"}']
    else:
        # The generators' Python dependencies belong to the distribution's interpreter.
        options = [f'-DPython3_EXECUTABLE={base_python}']
    progress.run(
        [layout.python, '-m', 'colcon', '--log-base', layout.overlay / 'log', 'build',
         '--base-paths', *packages_to_build(layout, origin, env),
         '--build-base', layout.overlay / 'build', '--install-base', layout.install,
         '--merge-install', '--event-handlers', 'console_direct+',
         '--cmake-args', *options, '-DBUILD_TESTING=OFF', '-DCMAKE_BUILD_TYPE=Release',
         '--no-warn-unused-cli'],
        # Not from the checkout: its colcon_defaults.yaml would add the package at the root.
        env=env, cwd=layout.overlay)
