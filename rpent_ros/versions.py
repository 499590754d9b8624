"""Versions of installed packages."""

from __future__ import annotations

import importlib.metadata


def version_of(distribution: str) -> str | None:
    """Version of what pip installed under this name; None if it did not."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def version_of_ros(package: str) -> str | None:
    """Version of a ROS package with Python code; None if it is not there.

    One that came as a wheel has two versions: the wheel's, `ros-<package>`, which is what can be
    installed again, and that of what was packed into it.  The wheel's counts.
    """
    return version_of(f'ros-{package}') or version_of(package)
