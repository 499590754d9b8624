"""Whether `holding` is true: picks, misses and losses, judged by the simulator's contacts.

OMP_NUM_THREADS=1 ./rpent exec python bench/holding_accuracy.py

Every pick of the oracle is made four times:

picked   as it is;
beside   the policy is shown a scene that is shifted sideways, so that it closes on air or on
         whatever is there;
lost     the object is taken away at a random moment while the hand rises;
weak     it is moved half out of the fingers at the same moment, and falls or hangs on a finger.

What the tool says when it returns is compared with what is true then: a movable object touches a
finger and, besides the robot, nothing else.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.libero.env_server import LiberoRobot
from robots.libero.toolkit import LiberoPrimitives
from rpent_ros.cerebrums.scripted import pick_clause
from rpent_ros.contracts.motion import Inference
from rpent_ros.contracts.observation import Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import PolicySpec
from rpent_ros.driver import DriverCore
from rpent_ros.errors import RpentError
from rpent_ros.geometry import Pose
from rpent_ros.local_env import LocalEnv
from rpent_ros.policies.oracle.policy import OraclePolicy
from rpent_ros.policies.oracle.world import ROBOT

CASES = ('picked', 'beside', 'lost', 'weak')
FINGERS = {'finger_left', 'finger_right'}
# How far the scene is shifted for a miss, and how far an object slips in a weak grasp [m].
SHIFT = 0.07
SLIP = 0.02
# A loss happens after the hand has risen by up to this much [m].
LOST_WITHIN = 0.05
# Chunks of ten control steps.
MAX_CHUNKS = {'picked': 40, 'beside': 14, 'lost': 14, 'weak': 14}


class Oracle:
    """The oracle as a policy of the tools; `show` may change the scene that it is shown."""

    def __init__(self, driver: DriverCore, show: Callable[[Scene], Scene]) -> None:
        self._policy = OraclePolicy()
        self._policy.connect(driver.spec, lambda episode, step: show(driver.scene()))
        self.status = ''

    def describe(self) -> PolicySpec:
        """Which policy is served."""
        return self._policy.spec

    def reset(self, session: str = '') -> None:
        """Forget what belongs to a session."""
        self._policy.reset(session)

    def infer(self, observation: Observation, instruction: str, *, session: str = '') -> Inference:
        """The next rows."""
        inference = self._policy.infer(observation, instruction, session)
        self.status = inference.status
        return inference


def shifted(scene: Scene, offset: NDArray[np.float64]) -> Scene:
    """The scene with everything that moves displaced."""
    bodies = tuple(
        dataclasses.replace(body, pose=Pose(body.pose.position + offset, body.pose.quaternion))
        if body.movable
        else body
        for body in scene.bodies
    )
    return dataclasses.replace(scene, bodies=bodies)


def held(scene: Scene) -> str:
    """The object that hangs on the fingers; '' for none."""
    for body in scene.bodies:
        touching = scene.touching(body.name)
        if body.movable and touching & FINGERS and not touching - ROBOT:
            return body.name
    return ''


class Loss:
    """Moves the object in the hand away, once, when the hand has risen by `height` [m]."""

    def __init__(
        self, robot: LiberoRobot, oracle: Oracle, height: float, move: NDArray[np.float64]
    ) -> None:
        self._robot, self._oracle = robot, oracle
        self._height, self._move = height, move
        self._lowest = np.inf
        self._step = robot.step
        self.object = ''

    def __call__(self, action: NDArray[np.float64]) -> Any:
        """One control step of the robot."""
        status = self._step(action)
        z = float(self._robot.tool_position()[2])
        self._lowest = min(self._lowest, z)
        if self.object or not self._oracle.status.startswith('lifting'):
            return status
        name = held(self._robot.scene())
        if name and z > self._lowest + self._height:
            self.object = name
            env = self._robot._simulation.env
            joint = env.objects_dict[name].joints[-1]
            pose = env.sim.data.get_joint_qpos(joint).copy()
            pose[:3] += self._move
            env.sim.data.set_joint_qpos(joint, pose)
            env.sim.forward()
        return status


def try_pick(
    robot: LiberoRobot, env: LocalEnv, case: str, rng: np.random.Generator
) -> tuple[Any, str, str]:
    """One pick: the tool's answer, what is truly held, and what the case has made of it."""
    driver = env.core
    angle = rng.uniform(0, 2 * np.pi)
    offset = SHIFT * np.array([np.cos(angle), np.sin(angle), 0.0])
    oracle = Oracle(driver, lambda scene: shifted(scene, offset) if case == 'beside' else scene)
    note = ''
    if case in ('lost', 'weak'):
        move = np.array([0.0, 0.0, -SLIP]) if case == 'weak' else np.array([0.0, 0.0, 0.5])
        loss = Loss(robot, oracle, rng.uniform(0.002, LOST_WITHIN), move)
        robot.step = loss
    sentence = driver.observe().instruction
    primitives = LiberoPrimitives(env, env.describe(), model=oracle, policy=oracle.describe())
    try:
        answer = primitives.pi0_pick(pick_clause(sentence) or sentence, MAX_CHUNKS[case])
    finally:
        if case in ('lost', 'weak'):
            note = f'took {loss.object or "nothing"}'
            del robot.step
    return answer, held(driver.scene()), note


