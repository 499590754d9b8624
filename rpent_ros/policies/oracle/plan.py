"""Pick and place as a script: a generator that yields rows and is sent what came of them.

Every phase is a loop that looks at the world again, so pushes, clamps and drops are noticed.  A
plan makes no assumption about what came before it: it starts from whatever the world is like.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.scene import SceneRegion
from rpent_ros.contracts.specs import ActionSpec
from rpent_ros.errors import InvalidRequest, NoPlan
from rpent_ros.geometry import yaw_of_tool
from rpent_ros.policies.oracle.grasp import Grasp, plan_grasps
from rpent_ros.policies.oracle.gripper import Gripper
from rpent_ros.policies.oracle.instruction import Task
from rpent_ros.policies.oracle.moves import Moves, Steps, pointing_down
from rpent_ros.policies.oracle.world import World

Vector = NDArray[np.float64]

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
# How far an open hand moves across its fingers to lose what hangs on one of them [m].
SHAKE = 0.06


class Plan(Moves):
    """One instruction, carried out.

    Args:
      task: what to do.
      spec: meaning of a row.
      gripper: the hand.
      world: how things are at the start.
    """

    def __init__(self, task: Task, spec: ActionSpec, gripper: Gripper, world: World) -> None:
        super().__init__(spec, world)
        self._task = task
        self._gripper = gripper
        # The yaw that the arm came with: grasps are turned as little as possible from there.
        self._home_yaw = yaw_of_tool(world.rotation)

    def run(self) -> Steps:
        """Yield rows until the instruction is carried out; send the world after each yield."""
        name = self._task.object
        if self._is_placed(name):
            return True
        taken = self._is_held(name) and (yield from self._take_over(name))
        if not taken:
            yield from self._pick(name)
        if self._task.target:
            yield from self._place(name)
            if self._missed():
                raise NoPlan(
                    f'{name} was placed, but does not lie as the task wants it; ask again'
                )
        return True

    def _is_placed(self, name: str) -> bool:
        """True if the task's own clause holds and the object has been let go."""
        return self._task.goal is not None and not self._missed() and not self._is_touched(name)

    def _missed(self) -> bool:
        goal = self._task.goal
        return goal is not None and any(
            clause.arguments == goal.arguments and not clause.satisfied
            for clause in self._world.scene.goals
        )

    # Picking.

    def _take_over(self, name: str) -> Steps:
        """Go on with what is in the hand already; False if it is lost on the way."""
        self._orientation = self._world.rotation
        yield from self._close(name)
        if not self._task.target:
            here = self._world.position
            below = self._world.clearance(here, here, radius=0.0, skip=name)
            height = below + self._hang(name) + LIFT
            if here[2] < height - 0.02:
                yield from self._slide_out(name)
                up = np.array([*self._world.position[:2], height])
                yield from self._move(up, f'lifting {name}', tolerance=0.015, steps=40)
        return self._is_held(name)

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
        raise NoPlan(
            f'{name} could not be lifted in {TRIES} tries; something may be in the way'
        )

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
            raise NoPlan(
                f'{name} was dropped on the way to {self._task.target}; pick it up again'
            )
        offset = self._offset(name, inside)
        yield from self._move(
            np.array([*(place[:2] - offset), above]), status, tolerance=0.005, steps=30
        )
        yield from self._lower(name, place, inside)
        yield from self._open(f'releasing {name}', name)
        yield from self._recentre(name)
        yield from self._shake_off(name)
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
            yield from self._act(aim, 1 if down > -0.03 else 2, 0.5, status)
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

    def _shake_off(self, name: str) -> Steps:
        """Off an open finger what hangs on it, such as a carton by the fold of its top."""
        for way in (SHAKE, -SHAKE):
            if not self._is_touched(name) or self._world.supports(name):
                return True
            aim = self._world.position + way * self._world.rotation[:, 1]
            yield from self._move(aim, f'shaking off {name}', tolerance=0.004, steps=12)
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
