"""What the primitives of a manipulator go by: parameters of the robot, not of the model."""

from __future__ import annotations

import dataclasses
import math

from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import InvalidRequest
from rpent_ros.primitives.grip import Grip
from rpent_ros.primitives.hand import Hand


@dataclasses.dataclass(frozen=True)
class ManipulationSettings:
    """Parameters of the manipulation primitives of one robot.

    Attributes:
      image_size: longer side of the pictures that planners see [px]; 0: the camera's default.
      chunk_rows: rows of a policy's chunk that are executed before it is asked again; 0: all.
      min_descent: how far a pick must go down before it counts as one [m].
      min_lift: how far it must rise again above its lowest point [m].
      min_grasp_width, max_grasp_width: finger width with an object in between [m]; the lower one
        above what an empty hand comes to rest at.
      min_grasp_effort: force of fingers that squeeze something [N], above what it takes to close
        an empty hand; 0.0: efforts tell nothing.
      rest_finger_speed: slower finger joints are at rest [m/s].
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
    min_grasp_effort: float = 0.0
    rest_finger_speed: float = 0.003
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

    def holds(self, observation: Observation) -> bool | None:
        """Whether the fingers hold something; None: not measured, or they still move."""
        grip = Grip.of(observation)
        if math.isnan(grip.width) or grip.speed > self.rest_finger_speed:
            return None
        if not self.min_grasp_width <= grip.width <= self.max_grasp_width:
            return False
        # An effort that is not measured, NaN, is not below anything.
        return not grip.effort < self.min_grasp_effort

    def grasp(self) -> str:
        """What `holds` looks for, in words."""
        width = f'{self.min_grasp_width:.3f} to {self.max_grasp_width:.3f} m'
        force = f' and at least {self.min_grasp_effort:.1f} N' if self.min_grasp_effort else ''
        return f'a finger width of {width}{force} with an object in between'

    def is_shut(self, observation: Observation) -> bool:
        """True if the fingers have come to rest with nothing in between."""
        return (
            self.holds(observation) is False
            and observation.gripper_width < self.min_grasp_width
        )
