"""The oracle: picks and places from privileged object poses.  No weights, no GPU, no learning."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from rpent_ros.contracts.motion import ActionChunk, Inference
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.specs import ActionSpec, DriverSpec, PolicySpec
from rpent_ros.errors import BadObservation, ContractMismatch, NoPlan
from rpent_ros.policies.base import SceneSource
from rpent_ros.policies.oracle.gripper import Gripper
from rpent_ros.policies.oracle.instruction import understand
from rpent_ros.policies.oracle.moves import MAX_ROWS, Rows, Steps
from rpent_ros.policies.oracle.plan import Plan
from rpent_ros.policies.oracle.world import World

LOG = logging.getLogger('rpent_ros.oracle')

NAMES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw', 'gripper')
# Plans for one instruction before giving up: an object may be dropped on the way.
PLANS = 3
# What a delta action looks like before a driver has been asked.
_UNCONNECTED = ActionSpec(
    NAMES,
    units=('m', 'm', 'm', 'rad', 'rad', 'rad', ''),
    low=np.full(7, -1.0),
    high=np.full(7, 1.0),
    scale=np.array([0.05] * 3 + [0.5] * 3 + [1.0]),
    frame_id='world',
    rate=20.0,
    gripper_index=6,
)


@dataclasses.dataclass
class _Session:
    """One instruction under way.

    Attributes:
      steps: the running plan.
      answered: (episode, step) of the observation answered last; None before the first.
      rows: how many rows the answer had.
      plans: plans begun.
    """

    instruction: str
    plan: Plan
    steps: Steps
    answered: tuple[int, int] | None = None
    rows: int = 0
    plans: int = 1
    done: bool = False

    def continues(self, episode: int, step: int) -> bool:
        """True if only this session's own rows, or some of them, were executed since."""
        if self.answered is None:
            return True
        return self.answered[0] == episode and 0 <= step - self.answered[1] <= self.rows


class OraclePolicy:
    """Picks and places with what the simulator knows: PRIVILEGED.

    Args:
      gripper: measures of the hand; None: the Franka hand's.
    """

    def __init__(self, gripper: Gripper | None = None) -> None:
        self._gripper = gripper or Gripper()
        self._action = _UNCONNECTED
        self._scenes: SceneSource | None = None
        self._sessions: dict[str, _Session] = {}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> OraclePolicy:
        """Make the policy from the vla node's parameters; it has none of its own."""
        return cls()

    @property
    def spec(self) -> PolicySpec:
        """Needs no images and no state vector; acts as the connected driver's actions do."""
        return PolicySpec('oracle', action=self._action, horizon=MAX_ROWS, privileged=True)

    def connect(self, driver: DriverSpec, scenes: SceneSource) -> None:
        """Adopt the driver's actions.

        Raises:
          ContractMismatch: they are not Cartesian offsets with a gripper.
        """
        if driver.action.names != NAMES:
            raise ContractMismatch(
                f'oracle: expected a robot with actions {" ".join(NAMES)}, got '
                f'{" ".join(driver.action.names)}'
            )
        self._action = driver.action
        self._scenes = scenes
        self._sessions.clear()

    def load(self) -> None:
        """Nothing to load."""

    def reset(self, session: str) -> None:
        """Forget the plan of a session."""
        self._sessions.pop(session, None)

    def infer(self, observation: Observation, instruction: str, session: str) -> Inference:
        """The next rows of the session's plan; a new plan if instruction or world is new."""
        if self._scenes is None:
            raise BadObservation('oracle: no driver is connected yet; start one and ask again')
        scene = self._scenes(observation.episode, observation.step)
        world = World(observation, scene)
        now = (observation.episode, observation.step)
        running = self._sessions.get(session)
        if running is None or running.instruction != instruction:
            running = self._begin(instruction, world)
        elif not running.continues(*now):
            # Somebody else moved the robot, or another episode began.
            running = self._begin(instruction, world)
        self._sessions[session] = running
        rows = self._advance(running, world)
        running.answered, running.rows = now, len(rows.data)
        return Inference(
            ActionChunk(rows.data.astype(np.float32)),
            done=running.done,
            privileged=True,
            status=rows.status,
        )

    def _begin(self, instruction: str, world: World, plans: int = 1) -> _Session:
        task = understand(instruction, world.scene, world.held())
        plan = Plan(task, self._action, self._gripper, world)
        LOG.info('%s: %s -> %s', instruction, task.object, task.target or 'lift')
        return _Session(instruction, plan, plan.run(), plans=plans)

    def _advance(self, running: _Session, world: World) -> Rows:
        if running.done:
            return running.plan.hold()
        while True:
            try:
                if running.answered is None:
                    return next(running.steps)
                return running.steps.send(world)
            except StopIteration:
                running.done = True
                return running.plan.hold()
            except NoPlan as error:
                if running.plans >= PLANS:
                    raise
                LOG.info('starting over: %s', error)
                fresh = self._begin(running.instruction, world, running.plans + 1)
                running.plan, running.steps = fresh.plan, fresh.steps
                running.plans, running.answered = fresh.plans, None
