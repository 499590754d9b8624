"""What the tools of a run give to the planner, whatever the robot."""

from __future__ import annotations

import dataclasses

from rpent_ros.errors import InvalidRequest

MAX_IMAGE_SIZE = 2000


@dataclasses.dataclass(frozen=True)
class ToolOptions:
    """Chosen by whoever starts the run, never by the planner.

    Attributes:
      image_size: longer side of the pictures [px]; 0: as policies see; None: the robot's default.
      text_only: no pictures; what they show is told in words and numbers.
      memory_dirs: folders outside the run that the file tools may use, `<folder>` or
        `<folder>:ro`.
    """

    image_size: int | None = None
    text_only: bool = False
    memory_dirs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.image_size is not None and not 0 <= self.image_size <= MAX_IMAGE_SIZE:
            raise InvalidRequest(
                f'image_size: expected 0 to {MAX_IMAGE_SIZE} px, got {self.image_size}'
            )
