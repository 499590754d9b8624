"""Files that are whole or absent: written beside their place, then renamed into it.

The data are on the disk before the rename (fsync), so this also holds for a power cut: without it
several file systems keep the new name and lose what is in it.  It costs 0.2 ms a file on a fast
disk and some 20 ms on a slow one, beside motions that take seconds.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import yaml

from rpent_ros.errors import BadOutputDir


def write_bytes(path: pathlib.Path, data: bytes) -> None:
    """Write a file atomically; a crash leaves the old file or the new one, never half of one.

    Raises:
      OSError: no space, no permission; the old file is untouched.
    """
    path = pathlib.Path(path)
    scratch = path.with_name(f'.{path.name}.{os.getpid()}.part')
    try:
        with open(scratch, 'wb') as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_json(path: pathlib.Path, value: Any) -> None:
    """Write a value as JSON, atomically.  NaN and infinity become null, as JSON has neither."""
    write_bytes(path, (json.dumps(plain(value), indent=1, allow_nan=False) + '\n').encode())


class _PlainDumper(yaml.SafeDumper):
    """Writes a value out wherever it occurs: `&id001` and `*id001` are no help to a reader."""

    def ignore_aliases(self, data: Any) -> bool:
        """No value is an alias of another."""
        return True


def to_yaml(value: Any, *, sort_keys: bool = False) -> str:
    """A value as YAML, without anchors and aliases."""
    return str(yaml.dump(value, Dumper=_PlainDumper, sort_keys=sort_keys, allow_unicode=True))


class LineFile:
    """A text file that grows by whole lines: a full disk leaves no half of one.

    Args:
      path: file to append to; made if it does not exist.

    Raises:
      OSError: it cannot be opened.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, line: str) -> None:
        """Append a line in a single write, so that a crash cannot split it either.

        Raises:
          OSError: no space; the file ends with the line before.
        """
        data = (line + '\n').encode()
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, data)
            # What is left of a full disk may take the beginning of a line.
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextlib.contextmanager
def writing(output_dir: pathlib.Path, what: str) -> Iterator[None]:
    """Have failures to write inside a run folder told in one sentence, with the cure.

    Args:
      output_dir: the run folder.
      what: what is being written, e.g. `state dump 3`.

    Raises:
      BadOutputDir: in place of any OSError.
    """
    try:
        yield
    except OSError as error:
        raise BadOutputDir(
            f'output_dir {output_dir}: {what} cannot be written: {error.strerror or error}; free '
            'some space there, or choose a folder on another disk; what was written before is '
            'intact'
        ) from None


def plain(value: Any, *, exact: bool = False) -> Any:
    """Return a value that JSON can hold: numpy, paths and enums turned into plain Python.

    Floats are rounded to 9 digits after the point: nanometres, and files that people can read.
    With `exact` they are left alone, NaN and infinity included.
    """
    if isinstance(value, dict):
        return {str(k): plain(v, exact=exact) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, exact=exact) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), exact=exact)
    if isinstance(value, np.generic):
        return plain(value.item(), exact=exact)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if exact:
            return float(value)
        return round(value, 9) if math.isfinite(value) else None
    return str(value)
