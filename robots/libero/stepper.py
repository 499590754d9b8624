"""One control step of LIBERO without the work that nobody reads.

robosuite's own step runs the whole forward dynamics three times per physics substep: once before
the controller, once inside it, once in mj_step.  It refreshes every observable 25 times, and its
controller looks names up and copies arrays at each turn.  Positions and velocities are the same in
all three runs; only the constraint solver's warm start moves a little each time.  Hence two modes:

exact  computes positions and velocities once and repeats only the solver, as often as robosuite
       does, and the controller's arithmetic is the same functions in the same order: the result is
       robosuite's bit for bit.
fast   solves once and compiles the controller.  The solver starts from a slightly older solution,
       so states differ in the last digits at first, and by more after contacts.

Controller: operational space control of the grip site (O. Khatib, "A unified approach for motion
and force control of robot manipulators", 1987), as in robosuite 1.4's OSC_POSE.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numba
import numpy as np
from numpy.typing import NDArray
from robosuite.utils.control_utils import (
    nullspace_torques,
    opspace_matrices,
    orientation_error,
    set_goal_orientation,
)

from rpent_ros.errors import InvalidRequest

Vector = NDArray[np.float64]

MODES = ('exact', 'fast')
# Solver runs that robosuite makes per substep before the one that integrates.
_EXTRA_SOLVES = {'exact': 2, 'fast': 0}
# robosuite ignores a commanded rotation that math.isclose finds equal to zero: only zero is.
_NO_ROTATION = 0.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def osc_torques(
    mass: Vector,
    jacobian: Vector,
    jac_pos: Vector,
    jac_rot: Vector,
    position: Vector,
    rotation: Vector,
    velocity: Vector,
    spin: Vector,
    joints: Vector,
    joint_speeds: Vector,
    goal_position: Vector,
    goal_rotation: Vector,
    stiffness: Vector,
    damping: Vector,
    rest_joints: Vector,
    gravity: Vector,
) -> Vector:
    """Torques (7,) [N m] that pull the grip site towards its goal pose.

    Args:
      mass: (7, 7) joint-space inertia.
      jacobian: (6, 7) of the grip site.
      jac_pos: (3, 7) its rows for the position.
      jac_rot: (3, 7) its rows for the rotation.
      position: (3,) of the grip site [m].
      rotation: (3, 3) of the grip site.
      velocity: (3,) of the grip site [m/s].
      spin: (3,) of the grip site [rad/s].
      joints: (7,) [rad].
      joint_speeds: (7,) [rad/s].
      goal_position: (3,) [m].
      goal_rotation: (3, 3).
      stiffness: (6,) of translation and rotation.
      damping: (6,) of translation and rotation.
      rest_joints: (7,) that the arm drifts to where the goal leaves it free [rad].
      gravity: (7,) bias forces to compensate [N m].
    """
    force = (goal_position - position) * stiffness[:3] + -velocity * damping[:3]
    torque = orientation_error(goal_rotation, rotation) * stiffness[3:] + -spin * damping[3:]
    _, lambda_pos, lambda_rot, nullspace = opspace_matrices(mass, jacobian, jac_pos, jac_rot)
    wrench = np.concatenate((np.dot(lambda_pos, force), np.dot(lambda_rot, torque)))
    out = np.dot(jacobian.T, wrench) + gravity
    return out + nullspace_torques(mass, nullspace, rest_joints, joints, joint_speeds)


class Stepper:
    """Executes control steps on an environment that has been reset and settled.

    Args:
      env: LIBERO's environment (the one that owns `sim` and `robots`).
      mode: 'exact' or 'fast'.

    Raises:
      InvalidRequest: unknown mode.
    """

    def __init__(self, env: Any, mode: str) -> None:
        if mode not in MODES:
            raise InvalidRequest(f'physics: expected one of {", ".join(MODES)}, got {mode!r}')
        self._env = env
        self._model = env.sim.model._model
        self._data = env.sim.data._data
        robot = env.robots[0]
        self._controller = controller = robot.controller
        self._gripper = robot.gripper
        self._extra_solves = _EXTRA_SOLVES[mode]
        # The interpreted form of the same source calls robosuite's compiled pieces as it does.
        self._torques = osc_torques if mode == 'fast' else osc_torques.py_func
        self._site = self._model.site(controller.eef_name).id
        self._qpos = np.array(controller.qpos_index)
        self._qvel = np.array(controller.qvel_index)
        self._actuators = np.array(robot._ref_joint_actuator_indexes)
        self._torque_limits = robot.torque_limits
        self._fingers = np.array(
            [env.sim.model.actuator_name2id(name) for name in self._gripper.actuators]
        )
        low, high = self._model.actuator_ctrlrange[self._fingers].T
        self._finger_bias = 0.5 * (high + low)
        self._finger_weight = 0.5 * (high - low)
        self._substeps = int(env.control_timestep / env.model_timestep)
        self._jac_pos = np.zeros((3, self._model.nv))
        self._jac_rot = np.zeros((3, self._model.nv))
        self._mass = np.zeros((self._model.nv, self._model.nv))

    def step(self, action: Vector) -> None:
        """Execute one control step; `action` (7,) lies in [-1, 1]."""
        for substep in range(self._substeps):
            mujoco.mj_step1(self._model, self._data)
            for _ in range(self._extra_solves):
                mujoco.mj_forwardSkip(self._model, self._data, mujoco.mjtStage.mjSTAGE_VEL, True)
            self._control(action, new_goal=substep == 0)
            mujoco.mj_step2(self._model, self._data)
        # robosuite's clock, and what LIBERO updates once a step (lights, burners).
        self._env.timestep += 1
        self._env.cur_time += self._env.control_timestep
        self._env._post_process()

    def _control(self, action: Vector, *, new_goal: bool) -> None:
        data, controller = self._data, self._controller
        position = np.array(data.site_xpos[self._site])
        rotation = np.array(data.site_xmat[self._site].reshape(3, 3))
        if new_goal:
            self._set_goal(action[:6], position, rotation)
        mujoco.mj_jacSite(self._model, data, self._jac_pos, self._jac_rot, self._site)
        jac_pos = np.array(self._jac_pos[:, self._qvel])
        jac_rot = np.array(self._jac_rot[:, self._qvel])
        mujoco.mj_fullM(self._model, self._mass, data.qM)
        torques = self._torques(
            self._mass[self._qvel, :][:, self._qvel],
            np.vstack([jac_pos, jac_rot]),
            jac_pos,
            jac_rot,
            position,
            rotation,
            np.dot(self._jac_pos, data.qvel),
            np.dot(self._jac_rot, data.qvel),
            np.array(data.qpos[self._qpos]),
            np.array(data.qvel[self._qvel]),
            controller.goal_pos,
            controller.goal_ori,
            controller.kp,
            controller.kd,
            controller.initial_joint,
            data.qfrc_bias[self._qvel],
        )
        data.ctrl[self._actuators] = np.clip(torques, *self._torque_limits)
        data.ctrl[self._fingers] = (
            self._finger_bias + self._finger_weight * self._gripper.format_action(action[6:])
        )

    def _set_goal(self, command: Vector, position: Vector, rotation: Vector) -> None:
        """The goal is the present position plus the offset; zero rotation keeps the old goal."""
        controller = self._controller
        offset = controller.scale_action(command)
        if (offset[3:] != _NO_ROTATION).any():
            controller.goal_ori = np.array(
                set_goal_orientation(
                    offset[3:], rotation, orientation_limit=controller.orientation_limits
                )
            )
        controller.goal_pos = position + offset[:3]

    def hold(self) -> None:
        """Make the present pose the controller's goal."""
        controller = self._controller
        controller.goal_pos = np.array(self._data.site_xpos[self._site])
        controller.goal_ori = np.array(self._data.site_xmat[self._site].reshape(3, 3))
