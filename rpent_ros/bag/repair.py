"""Rebuilds the end of a bag whose writer was killed."""

from __future__ import annotations

import os
import pathlib

from rpent_ros.bag import metadata
from rpent_ros.bag.finish import MAGIC, finish, whole_bytes
from rpent_ros.bag.records import BagSummary
from rpent_ros.bag.verify import verify
from rpent_ros.bag.writer import RESERVE
from rpent_ros.errors import BagFailed


def repair(path: str | os.PathLike[str]) -> BagSummary:
    """Make a bag readable whose writer was killed; an intact bag is left alone.

    Everything up to the first damaged record is kept.  The summary's `custom` then says
    'repaired' and how many bytes at the end were lost.  The bag is changed in place.

    Raises:
      BagFailed: there is no bag, or nothing in it can be read.
    """
    folder = pathlib.Path(path)
    source = folder / f'{folder.name}_0.mcap'
    if not source.is_file():
        raise BagFailed(f'bag {folder}: expected {source.name} in it, found none')
    (folder / RESERVE).unlink(missing_ok=True)
    complete = _is_complete(source)
    if complete and (folder / metadata.FILE).is_file():
        return verify(folder)
    lost = 0 if complete else source.stat().st_size - whole_bytes(source)
    finish(source, {'repaired': 'true', 'bytes_lost': str(lost)})
    return verify(folder)


def _is_complete(source: pathlib.Path) -> bool:
    """True if the file ends as a closed MCAP file does."""
    with open(source, 'rb') as file:
        file.seek(0, os.SEEK_END)
        if file.tell() < 2 * len(MAGIC):
            return False
        file.seek(-len(MAGIC), os.SEEK_END)
        return file.read() == MAGIC
