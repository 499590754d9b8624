"""What the primitives of a manipulator go by: parameters of the robot, not of the model."""

from __future__ import annotations

import dataclasses
import math

from rpent_ros.errors import InvalidRequest
from rpent_ros.primitives.hand import Hand


@dataclasses.dataclass(frozen=True)
class ManipulationSettings:
    """Parameters of the manipulation primitives of one robot.

    Attributes:
      image_size: longer side of the pictures that planners see [px]; 0: the camera's default.
      chunk_rows: rows of a policy's chunk that are executed before it is asked again; 0: all.
      min_descent: how far a pick must go down before it counts as one [m].
      min_lift: how far it must rise again above its lowest point [m].
      min_grasp_width, max_grasp_width: finger width with an object in between [m].
      approach_height: hover above a grasp, and lift after it [m].
      slow_speed: fraction of full speed for the last stretch of a grasp.
      hand: measures of the gripper, for proposing grasps.
    """

    image_size: int = 512
    chunk_rows: int = 10
    min_descent: float = 0.10
    min_lift: float = 0.05
    min_grasp_width: float = 0.002
    max_grasp_width: float = 0.06
    approach_height: float = 0.10
    slow_speed: float = 0.4
    hand: Hand = dataclasses.field(default_factory=Hand)

    def __post_init__(self) -> None:
        if not 0 <= self.image_size <= 2000:
            raise InvalidRequest(f'image_size: expected 0 to 2000 px, got {self.image_size}')
        if not self.min_grasp_width < self.max_grasp_width:
            raise InvalidRequest(
                'grasp width: expected min_grasp_width below max_grasp_width, got '
                f'{self.min_grasp_width} and {self.max_grasp_width} m'
            )

    def holds(self, width: float) -> bool | None:
        """Whether a finger width [m] tells of an object in between; None: not measured."""
        if math.isnan(width):
            return None
        return self.min_grasp_width <= width <= self.max_grasp_width
