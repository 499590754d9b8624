"""What a tool answers: one shape for every tool and every robot."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from rpent_ros import files
from rpent_ros.errors import ErrorCode, RpentError


@dataclasses.dataclass(frozen=True)
class ToolImage:
    """A picture that belongs to a result: camera, file and size [px]."""

    camera: str
    path: pathlib.Path
    width: int
    height: int


@dataclasses.dataclass(frozen=True)
class ToolResult:
    """Outcome of one tool call.

    Attributes:
      code: OK, or why the tool did not do what was asked.
      message: one sentence for people and models; '' if there is nothing to add.
      data: measured values in SI units, made of JSON types.
      images: pictures of the state after the call.
      ends_run: the planner has nothing more to do.
    """

    code: ErrorCode = ErrorCode.OK
    message: str = ''
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    images: tuple[ToolImage, ...] = ()
    ends_run: bool = False

    @property
    def ok(self) -> bool:
        """True if the tool did what was asked."""
        return self.code == ErrorCode.OK

    def to_json(self) -> dict[str, Any]:
        """The result as a model reads it: JSON types only, images as camera and size."""
        out: dict[str, Any] = {'ok': self.ok, 'code': self.code.name, 'message': self.message}
        out.update(files.plain(dict(self.data)))
        if self.images:
            out['images'] = [
                {'camera': i.camera, 'width': i.width, 'height': i.height} for i in self.images
            ]
        return out

    @classmethod
    def of(cls, value: ToolResult | Mapping[str, Any]) -> ToolResult:
        """Accept what a handler returned: a ToolResult, or a plain mapping of measured values."""
        return value if isinstance(value, ToolResult) else cls(data=dict(value))

    @classmethod
    def refused(cls, error: RpentError) -> ToolResult:
        """The result of a call that failed or was refused before it could do anything."""
        return cls(error.code, str(error))
