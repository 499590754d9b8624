"""What the driver asks a robot's kinematics before it moves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rpent_ros.contracts.specs import SafetyLimits
from rpent_ros.errors import OutOfReach
from rpent_ros.geometry import Pose, tool_angles
from rpent_ros.motion import Leg
from rpent_ros.primitives.route import Vector, detours
from rpent_ros.robot import Robot
from rpent_ros.safety import distance_outside

# More than this left of a target by kinematics alone counts as out of reach.
_DISTANCE, _ANGLE = 0.005, 0.03
# How close a stop on the way must be approached before the next leg begins [m].
_BLEND_RADIUS = 0.06

Left = tuple[float, float]


class Reach:
    """Asks `Robot.path_errors`; a robot that does not know accepts every target."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def plan(
        self, start: Vector, legs: Sequence[Leg], limits: SafetyLimits
    ) -> tuple[Leg, ...]:
        """The same legs, with stops on the way where the arm cannot follow a straight line.

        Args:
          start: (3,) where the tool is [m].
          legs: what to do, in order.
          limits: with the workspace box, in which the stops lie.

        Raises:
          OutOfReach: names the first leg that cannot be done, and what would be left of it.
        """
        planned = list(legs)
        while True:
            far = self._first_far(planned)
            if far is None:
                return tuple(planned)
            index, left = far
            before = planned[:index]
            begin = before[-1].target.position if before else start
            via = self._via(begin, planned[index], before, limits)
            if via is None:
                raise _out_of_reach(planned[index].target, left)
            planned.insert(index, via)

    def _first_far(self, legs: Sequence[Leg]) -> tuple[int, Left] | None:
        """The first leg that cannot be done, and what is left of it; None: all can be."""
        errors = self._robot.path_errors([leg.target for leg in legs])
        if errors is None:
            return None
        for index, (leg, left) in enumerate(zip(legs, errors, strict=True)):
            # Staying where it is asks nothing of the arm, and a stop is passed at a distance.
            far = _is_far(left) if leg.index is not None else left[0] > leg.blend_radius
            if far and not leg.stays:
                return index, left
        return None

    def _via(
        self, start: Vector, leg: Leg, before: Sequence[Leg], limits: SafetyLimits
    ) -> Leg | None:
        """A stop that makes a leg possible; None: none was found."""
        for place in detours(start, leg.target.position):
            if distance_outside(limits, place):
                continue
            via = dataclasses.replace(
                leg,
                target=Pose(place, leg.target.quaternion),
                index=None,
                waits_for_fingers=False,
                blend_radius=_BLEND_RADIUS,
            )
            if self._first_far([*before, via, leg]) is None:
                return via
        return None


def _is_far(left: Left) -> bool:
    return left[0] > _DISTANCE or left[1] > _ANGLE


def _out_of_reach(target: Pose, left: Left) -> OutOfReach:
    angles = tool_angles(target.rotation)
    where = ', '.join(f'{value:.3f}' for value in target.position)
    return OutOfReach(
        f'the arm cannot bring the tool to [{where}] m with pitch {angles.pitch:.2f} and yaw '
        f'{angles.yaw:.2f} rad from where it is: about {1000 * left[0]:.0f} mm and '
        f'{left[1]:.2f} rad would be left; nothing moved; choose a target nearer to the middle '
        'of the workspace or another orientation'
    )
