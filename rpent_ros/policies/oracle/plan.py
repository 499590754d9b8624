"""Pick and place as a script: a generator that yields rows and is sent what came of them.

Every phase is a loop that looks at the world again, so pushes, clamps and drops are noticed.  A
plan makes no assumption about what came before it: it starts from whatever the world is like.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.scene import SceneRegion
from rpent_ros.contracts.specs import ActionSpec
from rpent_ros.errors import InvalidRequest, NoPlan
from rpent_ros.geometry import rotation_error, yaw_of_tool
from rpent_ros.policies.oracle.grasp import Grasp, plan_grasps
from rpent_ros.policies.oracle.gripper import Gripper
from rpent_ros.policies.oracle.instruction import Task
from rpent_ros.policies.oracle.motion import Predictor
from rpent_ros.policies.oracle.world import World

Vector = NDArray[np.float64]

# Rows planned ahead of feedback, far away and close to the target.
MAX_ROWS = 5
# A tool at full speed covers about this much in one step [m].
STRIDE = 0.013
# Half width of the corridor that the hand needs [m].
CORRIDOR = 0.11
# Kept between the finger tips, or what they hold, and the scene while travelling [m].
TRAVEL_MARGIN = 0.02
CARRY_MARGIN = 0.03
HOVER = 0.03
LIFT = 0.10
# A grasp counts if the object has followed the hand by this fraction of the lift.
FOLLOWED = 0.5
TRIES = 3
CLOSE_STEPS = 12
OPEN_STEPS = 14
# The palm stays this far above the rim of a container [m].
RIM_MARGIN = 0.02
RETREAT = 0.10
# A motion is stuck when it moves less than this in a step, for this many steps [m].
STUCK_DISTANCE = 0.0004
STUCK_STEPS = 6
STUCK_AFTER = 8


@dataclasses.dataclass(frozen=True)
class Rows:
    """The next rows (T, D) and what they are for."""

    data: NDArray[np.float64]
    status: str


Steps = Generator[Rows, World, bool]


class Plan:
    """One instruction, carried out.

    Args:
      task: what to do.
      spec: meaning of a row.
      gripper: the hand.
      world: how things are at the start.
    """

    def __init__(self, task: Task, spec: ActionSpec, gripper: Gripper, world: World) -> None:
        self._task = task
        self._spec = spec
        self._gripper = gripper
        self._world = world
        # The yaw that the arm came with: grasps are turned as little as possible from there.
        self._home_yaw = yaw_of_tool(world.rotation)
        self._orientation = pointing_down(self._home_yaw)
        self._command = spec.gripper_open
        # Where to stay while only the fingers move.
        self._anchor = world.position

    def run(self) -> Steps:
        """Yield rows until the instruction is carried out; send the world after each yield."""
        name = self._task.object
        if self._world.held() == name:
            self._command = self._spec.gripper_close
            self._orientation = self._world.rotation
        else:
            yield from self._pick(name)
        if self._task.target:
            yield from self._place(name)
            if self._missed():
                raise NoPlan(f'{name} was placed, but does not lie as the task wants it')
        return True

    def _missed(self) -> bool:
        goal = self._task.goal
        return goal is not None and any(
            clause.arguments == goal.arguments and not clause.satisfied
            for clause in self._world.scene.goals
        )

    def hold(self) -> Rows:
        """One row that changes nothing."""
        row = np.zeros(self._spec.dim)
        if self._spec.gripper_index >= 0:
            row[self._spec.gripper_index] = self._command
        return Rows(row[None], 'done')

    # Picking.

    def _pick(self, name: str) -> Steps:
        for attempt in range(TRIES):
            grasps = plan_grasps(self._world, name, self._gripper, self._home_yaw)
            # After a miss, take one that is clearly different.
            grasp = grasps[min(len(grasps) - 1, 5 * attempt)]
            yield from self._approach(name, grasp)
            yield from self._close(name)
            start = self._world.origin(name)[2]
            yield from self._slide_out(name)
            top = self._world.position + [0.0, 0.0, LIFT]
            yield from self._move(top, f'lifting {name}', tolerance=0.015, steps=40)
            if self._world.origin(name)[2] - start > FOLLOWED * LIFT:
                return True
            yield from self._open(f'letting go of {name}')
        raise NoPlan(f'{name} could not be lifted in {TRIES} tries')

    def _approach(self, name: str, grasp: Grasp) -> Steps:
        self._command = self._spec.gripper_open
        above = max(
            self._clearance(grasp.position) + self._gripper.tip_below + TRAVEL_MARGIN,
            grasp.position[2] + HOVER,
        )
        yield from self._rise(above)
        self._orientation = pointing_down(grasp.yaw)
        travel = np.array([*grasp.position[:2], above])
        yield from self._move(travel, f'reaching for {name}', tolerance=0.012, angle=0.10)
        hover = grasp.position + [0.0, 0.0, HOVER]
        yield from self._move(
            hover, f'hovering over {name}', tolerance=0.008, angle=0.05, speed=0.8
        )
        yield from self._move(
            grasp.position, f'descending to {name}', tolerance=0.004, angle=0.03, steps=40,
            speed=0.6,
        )  # fmt: skip
        return True

    def _close(self, name: str) -> Steps:
        self._command = self._spec.gripper_close
        before = math.inf
        for step in range(0, CLOSE_STEPS, 2):
            yield from self._stay(2, f'closing on {name}')
            width = self._world.observation.gripper_width
            if step >= 4 and abs(width - before) < 0.0004:
                break
            before = width
        return True

    def _slide_out(self, name: str) -> Steps:
        """Out from under what hangs over the object, e.g. an open drawer, before lifting it."""
        low, high = self._world.box(name)
        if not self._overhung(name, low, high):
            return True
        directions = [2 * math.pi * k / 8 for k in range(8)]
        for distance in np.arange(0.03, 0.25, 0.02):
            for angle in directions:
                way = distance * np.array([math.cos(angle), math.sin(angle), 0.0])
                if self._overhung(name, low + way, high + way):
                    continue
                raised = self._world.position + [0.0, 0.0, 0.012]
                status = f'sliding {name} out'
                yield from self._move(raised, status, tolerance=0.006, steps=20)
                yield from self._move(raised + way, status, tolerance=0.01, steps=40)
                return True
        return True

    def _overhung(self, name: str, low: Vector, high: Vector) -> bool:
        for body in self._world.scene.bodies:
            if body.parent == name:
                continue
            for hull in body.hulls:
                points = body.pose.apply(hull)
                a, b = points.min(axis=0), points.max(axis=0)
                beside = (a[:2] >= high[:2] - 0.003) | (b[:2] <= low[:2] + 0.003)
                if a[2] > high[2] - 0.005 and not beside.any():
                    return True
        return False

    # Placing.

    def _place(self, name: str) -> Steps:
        inside = self._task.goal is not None and self._task.goal.predicate == 'in'
        status = f'carrying {name} to {self._task.target}'
        hang = self._hang(name)
        place = self._place_point(inside)
        above = self._clearance(place, skip=name) + hang + CARRY_MARGIN
        if inside:
            above = max(above, self._rim() - self._gripper.palm_above + RIM_MARGIN)
        yield from self._rise(above)
        offset = self._offset(name, inside)
        yield from self._move(
            np.array([*(place[:2] - offset), above]), status, tolerance=0.012, angle=0.08
        )
        if not self._is_held(name):
            raise NoPlan(f'{name} was dropped on the way to {self._task.target}')
        offset = self._offset(name, inside)
        yield from self._move(
            np.array([*(place[:2] - offset), above]), status, tolerance=0.005, steps=30
        )
        yield from self._lower(name, place, inside)
        yield from self._open(f'releasing {name}', name)
        yield from self._recentre(name)
        up = self._world.position + [0.0, 0.0, RETREAT]
        yield from self._move(up, f'leaving {name}', tolerance=0.015, steps=30)
        return True

    def _lower(self, name: str, place: Vector, inside: bool) -> Steps:
        """Down until the object touches something, keeping it over the place."""
        status = f'lowering {name}'
        lowest = -math.inf
        if inside:
            lowest = self._rim() - self._gripper.palm_above + RIM_MARGIN
        for _ in range(60):
            # In a container, walls are touched on the way; what counts is the height.
            deep = not inside or self._world.origin(name)[2] < self._rim() - 0.04
            if deep and self._world.supports(name):
                break
            down = max(lowest - self._world.position[2], -0.05)
            if down > -0.004:
                break
            aim = self._world.position + [0.0, 0.0, down]
            aim[:2] = place[:2] - self._offset(name, inside)
            self._world = yield self._rows(aim, 1 if down > -0.03 else 2, 0.5, status)
        self._anchor = self._world.position
        yield from self._stay(2, status)
        return True

    def _open(self, status: str, name: str = '') -> Steps:
        self._command = self._spec.gripper_open
        start = self._world.observation.gripper_width
        for step in range(0, OPEN_STEPS, 2):
            yield from self._stay(2, status)
            width = self._world.observation.gripper_width
            wide = width > self._gripper.open_width
            clear = step >= 4 and width > start + 0.03
            if wide or (clear and not self._is_touched(name)):
                break
        return True

    def _recentre(self, name: str) -> Steps:
        """Centre the open hand around the object, so that no finger drags it up again."""
        axis, side = self._world.rotation[:, 0], self._world.rotation[:, 1]
        points = self._world.points(name) - self._world.position
        near = points[np.abs(points @ side) < self._gripper.finger_half_width]
        near = near[np.abs(near[:, 2]) < 0.02]
        along = (near if len(near) > 1 else points) @ axis
        middle, width = (along.min() + along.max()) / 2, along.max() - along.min()
        if abs(middle) < 0.03 and width < self._world.observation.gripper_width:
            aim = self._world.position + axis * middle
            yield from self._move(
                aim, f'clearing {name}', tolerance=0.003, angle=0.3, steps=10
            )
        return True

    def _place_point(self, inside: bool) -> Vector:
        """Where the object's reference point should come to be (3,) [m]; z is not used."""
        region = self._region()
        if region is not None:
            return region.pose.position
        low, high = self._world.box(self._task.target)
        centre = (low + high) / 2
        try:
            return self._world.origin(self._task.target)
        except InvalidRequest:  # A fixture has no body of its own name, only parts.
            return centre

    def _offset(self, name: str, inside: bool) -> Vector:
        """From the tool to the object's reference point, in the plane (2,) [m].

        In a container the whole object must fit, so its middle counts; elsewhere predicates look
        at its origin.
        """
        if inside:
            low, high = self._world.box(name)
            return ((low + high) / 2 - self._world.position)[:2]
        return (self._world.origin(name) - self._world.position)[:2]

    def _region(self) -> SceneRegion | None:
        for region in self._world.scene.regions:
            if region.name == self._task.target:
                return region
        return None

    def _rim(self) -> float:
        """Height of the top of the container [m]."""
        region = self._region()
        parent = region.parent if region is not None and region.parent else self._task.target
        return float(self._world.box(parent)[1][2])

    def _hang(self, name: str) -> float:
        """How far the held object reaches below the tool centre point [m]."""
        return float(self._world.position[2] - self._world.box(name)[0][2])

    def _is_held(self, name: str) -> bool:
        return self._world.held() == name

    def _is_touched(self, name: str) -> bool:
        touching = self._world.scene.touching(name)
        return bool(name) and bool({'finger_left', 'finger_right'} & touching)

    # Moving.

    def _clearance(self, end: Vector, skip: str = '') -> float:
        return self._world.clearance(self._world.position, end, radius=CORRIDOR, skip=skip)

    def _rise(self, height: float) -> Steps:
        if self._world.position[2] < height - 0.01:
            up = np.array([*self._world.position[:2], height])
            yield from self._move(up, 'rising', tolerance=0.012, angle=0.3, steps=60)
        return True

    def _move(
        self,
        target: Vector,
        status: str,
        *,
        tolerance: float,
        angle: float = 0.08,
        steps: int = 120,
        speed: float = 1.0,
    ) -> Steps:
        """Straight to a point; True on arrival, False if stuck or out of steps."""
        target = np.asarray(target, float)
        taken = still = 0
        while taken < steps:
            left = float(np.linalg.norm(target - self._world.position))
            turn = float(np.linalg.norm(rotation_error(self._orientation, self._world.rotation)))
            if left < tolerance and turn < angle:
                self._anchor = target
                return True
            count = int(np.clip((left - tolerance) / STRIDE, 1, MAX_ROWS))
            before = self._world.position
            self._world = yield self._rows(target, count, speed, status)
            taken += count
            moved = float(np.linalg.norm(self._world.position - before)) / count
            still = still + count if moved < STUCK_DISTANCE and taken > STUCK_AFTER else 0
            if still >= STUCK_STEPS:
                break
        self._anchor = self._world.position
        return False

    def _stay(self, count: int, status: str) -> Steps:
        """Stay while the fingers move: a tool that is merely let go of coasts for 13 mm."""
        self._world = yield self._rows(self._anchor, count, 1.0, status)
        return True

    def _rows(self, target: Vector, count: int, speed: float, status: str) -> Rows:
        ahead = Predictor(
            self._spec,
            self._world.position,
            self._world.rotation,
            self._world.observation.ee_twist,
        )
        rows = [
            ahead.row(target, self._orientation, gripper=self._command, speed=speed)
            for _ in range(count)
        ]
        return Rows(np.array(rows), status)


def pointing_down(yaw: float) -> Vector:
    """Orientation (3, 3) of a tool that points straight down and opens along `yaw` [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, -1.0]])
