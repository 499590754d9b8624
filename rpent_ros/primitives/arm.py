"""Motions of one arm with a gripper: one goal to the driver each, run at control rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rpent_ros.contracts.motion import Gripper, MotionResult, Waypoint
from rpent_ros.contracts.observation import Observation
from rpent_ros.geometry import Pose, ToolAngles, quaternion_from_matrix, tool_angles, wrap_angle
from rpent_ros.ports import EnvClient, ShouldStop
from rpent_ros.primitives import report
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.schema import exactly_one

GRIPPER = {'keep': Gripper.KEEP, 'open': Gripper.OPEN, 'close': Gripper.CLOSE}


def waypoint(
    xyz: Sequence[float] | None = None,
    *,
    pitch: float | None = None,
    yaw: float | None = None,
    **kwargs: Any,
) -> Waypoint:
    """A waypoint in the base frame [m], [rad]; None keeps what was commanded last."""
    rotation = ToolAngles(pitch or 0.0, yaw or 0.0).rotation
    return Waypoint(
        Pose(np.zeros(3) if xyz is None else np.asarray(xyz), quaternion_from_matrix(rotation)),
        keep_position=xyz is None,
        keep_tilt=pitch is None,
        keep_yaw=yaw is None,
        **kwargs,
    )


class Arm:
    """Motions in the base frame: positions in metres, angles in radians as `ToolAngles`.

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
        requested = {'xyz': list(xyz), 'yaw': yaw, 'gripper': gripper, 'speed': speed}
        return self._move(requested, waypoint(xyz, yaw=yaw, gripper=GRIPPER[gripper], speed=speed))

    def move_delta(
        self, dxyz: Sequence[float], gripper: str = 'keep', speed: float | None = None
    ) -> ToolResult:
        """Move by an offset from where the tool is."""
        start = self.env.observe()
        xyz = (start.ee_pose.position + np.asarray(dxyz)).tolist()
        requested = {'dxyz': list(dxyz), 'xyz': xyz, 'gripper': gripper, 'speed': speed}
        point = waypoint(xyz, gripper=GRIPPER[gripper], speed=speed)
        return self._move(requested, point, start=start)

    def move_pose(
        self,
        xyz: Sequence[float],
        pitch: float,
        yaw: float,
        gripper: str = 'keep',
        speed: float | None = None,
    ) -> ToolResult:
        """Move in a straight line to a position and an orientation."""
        requested = {
            'xyz': list(xyz), 'pitch': pitch, 'yaw': yaw, 'gripper': gripper, 'speed': speed,
        }  # fmt: skip
        point = waypoint(xyz, pitch=pitch, yaw=yaw, gripper=GRIPPER[gripper], speed=speed)
        return self._move(requested, point)

    def rotate_wrist(
        self, target_yaw: float | None = None, delta_yaw: float | None = None
    ) -> ToolResult:
        """Turn the tool about its approach axis where it is, to a yaw or by an angle.

        Raises:
          BadArguments: both angles or none were given.
        """
        exactly_one('rotate_wrist', target_yaw=target_yaw, delta_yaw=delta_yaw)
        start = self.env.observe()
        now = tool_angles(start.ee_pose.rotation).yaw
        yaw = wrap_angle(now + delta_yaw if delta_yaw is not None else target_yaw or 0.0)
        return self._move({'yaw': yaw}, waypoint(yaw=yaw), start=start, start_yaw=now)

    def rotate_pitch(
        self, target_pitch: float | None = None, delta_pitch: float | None = None
    ) -> ToolResult:
        """Tilt the tool about the base's x axis where it is, to a pitch or by an angle.

        Raises:
          BadArguments: both angles or none were given.
        """
        exactly_one('rotate_pitch', target_pitch=target_pitch, delta_pitch=delta_pitch)
        start = self.env.observe()
        now = tool_angles(start.ee_pose.rotation).pitch
        pitch = wrap_angle(now + delta_pitch if delta_pitch is not None else target_pitch or 0.0)
        return self._move({'pitch': pitch}, waypoint(pitch=pitch), start=start, start_pitch=now)

    def set_gripper(self, command: str) -> ToolResult:
        """Open or close the gripper where it is and wait until the fingers rest."""
        start = self.env.observe()
        result = self.go([waypoint(gripper=GRIPPER[command])])
        # Fingers that open may press outwards, too.
        extra = {} if command == 'close' else {'holding': False}
        return self.answer({'gripper': command}, result, start, **extra)

    def release(self) -> ToolResult:
        """Open the gripper, letting go of whatever it holds."""
        start = self.env.observe()
        result = self.go([waypoint(gripper=Gripper.OPEN)])
        return self.answer(
            {'gripper': 'open'}, result, start, start_gripper_width=start.gripper_width
        )

    def go(self, waypoints: Sequence[Waypoint]) -> MotionResult:
        """One goal to the driver."""
        return self.env.move_to(waypoints, should_stop=self.should_stop)

    def answer(
        self, requested: dict[str, Any], result: MotionResult, start: Observation, **extra: Any
    ) -> ToolResult:
        """The result of a tool made of one goal."""
        data = report.describe_motion(requested, result, start)
        data['holding'] = self.settings.holds(result.observation or start)
        hint = report.hint(result.code)
        return ToolResult(result.code, result.message, {**data, **extra, **hint})

    def _move(
        self,
        requested: dict[str, Any],
        point: Waypoint,
        *,
        start: Observation | None = None,
        **extra: Any,
    ) -> ToolResult:
        start = start or self.env.observe()
        return self.answer(requested, self.go([point]), start, **extra)
