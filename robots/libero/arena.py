"""Where the arm may go in each kind of LIBERO scene; all are written in one world frame."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np

from robots.libero.suites import LiberoTask
from rpent_ros.contracts.specs import SafetyLimits
from rpent_ros.errors import RobotFailed

# What 1.0 of an action commands per control step: robosuite's OSC_POSE configuration.
TRANSLATION = 0.05
ROTATION = 0.5

# Reach of the tool in front of, beside and above the arm's base [m].  The Panda reaches 0.855 m.
_NEAR, _FAR, _SIDE, _ABOVE = 0.10, 0.90, 0.60, 0.80
# An action at full scale commands a goal of 0.05 m away, also when the fingers touch the surface.
# The box ends just below that, so that no policy made for the benchmark is altered near the table.
_BELOW = 0.06


@dataclasses.dataclass(frozen=True)
class Arena:
    """x of the arm's base and height of the surface that objects stand on, world frame [m]."""

    base_x: float
    surface: float


# Keyed by the problem class that a task's file names; values read from LIBERO's scenes.
ARENAS = {
    'libero_floor_manipulation': Arena(-0.60, 0.0),
    'libero_tabletop_manipulation': Arena(-0.66, 0.90),
    'libero_kitchen_tabletop_manipulation': Arena(-0.66, 0.90),
    'libero_study_tabletop_manipulation': Arena(-0.75, 0.867),
    'libero_living_room_tabletop_manipulation': Arena(-0.51, 0.41),
    'libero_coffee_table_manipulation': Arena(-0.51, 0.41),
}


def arena_of(task: LiberoTask) -> Arena:
    """The kind of scene that a task plays in, from the first line of its problem file.

    Raises:
      RobotFailed: the file names no known problem.
    """
    head = task.bddl_file.read_text()[:200]
    found = re.search(r'\(problem\s+([A-Za-z_]+)', head)
    name = found.group(1).lower() if found else ''
    if name not in ARENAS:
        raise RobotFailed(
            f'{task.bddl_file}: expected one of the problems {", ".join(ARENAS)}, got {name!r}'
        )
    return ARENAS[name]


def limits_of(arena: Arena) -> SafetyLimits:
    """The limits that the driver enforces in such a scene."""
    x, z = arena.base_x, arena.surface
    return SafetyLimits(
        workspace_min=np.array([x + _NEAR, -_SIDE, z - _BELOW]),
        workspace_max=np.array([x + _FAR, _SIDE, z + _ABOVE]),
        # A unit action along all three axes at once.
        max_translation=TRANSLATION * math.sqrt(3),
        max_rotation=ROTATION * math.sqrt(3),
    )
