"""How exactly the motion tools move LIBERO's arm, in process, without ROS.

./rpent exec python bench/motion_accuracy.py

Targets are drawn from the workspace box, at least 0.15 m above the surface so that no object is in
the way, and visited one after the other; the episode is reset every 25 motions.
"""

from __future__ import annotations

import argparse
import collections
import math
import sys
import time

import numpy as np

from robots.libero.env_server import LiberoRobot
from robots.libero.toolkit import LiberoPrimitives
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode, RpentError
from rpent_ros.geometry import ToolAngles, rotation_error
from rpent_ros.local_env import LocalEnv
from rpent_ros.tools.result import ToolResult

CLEARANCE = 0.15
MOTIONS_PER_EPISODE = 25
ENDLESS = 1_000_000
# Yaw of the tool at the start of LIBERO's episodes [rad].
HOME_YAW = math.pi / 2
# Simulator states and the targets that were refused there.
Refused = list[tuple[np.ndarray, np.ndarray]]


class Unchecked(LiberoRobot):
    """The same robot without knowledge of its reach: every target in the box is tried."""

    def path_errors(self, path: object) -> None:
        """Unknown."""


class Table:
    """Collects motions of one kind and prints a line about them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.rows: list[tuple[float, float, float, float]] = []
        self.codes: collections.Counter[str] = collections.Counter()
        self.short: list[float] = []
        self.routes = 0

    def add(self, result: ToolResult, distance: float, angle: float, seconds: float) -> None:
        """One motion: its result, and what is really left [m], [rad]."""
        self.codes[result.code.name] += 1
        self.routes += 'route' in result.data
        if result.ok:
            self.rows.append((1000 * distance, math.degrees(angle), result.data['steps'], seconds))
        elif result.code == ErrorCode.NOT_REACHED:
            self.short.append(abs(distance - result.data['distance_left']))

    def __str__(self) -> str:
        rows = np.array(self.rows)
        mm, degrees, steps, seconds = rows.T
        codes = ', '.join(f'{name} {count}' for name, count in self.codes.items())
        line = (
            f'{self.title:22} {len(rows):4}  {np.median(mm):6.2f} {np.percentile(mm, 95):6.2f} '
            f'{mm.max():6.2f}  {np.median(degrees):6.2f} {degrees.max():6.2f}  '
            f'{np.median(steps):5.0f} {1000 * np.median(seconds):6.0f}  {codes}'
        )
        if self.routes:
            line += f'; {self.routes} went around'
        if self.short:
            line += f'; distance_left of NOT_REACHED true within {1000 * max(self.short):.1f} mm'
        return line


class Bench:
    """One robot in one scene, and targets for it."""

    def __init__(self, robot: LiberoRobot, suite: str, seed: int) -> None:
        self.robot = robot
        self.driver = DriverCore(robot)
        self.suite = suite
        self.rng = np.random.default_rng(seed)
        self.motions = 0
        self.reset()
        self.start = self.driver.observe().ee_pose
        self.primitives = LiberoPrimitives(LocalEnv(self.driver), self.driver.spec)

    def reset(self) -> None:
        """Start a new episode."""
        self.driver.reset(suite=self.suite, task=0, seed=0)

    def target(self) -> np.ndarray:
        """A place in the box (3,) [m], clear of the objects."""
        limits = self.driver.spec.limits
        low = np.array(limits.workspace_min)
        low[2] += 0.06 + CLEARANCE
        return self.rng.uniform(low, limits.workspace_max)

    def call(self, tool: str, **arguments: object) -> tuple[ToolResult, float]:
        """Run a tool; a refusal is a result."""
        if self.motions % MOTIONS_PER_EPISODE == 0:
            self.reset()
        begun = time.monotonic()
        try:
            result = getattr(self.primitives, tool)(**arguments)
            self.motions += 1
        except RpentError as error:
            result = ToolResult.refused(error)
        return result, time.monotonic() - begun


def straight_down(bench: Bench, count: int, title: str) -> tuple[Table, Refused]:
    """move_to that keeps the orientation; returns the targets that were refused, too."""
    table, refused = Table(title), []
    # Straight down, so that what is kept is the same after every reset.
    keep = ToolAngles(0.0, HOME_YAW).rotation
    while sum(table.codes.values()) - len(refused) < count:
        if bench.motions % MOTIONS_PER_EPISODE == 0:
            bench.reset()
            bench.primitives.move_pose(
                bench.start.position.tolist(), pitch=0.0, yaw=HOME_YAW
            )
            bench.motions += 1
        xyz = bench.target()
        result, seconds = bench.call('move_to', xyz=xyz.tolist())
        now = bench.driver.observe().ee_pose
        angle = float(np.linalg.norm(rotation_error(keep, now.rotation)))
        table.add(result, float(np.linalg.norm(xyz - now.position)), angle, seconds)
        if result.code == ErrorCode.OUT_OF_REACH:
            refused.append((bench.robot.simulator_state(), xyz))
    return table, refused


def any_pose(bench: Bench, count: int, title: str) -> Table:
    """move_pose to random pitches and yaws."""
    table = Table(title)
    while sum(table.codes.values()) - table.codes['OUT_OF_REACH'] < count:
        xyz = bench.target()
        pitch, yaw = bench.rng.uniform(-0.6, 0.6), HOME_YAW + bench.rng.uniform(-1.0, 1.0)
        result, seconds = bench.call('move_pose', xyz=xyz.tolist(), pitch=pitch, yaw=yaw)
        now = bench.driver.observe().ee_pose
        wanted = ToolAngles(pitch, yaw).rotation
        angle = float(np.linalg.norm(rotation_error(wanted, now.rotation)))
        table.add(result, float(np.linalg.norm(xyz - now.position)), angle, seconds)
    return table


def false_refusals(suite: str, refused: Refused) -> int:
    """How many refused motions an arm that tries everything carries out after all."""
    robot = Unchecked(max_episode_steps=ENDLESS)
    bench = Bench(robot, suite, 0)
    reached = 0
    for state, xyz in refused:
        bench.reset()
        robot.load_simulator_state(state)
        robot.hold()
        reached += bench.primitives.move_to(xyz.tolist()).ok
    bench.driver.close()
    return reached


def main() -> int:
    """Print one line per suite and kind of motion."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--suites', default='libero_object,libero_spatial')
    parser.add_argument('--targets', type=int, default=100, help='per suite and kind of motion')
    parser.add_argument('--refused', type=int, default=40, help='refusals to try all the same')
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args()
    print(f'{"":22} {"n":>4}  {"distance [mm]":>20}  {"angle [deg]":>13}  {"steps":>5} {"ms":>6}')
    print(f'{"":22} {"":4}  {"median":>6} {"95 %":>6} {"max":>6}  {"median":>6} {"max":>6}')
    for suite in options.suites.split(','):
        bench = Bench(LiberoRobot(max_episode_steps=ENDLESS), suite, options.seed)
        table, refused = straight_down(bench, options.targets, f'{suite} move_to')
        print(table, flush=True)
        print(any_pose(bench, options.targets // 2, f'{suite} move_pose'), flush=True)
        bench.driver.close()
        tried = refused[: options.refused]
        reached = false_refusals(suite, tried)
        print(f'{suite}: of {len(tried)} motions refused as out of reach {reached} are possible')
    return 0


if __name__ == '__main__':
    sys.exit(main())