def main() -> int:
    """Print one line per pick and a table of what was said against what was true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--suites', default='libero_object,libero_spatial')
    parser.add_argument('--tasks', default='', help='comma separated; empty: all')
    parser.add_argument('--seeds', default='0,1,2')
    parser.add_argument('--cases', default=','.join(CASES))
    options = parser.parse_args()
    robot = LiberoRobot(privileged=True)
    env = LocalEnv(DriverCore(robot, privileged=True))
    rng = np.random.default_rng(0)
    table: collections.Counter[tuple[str, str, bool]] = collections.Counter()
    widths: dict[bool, list[float]] = {True: [], False: []}
    tasks = [int(task) for task in options.tasks.split(',')] if options.tasks else range(10)
    for suite in options.suites.split(','):
        for task in tasks:
            for seed in options.seeds.split(','):
                for case in options.cases.split(','):
                    env.reset(suite=suite, task=task, seed=int(seed))
                    try:
                        answer, truth, note = try_pick(robot, env, case, rng)
                    except RpentError as error:
                        print(f'{suite} {task} {seed} {case}: {error}')
                        continue
                    said = answer.data['holding']
                    if not answer.ok and said:
                        said = f'{answer.code.name} and true'
                    after = env.observe()
                    table[case, str(said), bool(truth)] += 1
                    widths[bool(truth)].append(after.gripper_width)
                    wrong = '' if bool(truth) == (said is True) else 'WRONG '
                    print(
                        f'{suite} {task} {seed} {case:7} {wrong}holding {said} '
                        f'({answer.data["stopped_by"]}, {answer.data["steps"]} steps), truly '
                        f'{truth or "nothing"}, {1000 * after.gripper_width:.1f} mm, finger '
                        f'{1000 * np.abs(after.joint_velocities[-2:]).max():.1f} mm/s '
                        f'{np.abs(after.joint_efforts[-2:]).max():.1f} N {note} '
                        f'{answer.code.name if not answer.ok else ""}',
                        flush=True,
                    )
    env.core.close()
    print('\n| case | said | truly held | truly empty |\n| --- | --- | --- | --- |')
    for case in options.cases.split(','):
        for said in sorted({s for c, s, _ in table if c == case}):
            print(f'| {case} | {said} | {table[case, said, True]} | {table[case, said, False]} |')
    for truth, name in ((True, 'held'), (False, 'empty')):
        if widths[truth]:
            print(
                f'width when {name}: {1000 * min(widths[truth]):.1f} to '
                f'{1000 * max(widths[truth]):.1f} mm'
            )
    return 0


if __name__ == '__main__':
    sys.exit(main())
