"""Finds and reads the parameter files of the nodes."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from rpent_ros.errors import InvalidRequest


def config_dir() -> pathlib.Path:
    """Folder of the parameter files: of the checkout, or of the installed package.

    Raises:
      InvalidRequest: neither is there.
    """
    checkout = pathlib.Path(__file__).resolve().parents[1] / 'config'
    if checkout.is_dir():
        return checkout
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        installed = pathlib.Path(prefix) / 'share' / 'rpent_ros' / 'config'
        if prefix and installed.is_dir():
            return installed
    raise InvalidRequest(
        f'parameter files: expected {checkout} or share/rpent_ros/config in AMENT_PREFIX_PATH; '
        'is the package built and sourced?'
    )


def load_parameters(files: Sequence[pathlib.Path], node: str) -> dict[str, Any]:
    """Parameters of one node from several files; later files win.

    A file's sections are `/**` for all nodes, and `/**/<node>` or `<node>` for one.

    Raises:
      InvalidRequest: a file is no parameter file.
    """
    merged: dict[str, Any] = {}
    for file in files:
        if not file.is_file():
            continue
        try:
            document = yaml.safe_load(file.read_text()) or {}
            sections = [document.get(key) for key in ('/**', f'/**/{node}', node)]
            for section in sections:
                if section is not None:
                    merged |= _flat(section['ros__parameters'] or {})
        except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
            raise InvalidRequest(
                f'parameter file {file}: expected sections with ros__parameters, got {error!r}'
            ) from None
    return merged


def _flat(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    """Nested sections as ROS names them: a.b.c."""
    out: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f'{prefix}{key}.')
        else:
            out[f'{prefix}{key}'] = value
    return out
