"""Files that are whole or absent: written beside their place, then renamed into it."""

from __future__ import annotations

import json
import math
import os
import pathlib
from typing import Any

import numpy as np


def write_bytes(path: pathlib.Path, data: bytes) -> None:
    """Write a file atomically; a crash leaves the old file or the new one, never half of one.

    Raises:
      OSError: no space, no permission; the old file is untouched.
    """
    path = pathlib.Path(path)
    scratch = path.with_name(f'.{path.name}.{os.getpid()}.part')
    try:
        scratch.write_bytes(data)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_json(path: pathlib.Path, value: Any) -> None:
    """Write a value as JSON, atomically.  NaN and infinity become null, as JSON has neither."""
    write_bytes(path, (json.dumps(plain(value), indent=1, allow_nan=False) + '\n').encode())


def append_json_line(path: pathlib.Path, value: Any) -> None:
    """Append one line of JSON in a single write, so that a crash cannot split the line."""
    line = (json.dumps(plain(value), allow_nan=False) + '\n').encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: numpy, paths and enums turned into plain Python.

    Floats are rounded to 9 digits after the point: nanometres, and files that people can read.
    """
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return round(value, 9) if math.isfinite(value) else None
    return str(value)
