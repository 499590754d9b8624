"""The primitive driver of a manipulator: one method per moving tool."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rpent_ros.contracts.specs import DriverSpec, PolicySpec
from rpent_ros.errors import Unavailable
from rpent_ros.ports import EnvClient, ShouldStop, VlaClient
from rpent_ros.primitives.arm import Arm
from rpent_ros.primitives.grasp import scripted_grasp
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.primitives.skill import Skills
from rpent_ros.tools.result import ToolResult


def never() -> bool:
    """Nobody asks for a stop."""
    return False


class ManipulationPrimitives:
    """What the moving tools of an arm with a gripper do.  A robot subclasses it to add its own.

    Args:
      env: the driver.
      spec: what the driver offers.
      model: the policy; None: no learned skills.
      policy: what the policy needs; None with `model`.
      settings: parameters of the robot; None: `default_settings`.
      image_size: longer side of the planner's pictures [px]; None: as the settings say.
      should_stop: asked between control steps.
    """

    default_settings = ManipulationSettings()

    def __init__(
        self,
        env: EnvClient,
        spec: DriverSpec,
        model: VlaClient | None = None,
        policy: PolicySpec | None = None,
        settings: ManipulationSettings | None = None,
        image_size: int | None = None,
        should_stop: ShouldStop = never,
    ) -> None:
        self.env = env
        self.spec = spec
        self.settings = settings or self.default_settings
        if image_size is not None:
            self.settings = dataclasses.replace(self.settings, image_size=image_size)
        self.arm = Arm(env, self.settings, should_stop)
        self._skills = None
        if model is not None and policy is not None:
            self._skills = Skills(env, model, policy, self.settings, should_stop)

    @property
    def has_policy(self) -> bool:
        """True if learned skills are available."""
        return self._skills is not None

    def move_to(
        self,
        xyz: Sequence[float],
        yaw: float | None = None,
        gripper: str = 'keep',
        speed: float | None = None,
    ) -> ToolResult:
        """See `Arm.move_to`."""
        return self.arm.move_to(xyz, yaw, gripper, speed)

    def move_delta(
        self, dxyz: Sequence[float], gripper: str = 'keep', speed: float | None = None
    ) -> ToolResult:
        """See `Arm.move_delta`."""
        return self.arm.move_delta(dxyz, gripper, speed)

    def move_pose(
        self,
        xyz: Sequence[float],
        pitch: float,
        yaw: float,
        gripper: str = 'keep',
        speed: float | None = None,
    ) -> ToolResult:
        """See `Arm.move_pose`."""
        return self.arm.move_pose(xyz, pitch, yaw, gripper, speed)

    def rotate_pitch(
        self, target_pitch: float | None = None, delta_pitch: float | None = None
    ) -> ToolResult:
        """See `Arm.rotate_pitch`."""
        return self.arm.rotate_pitch(target_pitch, delta_pitch)

    def rotate_wrist(
        self, target_yaw: float | None = None, delta_yaw: float | None = None
    ) -> ToolResult:
        """See `Arm.rotate_wrist`."""
        return self.arm.rotate_wrist(target_yaw, delta_yaw)

    def set_gripper(self, command: str) -> ToolResult:
        """See `Arm.set_gripper`."""
        return self.arm.set_gripper(command)

    def release(self) -> ToolResult:
        """See `Arm.release`."""
        return self.arm.release()

    def scripted_grasp(
        self,
        xyz: Sequence[float],
        yaw: float | None = None,
        approach_height: float | None = None,
    ) -> ToolResult:
        """See `rpent_ros.primitives.grasp`."""
        return scripted_grasp(self.arm, xyz, yaw, approach_height)

    def pi0_pick(self, prompt: str, max_chunks: int) -> ToolResult:
        """See `Skills.pick`."""
        return self._learned().pick(prompt, max_chunks)

    def pi0_doubled(self, prompt: str, max_chunks: int) -> ToolResult:
        """See `Skills.perform`."""
        return self._learned().perform(prompt, max_chunks)

    def _learned(self) -> Skills:
        if self._skills is None:
            raise Unavailable('no policy is connected; start a vla node and run the task again')
        return self._skills
