"""Motions of one arm with a gripper: goals to the driver, which runs them at control rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rpent_ros.contracts.motion import Gripper, MotionResult, MoveGoal
from rpent_ros.contracts.observation import Observation
from rpent_ros.errors import BadArguments, ErrorCode
from rpent_ros.geometry import (
    Pose,
    quaternion_from_matrix,
    rotation_about_z,
    wrap_angle,
    yaw_of_tool,
)
from rpent_ros.ports import EnvClient, ShouldStop
from rpent_ros.primitives import report
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.result import ToolResult

GRIPPER = {'keep': Gripper.KEEP, 'open': Gripper.OPEN, 'close': Gripper.CLOSE}


class Arm:
    """Motions in the base frame: xyz in metres, yaw in radians about the base's z axis.

    Args:
      env: the driver.
      settings: parameters of the robot.
      should_stop: asked between control steps.
    """

    def __init__(
        self, env: EnvClient, settings: ManipulationSettings, should_stop: ShouldStop
    ) -> None:
        self.env = env
        self.settings = settings
        self.should_stop = should_stop

    def move_to(
        self,
        xyz: Sequence[float],
        yaw: float | None = None,
        gripper: str = 'keep',
        speed: float | None = None,
    ) -> ToolResult:
        """Move the tool centre point in a straight line; yaw None keeps the orientation."""
        start = self.env.observe()
        result = self.go(start, xyz, yaw=yaw, gripper=GRIPPER[gripper], speed=speed)
        requested = {'xyz': list(xyz), 'yaw': yaw, 'gripper': gripper, 'speed': speed}
        return self.answer(requested, [result], start)

    def rotate_wrist(
        self, target_yaw: float | None = None, delta_yaw: float | None = None
    ) -> ToolResult:
        """Turn the tool about the base's z axis where it is, to a yaw or by an angle.

        Raises:
          BadArguments: both angles or none were given.
        """
        if (target_yaw is None) == (delta_yaw is None):
            raise BadArguments(
                'rotate_wrist: expected exactly one of target_yaw and delta_yaw, got '
                + ('none' if target_yaw is None else 'both')
            )
        start = self.env.observe()
        yaw = yaw_of_tool(start.ee_pose.rotation)
        goal = target_yaw if target_yaw is not None else yaw + (delta_yaw or 0.0)
        result = self.go(start, None, yaw=goal)
        return self.answer({'yaw': wrap_angle(goal)}, [result], start, start_yaw=yaw)

    def set_gripper(self, command: str) -> ToolResult:
        """Open or close the gripper where it is and wait until the fingers rest."""
        start = self.env.observe()
        result = self.drive_gripper(GRIPPER[command], start)
        width = (result.observation or start).gripper_width
        holding = self.settings.holds(width) if command == 'close' else False
        return self.answer({'gripper': command}, [result], start, holding=holding)

    def release(self) -> ToolResult:
        """Open the gripper, letting go of whatever it holds."""
        start = self.env.observe()
        result = self.drive_gripper(Gripper.OPEN, start)
        return self.answer(
            {'gripper': 'open'}, [result], start, start_gripper_width=start.gripper_width
        )

    def go(
        self,
        start: Observation,
        xyz: Sequence[float] | None,
        *,
        yaw: float | None = None,
        gripper: Gripper = Gripper.KEEP,
        speed: float | None = None,
    ) -> MotionResult:
        """One motion; xyz None keeps the position, yaw None the orientation."""
        rotation = start.ee_pose.rotation
        if yaw is not None:
            # Turned about the base's z axis, so that the tool's tilt stays as it is.
            rotation = rotation_about_z(yaw - yaw_of_tool(rotation)) @ rotation
        target = Pose(
            start.ee_pose.position if xyz is None else np.asarray(xyz, float),
            quaternion_from_matrix(rotation),
        )
        goal = MoveGoal(
            target,
            keep_position=xyz is None,
            keep_orientation=yaw is None,
            gripper=gripper,
            speed=speed,
        )
        return self.env.move_to(goal, should_stop=self.should_stop)

    def drive_gripper(self, command: Gripper, start: Observation) -> MotionResult:
        """Hold still with a gripper command; the driver waits until the fingers rest."""
        return self.go(start, None, gripper=command)

    def answer(
        self,
        requested: dict[str, Any],
        results: Sequence[MotionResult],
        start: Observation,
        **extra: Any,
    ) -> ToolResult:
        """The result of a tool made of motions; the last motion's code is the tool's."""
        last = results[-1]
        data = report.describe_motion(requested, results, start)
        return ToolResult(last.code, last.message, {**data, **extra, **report.hint(last.code)})


def stopped(result: MotionResult) -> bool:
    """True if a motion ended in a way that makes a next one pointless."""
    ended = result.observation is not None and (
        result.observation.terminated or result.observation.truncated
    )
    return ended or result.code not in (ErrorCode.OK, ErrorCode.NOT_REACHED)
