"""A grasp from above at a point that somebody measured: no policy, no privileged data."""

from __future__ import annotations

from collections.abc import Sequence

from rpent_ros.contracts.motion import Gripper
from rpent_ros.errors import ErrorCode
from rpent_ros.primitives import report
from rpent_ros.primitives.arm import Arm, waypoint
from rpent_ros.primitives.grip import Grip
from rpent_ros.tools.result import ToolResult

# What each waypoint of the goal does; after the last one the grasp is done.
STAGES = ('hover', 'descend', 'close', 'lift')


def scripted_grasp(
    arm: Arm, xyz: Sequence[float], yaw: float | None, approach_height: float | None
) -> ToolResult:
    """Hover above `xyz`, go down, close, lift; then the fingers tell whether something is held.

    Args:
      arm: the arm.
      xyz: where the tool centre point closes [m], base frame.
      yaw: tool yaw [rad]; None keeps the one commanded last.
      approach_height: hover and lift above xyz [m]; None: the robot's default.

    Returns:
      OK, NOT_GRASPED, or the code of the motion, with the stage that it ended in.
    """
    settings = arm.settings
    height = settings.approach_height if approach_height is None else approach_height
    requested = {'xyz': list(xyz), 'yaw': yaw, 'approach_height': height}
    hover = [xyz[0], xyz[1], xyz[2] + height]
    start = arm.env.observe()
    result = arm.go([
        waypoint(hover, pitch=0.0, yaw=yaw, gripper=Gripper.OPEN),
        waypoint(xyz, speed=settings.slow_speed),
        waypoint(gripper=Gripper.CLOSE),
        # Closing goes on: the lift has ended when the fingers rest, whatever they have lost.
        waypoint(hover, gripper=Gripper.CLOSE),
    ])
    stage = (*STAGES, 'done')[result.reached]
    if not result.ok or result.reached < len(STAGES):
        return arm.answer(requested, result, start, stage=stage, holding=None)
    answer = arm.answer(requested, result, start, stage=stage)
    if answer.data['holding'] is not False:
        return answer
    return ToolResult(
        ErrorCode.NOT_GRASPED,
        f'scripted_grasp: expected {settings.grasp()}, got '
        f'{Grip.of(result.observation or start)} after the lift; measure the point again or '
        'choose another yaw',
        {**answer.data, **report.hint(ErrorCode.NOT_GRASPED)},
    )
