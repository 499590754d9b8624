"""Parameters of the driver node."""

from __future__ import annotations

import dataclasses

import numpy as np

from rpent_ros.contracts.specs import SafetyLimits
from rpent_ros.errors import InvalidRequest
from rpent_ros.nodes.parameters import parameter


@dataclasses.dataclass(frozen=True)
class DriverParameters:
    """See config/driver.yaml; all other parameters of the node are handed to the robot."""

    robot: str = parameter('fake', 'Robot package to drive: a folder below robots/.')
    suite: str = parameter('', 'Task suite of resets that name none; empty: the robot decides.')
    task: int = parameter(-1, 'Task of resets that name none; -1: the robot decides.', low=-1)
    seed: int = parameter(0, 'Initial state of the reset on start.', low=0, high=2**32 - 1)
    reset_on_start: bool = parameter(False, 'Start an episode before serving.')
    privileged: bool = parameter(False, 'Publish privileged/scene, which only a simulator knows.')
    camera_rate: float = parameter(
        2.0, 'Highest rate of each camera topic that has subscribers [Hz].', low=0.01, high=60.0
    )
    state_log_dir: str = parameter(
        '', "Folder for the simulator's state after each control step; empty: not logged."
    )
    frame_prefix: str = parameter('', 'Put before every frame name, e.g. left/.')
    speed: float = parameter(
        1.0, 'Fraction of full speed of motions that ask for none.', low=0.01, high=1.0
    )
    workspace_min: tuple[float, ...] = parameter(
        (),
        'Lowest corner of the box for the tool, in the base frame [m]; empty: the robot decides.',
        element=float,
    )
    workspace_max: tuple[float, ...] = parameter(
        (),
        'Highest corner of the box for the tool, in the base frame [m]; empty: the robot decides.',
        element=float,
    )
    max_translation: float = parameter(
        0.0, 'Largest translation of one action [m]; 0.0: the robot decides.', low=0.0
    )
    max_rotation: float = parameter(
        0.0, 'Largest rotation of one action [rad]; 0.0: the robot decides.', low=0.0
    )
    max_steps: int = parameter(
        0, 'Longest motion of one goal [control steps]; 0: the robot decides.', low=0
    )
    workspace_margin: float = parameter(
        0.0,
        'End a motion when the tool is measured this far outside the box [m]; 0.0: the robot '
        'decides.',
        low=0.0,
    )
    max_deviation: float = parameter(
        0.0,
        'End a motion when the tool is measured this far off its line [m]; 0.0: the robot '
        'decides.',
        low=0.0,
    )

    def __post_init__(self) -> None:
        for name in ('workspace_min', 'workspace_max'):
            corner = getattr(self, name)
            if len(corner) not in (0, 3):
                raise InvalidRequest(
                    f'parameter {name}: expected three numbers [m], got {list(corner)}'
                )

    def limits(self, robot: SafetyLimits) -> SafetyLimits:
        """The robot's limits with those replaced that the operator set."""
        low, high = self.workspace_min, self.workspace_max
        return SafetyLimits(
            workspace_min=np.array(low) if low else robot.workspace_min,
            workspace_max=np.array(high) if high else robot.workspace_max,
            max_translation=self.max_translation or robot.max_translation,
            max_rotation=self.max_rotation or robot.max_rotation,
            max_steps=self.max_steps or robot.max_steps,
            workspace_margin=self.workspace_margin or robot.workspace_margin,
            max_deviation=self.max_deviation or robot.max_deviation,
        )
