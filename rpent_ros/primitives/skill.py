"""Learned skills: a policy in closed loop, chunk by chunk, judged by what the robot measures."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from rpent_ros.contracts.motion import Clamp, Gripper, Inference, MotionResult
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import PolicySpec
from rpent_ros.errors import ErrorCode, RpentError
from rpent_ros.ports import EnvClient, ShouldStop, VlaClient
from rpent_ros.primitives import report
from rpent_ros.primitives.arm import waypoint
from rpent_ros.primitives.grip import Grip
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.result import ToolResult


@dataclasses.dataclass
class Trace:
    """What happened so far in one skill: heights [m] of the tool, steps, flags.

    `privileged` is true once a policy was asked that knows what no real robot does.

    `carrying` is true while something is held that the skill began with, or has lifted.
    """

    start: Observation
    now: Observation
    lowest: float
    chunks: int = 0
    steps: int = 0
    done: bool = False
    carrying: bool = False
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
        self.done = inference.done
        self.privileged = self.privileged or inference.privileged
        self.status = inference.status
        self.move(result)

    def move(self, result: MotionResult) -> None:
        """Take in a motion."""
        self.steps += result.steps
        self.clamps.extend(result.clamps)
        self.code, self.message = result.code, result.message
        if result.observation is not None:
            self.now = result.observation
            self.lowest = min(self.lowest, float(self.now.ee_pose.position[2]))

    @property
    def may_go_on(self) -> bool:
        """True if nothing went wrong and the episode goes on."""
        return self.code == ErrorCode.OK and not self.ended

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
        """Run the policy until an object is lifted, it says it is done, or no chunk is left.

        When the fingers seem to hold something after the lift, the arm stands still and closes
        them on, so that what slips out is noticed before anything is said.
        """
        trace = self._begin()
        stopped_by = self._run(trace, prompt, max_chunks, until_lifted=True)
        data = self._data(trace, prompt, max_chunks, stopped_by)
        if trace.code != ErrorCode.OK:
            return ToolResult(trace.code, trace.message, {**data, **report.hint(trace.code)})
        if stopped_by in ('success', 'lifted'):
            return ToolResult(data=data)
        s = self.settings
        ended = f'{trace.message}; ' if trace.message else ''
        return ToolResult(
            ErrorCode.NOT_GRASPED,
            f'pi0_pick: {ended}no object was lifted in {trace.steps} control steps: expected '
            f'{s.grasp()}, got {Grip.of(trace.now)}; went down {trace.descent:.3f} m (at least '
            f'{s.min_descent:.3f}), then up {trace.lift:.3f} m (at least {s.min_lift:.3f})',
            {**data, **report.hint(ErrorCode.NOT_GRASPED)},
        )

    def perform(self, prompt: str, max_chunks: int) -> ToolResult:
        """Run the policy until the task is solved, it says it is done, or no chunk is left.

        It also ends when the hand is found shut and empty that carried something: what a policy
        does from there on with air in its hand is of no use.
        """
        trace = self._begin()
        stopped_by = self._run(trace, prompt, max_chunks, until_lifted=False)
        data = self._data(trace, prompt, max_chunks, stopped_by)
        if trace.code != ErrorCode.OK:
            return ToolResult(trace.code, trace.message, {**data, **report.hint(trace.code)})
        if stopped_by == 'dropped':
            return ToolResult(
                ErrorCode.NOT_GRASPED,
                f'pi0_doubled: what the hand held was lost within {trace.steps} control steps: '
                f'expected {self.settings.grasp()}, got {Grip.of(trace.now)}',
                {**data, **report.hint(ErrorCode.NOT_GRASPED)},
            )
        message = f'pi0_doubled: {trace.message}' if trace.message else ''
        if stopped_by == 'max_chunks':
            message = (
                f'pi0_doubled: {trace.steps} control steps were executed without a verdict; '
                'look at the images'
            )
        return ToolResult(ErrorCode.OK, message, data)

    def _begin(self) -> Trace:
        self.vla.reset(self.session)
        trace = Trace.begin(self.env.observe())
        trace.carrying = self.settings.holds(trace.start) is True
        return trace

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
                # Also a refusal says something about the scene.
                trace.privileged = trace.privileged or self.policy.privileged
                inference = self.vla.infer(observation, prompt, session=self.session)
                result = self.env.execute_chunk(
                    inference.chunk,
                    first=min(self.settings.chunk_rows, inference.chunk.horizon),
                    should_stop=self.should_stop,
                )
                trace.add(inference, result)
                lifted = until_lifted and trace.may_go_on and self._may_be_lifted(trace)
                if lifted:
                    trace.move(self._squeeze())
                    lifted = self._lifted(trace)
            except RpentError as error:
                trace.code, trace.message = error.code, str(error)
                return 'error'
            if trace.ended:
                # A chunk cut short by the end of the episode is no failure of the skill.
                if trace.code == ErrorCode.EPISODE_OVER:
                    trace.code = ErrorCode.OK
                if trace.now.success:
                    trace.code, trace.message = ErrorCode.OK, ''
                return 'success' if trace.now.success else 'episode_over'
            if trace.code != ErrorCode.OK:
                return 'error'
            if trace.now.success and (until_lifted or trace.done):
                # A policy that has placed something goes on: it lets go and leaves.
                return 'success'
            if lifted:
                return 'lifted'
            if not until_lifted and self._dropped(trace):
                return 'dropped'
            if trace.done:
                return 'policy_done'
        return 'success' if trace.now.success else 'max_chunks'

    def _squeeze(self) -> MotionResult:
        """Stand still with closing fingers until they rest."""
        return self.env.move_to(waypoint(gripper=Gripper.CLOSE), should_stop=self.should_stop)

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
        """The arm went down and up again, and something is held, as far as that is measured."""
        unmeasured = math.isnan(trace.now.gripper_width)
        return self._rose(trace) and (unmeasured or self.settings.holds(trace.now) is True)

    def _may_be_lifted(self, trace: Trace) -> bool:
        """True if it is time to let the fingers come to rest and look again.

        While the policy goes on, fingers that move are its business.
        """
        moving = self.settings.holds(trace.now) is None
        return self._lifted(trace) or (trace.done and moving and self._rose(trace))

    def _rose(self, trace: Trace) -> bool:
        """The arm went down to something and up again.

        A policy that says it is done may have picked something off a high place, where the arm
        does not come down far.
        """
        down = trace.descent >= self.settings.min_descent or trace.done
        return down and trace.lift >= self.settings.min_lift

    def _dropped(self, trace: Trace) -> bool:
        """The hand carried something and is now empty, though nobody opened it."""
        holding = self.settings.holds(trace.now)
        if holding:
            trace.carrying = trace.carrying or trace.lift >= self.settings.min_lift
        if holding is not False:
            return False
        carried, trace.carrying = trace.carrying, False
        return carried and self.settings.is_shut(trace.now)

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
            'holding': self.settings.holds(trace.now),
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
        if trace.privileged:
            # Said in every result: a real robot could not have done this.
            data['privileged'] = True
        return data
