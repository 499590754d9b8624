"""Learned skills: a policy in closed loop, chunk by chunk, judged by what the robot measures."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from rpent_ros.contracts.motion import Clamp, Inference, MotionResult
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import PolicySpec
from rpent_ros.errors import ErrorCode, RpentError
from rpent_ros.ports import EnvClient, ShouldStop, VlaClient
from rpent_ros.primitives import report
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.result import ToolResult


@dataclasses.dataclass
class Trace:
    """What happened so far in one skill: heights [m] of the tool, steps, flags."""

    start: Observation
    now: Observation
    lowest: float
    chunks: int = 0
    steps: int = 0
    done: bool = False
    privileged: bool = False
    status: str = ''
    clamps: list[Clamp] = dataclasses.field(default_factory=list)
    code: ErrorCode = ErrorCode.OK
    message: str = ''

    @classmethod
    def begin(cls, observation: Observation) -> Trace:
        """A trace with nothing in it yet."""
        return cls(observation, observation, lowest=float(observation.ee_pose.position[2]))

    def add(self, inference: Inference, result: MotionResult) -> None:
        """Take in one executed chunk."""
        self.chunks += 1
        self.steps += result.steps
        self.done = inference.done
        self.privileged = self.privileged or inference.privileged
        self.status = inference.status
        self.clamps.extend(result.clamps)
        self.code, self.message = result.code, result.message
        if result.observation is not None:
            self.now = result.observation
            self.lowest = min(self.lowest, float(self.now.ee_pose.position[2]))

    @property
    def ended(self) -> bool:
        """True if the episode is over."""
        return self.now.terminated or self.now.truncated

    @property
    def descent(self) -> float:
        """How far the tool went down from its start [m]."""
        return float(self.start.ee_pose.position[2]) - self.lowest

    @property
    def lift(self) -> float:
        """How far the tool is above its lowest point [m]."""
        return float(self.now.ee_pose.position[2]) - self.lowest


class Skills:
    """Closed-loop policy skills.

    Args:
      env: the driver.
      vla: the policy.
      policy: what the policy needs.
      settings: parameters of the robot.
      should_stop: asked between control steps.
    """

    def __init__(
        self,
        env: EnvClient,
        vla: VlaClient,
        policy: PolicySpec,
        settings: ManipulationSettings,
        should_stop: ShouldStop,
        session: str = 'agent',
    ) -> None:
        self.env = env
        self.vla = vla
        self.policy = policy
        self.settings = settings
        self.should_stop = should_stop
        self.session = session

    def pick(self, prompt: str, max_chunks: int) -> ToolResult:
        """Run the policy until an object is lifted, it says it is done, or no chunk is left."""
        trace = self._begin()
        stopped_by = self._run(trace, prompt, max_chunks, until_lifted=True)
        data = self._data(trace, prompt, max_chunks, stopped_by)
        width = trace.now.gripper_width
        data['holding'] = self.settings.holds(width)
        if trace.code != ErrorCode.OK:
            return ToolResult(trace.code, trace.message, {**data, **report.hint(trace.code)})
        if trace.now.success or self._lifted(trace):
            return ToolResult(data=data)
        s = self.settings
        return ToolResult(
            ErrorCode.NOT_GRASPED,
            f'pi0_pick: no object was lifted in {trace.steps} control steps: finger '
            f'width {width:.3f} m (expected {s.min_grasp_width:.3f} to {s.max_grasp_width:.3f}), '
            f'went down {trace.descent:.3f} m (at least {s.min_descent:.3f}), then up '
            f'{trace.lift:.3f} m (at least {s.min_lift:.3f})',
            {**data, **report.hint(ErrorCode.NOT_GRASPED)},
        )

    def perform(self, prompt: str, max_chunks: int) -> ToolResult:
        """Run the policy until the task is solved, it says it is done, or no chunk is left."""
        trace = self._begin()
        stopped_by = self._run(trace, prompt, max_chunks, until_lifted=False)
        data = self._data(trace, prompt, max_chunks, stopped_by)
        if trace.code != ErrorCode.OK:
            return ToolResult(trace.code, trace.message, {**data, **report.hint(trace.code)})
        message = ''
        if stopped_by == 'max_chunks':
            message = (
                f'pi0_doubled: {trace.steps} control steps were executed without a verdict; '
                'look at the images'
            )
        return ToolResult(ErrorCode.OK, message, data)

    def _begin(self) -> Trace:
        self.vla.reset(self.session)
        return Trace.begin(self.env.observe())

    def _run(self, trace: Trace, prompt: str, max_chunks: int, *, until_lifted: bool) -> str:
        """Advance `trace` and return what ended it."""
        # Policies differ in how many rows they return at a time: what is limited is the motion.
        limit = max_chunks * (self.settings.chunk_rows or self.policy.horizon)
        while trace.steps < limit:
            if self.should_stop():
                trace.code, trace.message = ErrorCode.CANCELED, 'cancelled between two chunks'
                return 'cancelled'
            try:
                observation = self._look()
                inference = self.vla.infer(observation, prompt, session=self.session)
                result = self.env.execute_chunk(
                    inference.chunk,
                    first=min(self.settings.chunk_rows, inference.chunk.horizon),
                    should_stop=self.should_stop,
                )
            except RpentError as error:
                trace.code, trace.message = error.code, str(error)
                return 'error'
            trace.add(inference, result)
            if trace.ended:
                # A chunk cut short by the end of the episode is no failure of the skill.
                if trace.code == ErrorCode.EPISODE_OVER or trace.now.success:
                    trace.code, trace.message = ErrorCode.OK, ''
                return 'success' if trace.now.success else 'episode_over'
            if trace.code != ErrorCode.OK:
                return 'error'
            if until_lifted and self._lifted(trace):
                return 'lifted'
            if trace.done:
                return 'policy_done'
        return 'max_chunks'

    def _look(self) -> Observation:
        """Observation with the images that the policy asks for, one request per image size."""
        sizes: dict[tuple[int, int], list[str]] = {}
        for camera in self.policy.cameras:
            sizes.setdefault((camera.width, camera.height), []).append(camera.name)
        if not sizes:
            return self.env.observe()
        views = [
            self.env.observe(names, width=width, height=height)
            for (width, height), names in sizes.items()
        ]
        frames = {frame.name: frame for view in views for frame in view.frames}
        ordered = tuple(frames[camera.name] for camera in self.policy.cameras)
        return views[-1].with_frames(ordered)

    def _lifted(self, trace: Trace) -> bool:
        """An object is held and off its support.

        A policy that says it is done may have picked something off a high place, where the arm
        does not come down far; the fingers must still hold something.
        """
        down = trace.descent >= self.settings.min_descent or trace.done
        up = trace.lift >= self.settings.min_lift
        holding = self.settings.holds(trace.now.gripper_width)
        return down and up and holding is not False

    def _data(
        self, trace: Trace, prompt: str, max_chunks: int, stopped_by: str
    ) -> dict[str, Any]:
        width = trace.now.gripper_width
        data = {
            'requested': {'prompt': prompt, 'max_chunks': max_chunks},
            'executed': {
                'xyz': trace.now.ee_pose.position.tolist(),
                'gripper_width': None if math.isnan(width) else width,
            },
            'stopped_by': stopped_by,
            'policy': self.policy.name,
            'policy_status': trace.status,
            'chunks': trace.chunks,
            'steps': trace.steps,
            'descent': trace.descent,
            'lift': trace.lift,
            'clamped': bool(trace.clamps),
            'clamps': report.describe_clamps(trace.clamps),
            **report.describe_episode(trace.now),
        }
        if trace.privileged or self.policy.privileged:
            # Said in every result: a real robot could not have done this.
            data['privileged'] = True
        return data
