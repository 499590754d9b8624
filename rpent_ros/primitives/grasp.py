"""A grasp from above at a point that somebody measured: no policy, no privileged data."""

from __future__ import annotations

from collections.abc import Sequence

from rpent_ros.contracts.motion import Gripper, MotionResult
from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import ErrorCode
from rpent_ros.primitives import report
from rpent_ros.primitives.arm import Arm, stopped
from rpent_ros.tools.result import ToolResult


def scripted_grasp(
    arm: Arm, xyz: Sequence[float], yaw: float | None, approach_height: float | None
) -> ToolResult:
    """Hover above `xyz`, go down, close, lift; the finger width tells whether something is held.

    Args:
      arm: the arm.
      xyz: where the tool centre point closes [m], base frame.
      yaw: tool yaw [rad]; None keeps the present one.
      approach_height: hover and lift above xyz [m]; None: the robot's default.

    Returns:
      OK, NOT_GRASPED, or the code of the motion that failed, with the stage in `stage`.
    """
    settings = arm.settings
    height = settings.approach_height if approach_height is None else approach_height
    requested = {'xyz': list(xyz), 'yaw': yaw, 'approach_height': height}
    hover = [xyz[0], xyz[1], xyz[2] + height]
    start = arm.env.observe()
    results: list[MotionResult] = []
    stage = 'hover'

    def ends_here(result: MotionResult) -> bool:
        results.append(result)
        return not result.ok or stopped(result)

    def failed() -> ToolResult:
        return arm.answer(requested, results, start, stage=stage, holding=None)

    if ends_here(arm.go(start, hover, yaw=yaw, gripper=Gripper.OPEN)):
        return failed()
    stage = 'descend'
    if ends_here(arm.go(_end(results), xyz, yaw=yaw, speed=settings.slow_speed)):
        return failed()
    stage = 'close'
    if ends_here(arm.drive_gripper(Gripper.CLOSE, _end(results))):
        return failed()
    stage = 'lift'
    if ends_here(arm.go(_end(results), hover)):
        return failed()
    stage = 'done'
    width = _end(results).gripper_width
    holding = settings.holds(width)
    answer = arm.answer(requested, results, start, stage=stage, holding=holding)
    if holding is not False:
        return answer
    return ToolResult(
        ErrorCode.NOT_GRASPED,
        f'scripted_grasp: expected a finger width of {settings.min_grasp_width:.3f} to '
        f'{settings.max_grasp_width:.3f} m with an object in between, got {width:.3f} m after '
        'the lift; measure the point again or choose another yaw',
        {**answer.data, **report.hint(ErrorCode.NOT_GRASPED)},
    )


def _end(results: list[MotionResult]) -> Observation:
    observation = results[-1].observation
    assert observation is not None
    return observation
