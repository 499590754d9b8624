"""Which object each pixel shows.  PRIVILEGED: only a simulator knows."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts import checks
from rpent_ros.errors import InvalidRequest

# Pixels of the robot, the table, the walls: of nothing that has a name.
NOTHING = 0


@dataclasses.dataclass(frozen=True)
class Label:
    """What pixels of one number show.

    Attributes:
      name: an object, or a part of a fixture, as in the scene, e.g. milk_1.
      parent: the object or fixture it is a part of; equal to `name` for a whole one.
      movable: a free object; otherwise fixed or articulated.
    """

    name: str
    _: dataclasses.KW_ONLY
    parent: str
    movable: bool


@dataclasses.dataclass(frozen=True)
class LabelImage:
    """The labels of one camera image, pixel for pixel.

    Attributes:
      camera: camera name.
      ids: (H, W) uint16, upright like the image; 0: nothing that has a name, n: labels[n - 1].
      labels: what can be seen in the scene, whether it is in this image or not.
      episode, step: the moment it shows; the driver fills them in.
    """

    camera: str
    _: dataclasses.KW_ONLY
    ids: NDArray[np.uint16]
    labels: tuple[Label, ...]
    episode: int = 0
    step: int = 0

    def __post_init__(self) -> None:
        where = f'label image of {self.camera}'
        ids = checks.array(where, self.ids, shape=(None, None), dtype=np.uint16)
        if ids.size and int(ids.max()) > len(self.labels):
            raise InvalidRequest(
                f'{where}: expected numbers up to {len(self.labels)}, one for each label, got '
                f'{int(ids.max())}'
            )
        object.__setattr__(self, 'ids', ids)
