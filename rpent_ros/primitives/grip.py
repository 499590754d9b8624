"""What a gripper feels: from one reading, whether its fingers hold something.

Fingers that are still closing pass through every width, so a width tells nothing before they rest.
Then an object keeps them apart, and keeps them pushing: an empty hand ends narrower, and the
forces that its moving fingers needed are gone.
"""

from __future__ import annotations

import dataclasses
import math

from rpent_ros.contracts.observation import Observation


@dataclasses.dataclass(frozen=True)
class Grip:
    """One reading.  Fingers are the joints whose names say so, as in URDFs and MuJoCo models.

    Attributes:
      width: distance between the pads [m]; NaN: not measured.
      speed: of the fastest finger joint [m/s]; 0.0: not measured.
      effort: largest force of a finger joint [N]; NaN: not measured.
    """

    width: float
    speed: float
    effort: float

    def __str__(self) -> str:
        force = '' if math.isnan(self.effort) else f' and {self.effort:.1f} N'
        return f'{self.width:.3f} m{force}'

    @classmethod
    def of(cls, observation: Observation) -> Grip:
        """The gripper's part of what a robot senses."""
        fingers = [n for n, name in enumerate(observation.joint_names) if 'finger' in name]
        speeds = [abs(float(observation.joint_velocities[n])) for n in fingers]
        efforts = (
            [abs(float(observation.joint_efforts[n])) for n in fingers]
            if len(observation.joint_efforts)
            else []
        )
        return cls(
            observation.gripper_width,
            speed=max(speeds, default=0.0),
            effort=max(efforts, default=math.nan),
        )
