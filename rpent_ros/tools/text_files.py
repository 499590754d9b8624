"""Text files for planners' notes, confined to the run's folder and to declared memory folders."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from rpent_ros import files, run_dir
from rpent_ros.errors import BadPath, InvalidRequest

# A listing longer than this tells a planner nothing.
MAX_LISTED = 200
MAX_FILE_BYTES = 1_000_000
_READ_ONLY = ':ro'


@dataclasses.dataclass(frozen=True)
class MemoryDir:
    """A folder outside the run that planners may use, addressed as `<name>:<path>`.

    Attributes:
      name: what planners call it; the folder's own name.
      path: the folder, absolute.
      writable: planners may write into it.
    """

    name: str
    path: pathlib.Path
    writable: bool = True

    @property
    def text(self) -> str:
        """What `parse` reads."""
        return str(self.path) + ('' if self.writable else _READ_ONLY)

    @classmethod
    def parse(cls, text: str) -> MemoryDir:
        """Read `<folder>` or, for a folder that must not be written, `<folder>:ro`.

        Raises:
          InvalidRequest: there is no such folder.
        """
        writable = not text.endswith(_READ_ONLY)
        path = pathlib.Path(text.removesuffix(_READ_ONLY)).expanduser().absolute()
        if not path.is_dir():
            raise InvalidRequest(
                f'memory_dirs: expected folders that exist, got {text!r}; make it or correct it'
            )
        return cls(path.name, path, writable)


class TextFiles:
    """The tools that read and write text; a method each.

    A path is relative to the run's folder, or `<name>:<path>` for a memory folder.  What the run
    itself records cannot be overwritten, and what its processes keep to themselves (logs,
    simulator states, the bag) cannot be read: neither the record nor the planner's view of the
    world can be changed through these tools.

    Args:
      output_dir: the run folder.
      memory_dirs: folders outside it.

    Raises:
      InvalidRequest: two memory folders have the same name.
    """

    def __init__(
        self, output_dir: pathlib.Path, memory_dirs: Sequence[MemoryDir] = ()
    ) -> None:
        self._run = pathlib.Path(output_dir)
        self._memory = {memory.name: memory for memory in memory_dirs}
        if len(self._memory) != len(memory_dirs):
            names = ', '.join(memory.name for memory in memory_dirs)
            raise InvalidRequest(f'memory_dirs: expected folders of different names, got {names}')

    def read_text_file(self, path: str, max_chars: int = 40_000) -> dict[str, Any]:
        """The beginning of a text file.

        Raises:
          BadPath: outside, not there, no text.
        """
        file = self._readable(path)
        if file.is_dir():
            raise BadPath(f'{path} is a folder; expected a file, see list_dir')
        if not file.is_file():
            raise BadPath(f'{path} does not exist; list_dir shows what does')
        try:
            text = file.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            raise BadPath(
                f'{path} is no text file; for pictures there is read_image'
            ) from None
        except OSError as error:
            raise BadPath(f'{path} cannot be read: {error.strerror or error}') from None
        return {
            'path': path,
            'size': len(text),
            'content': text[:max_chars],
            'truncated_text': len(text) > max_chars,
        }

    def write_text_file(self, path: str, content: str) -> dict[str, Any]:
        """Write a whole text file, making folders as needed.

        Raises:
          BadPath: outside, recorded by the run itself, read-only, too large or not writable.
        """
        file = self._writable(path)
        data = content.encode()
        if len(data) > MAX_FILE_BYTES:
            raise BadPath(
                f'{path}: expected at most {MAX_FILE_BYTES} bytes, got {len(data)}; shorten it'
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            files.write_bytes(file, data)
        except OSError as error:
            raise BadPath(f'{path} cannot be written: {error.strerror or error}') from None
        return {'path': path, 'bytes_written': len(data)}

    def list_dir(self, path: str = '') -> dict[str, Any]:
        """Names in one folder, folders with a slash at the end.

        Raises:
          BadPath: outside, not there, no folder.
        """
        folder = self._readable(path)
        if not folder.is_dir():
            what = 'is a file' if folder.exists() else 'does not exist'
            raise BadPath(f'{path} {what}; expected a folder')
        entries = [
            entry
            for entry in sorted(folder.iterdir())
            if not entry.name.startswith('.') and not self._is_hidden(entry)
        ]
        return {
            'path': path,
            'count': len(entries),
            'files': [
                {'name': f'{entry.name}/'} if entry.is_dir()
                else {'name': entry.name, 'bytes': entry.stat().st_size}
                for entry in entries[:MAX_LISTED]
            ],
            'memory': [
                {'name': f'{memory.name}:', 'writable': memory.writable}
                for memory in self._memory.values()
            ],
        }  # fmt: skip

    def _resolve(self, path: str) -> tuple[pathlib.Path, MemoryDir | None]:
        """The file that a path names, and the memory folder it lies in.

        Raises:
          BadPath: it leads out of the folder, also through a link.
        """
        name, colon, rest = path.partition(':')
        memory = self._memory.get(name) if colon else None
        if colon and memory is None:
            known = ', '.join(f'{name}:' for name in self._memory) or 'none'
            raise BadPath(f'{path}: unknown memory folder {name!r}; known memory folders: {known}')
        root = (memory.path if memory else self._run).resolve()
        try:
            file = (root / (rest if memory else path)).resolve()
        except (OSError, RuntimeError, ValueError):
            file = root.parent
        if file != root and root not in file.parents:
            where = f'memory folder {name}:' if memory else "run's folder"
            raise BadPath(
                f'{path} lies outside the {where}; expected a path below it without ..'
            )
        return file, memory

    def _readable(self, path: str) -> pathlib.Path:
        file, _ = self._resolve(path)
        if self._is_hidden(file):
            raise BadPath(
                f"{path} belongs to the robot's processes and cannot be read with this tool"
            )
        return file

    def _writable(self, path: str) -> pathlib.Path:
        file, memory = self._resolve(path)
        if memory is None:
            inside = file.relative_to(self._run.resolve())
            if run_dir.is_artifact(inside):
                raise BadPath(
                    f'{path} is recorded by the run itself and cannot be overwritten; choose '
                    'another name, such as notes.md'
                )
        elif not memory.writable:
            raise BadPath(f'memory folder {memory.name}: is read-only; write to the run instead')
        if file.is_dir():
            raise BadPath(f'{path or "the folder itself"} is a folder; expected a file name')
        return file

    def _is_hidden(self, file: pathlib.Path) -> bool:
        root = self._run.resolve()
        if root not in file.resolve().parents:
            return False
        return run_dir.is_internal(file.resolve().relative_to(root))
