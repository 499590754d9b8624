"""A LIBERO environment whose resets repeat bit for bit.

What makes that so (each point was found by comparing hashes of qpos and qvel):
- fixture poses come from numpy's global random state at reset, not from the stored initial state,
  so the seed is set before every reset;
- LIBERO appends to `object_property_initializers` at every reset and never empties it, which
  shifts that random state from reset to reset;
- the controller's goal and the gripper's integrator live outside the simulator's state, so a
  stored state is only ever set after a reset;
- the constraint solver starts from its last solution, which a reset of the same model keeps.

After that the scene is idled until it rests, by LIBERO's own step: objects start a few centimetres
in the air, and the first action after a reset is relative to the pose that the arm had before the
stored state was set.  So episodes start where those of the published evaluations do, which idle
ten steps, and where they start does not depend on the stepper.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from robots.libero.stepper import Stepper
from robots.libero.suites import LiberoTask, initial_states, state_hash
from rpent_ros.errors import RobotFailed

MIN_SETTLE_STEPS = 10
MAX_SETTLE_STEPS = 30
# All joints of robot and objects slower than this count as at rest [rad/s or m/s].
REST_SPEED = 0.02
# Stand still, hand open.
_IDLE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
# robosuite ends an episode by its own clock; the driver counts steps itself.
_NO_HORIZON = 10**9
# Everything that the next step depends on.
_WHOLE_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class Simulation:
    """One task's environment.

    Args:
      task: what to build.
      physics: 'exact' or 'fast', see robots.libero.stepper.
      fixture_seed: numpy's random state at each reset; places the fixtures.
    """

    def __init__(self, task: LiberoTask, *, physics: str, fixture_seed: int) -> None:
        self.task = task
        self._physics = physics
        self._fixture_seed = fixture_seed
        self._states = initial_states(task)
        with quiet():
            self._wrapper = _build(task)
        self._after_reset: NDArray[np.float64] | None = None
        self._site_colours: NDArray[np.float32] | None = None
        self.stepper: Stepper | None = None

    @property
    def env(self) -> Any:
        """LIBERO's environment; owns `sim` and `robots`."""
        return self._wrapper.env

    @property
    def model(self) -> Any:
        """The MuJoCo model; made at the first reset."""
        return self.env.sim.model._model

    @property
    def data(self) -> Any:
        """The MuJoCo data; made at the first reset."""
        return self.env.sim.data._data

    def reset(self, seed: int) -> dict[str, Any]:
        """Put the scene into the initial state that `seed` selects and let it come to rest.

        Returns:
          Facts worth storing with results.
        """
        index = seed % len(self._states)
        with quiet():
            self._wrapper.seed(self._fixture_seed)
            if self._after_reset is None:
                self._hard_reset()
            else:
                self._soft_reset()
            self._wrapper.set_init_state(self._states[index])
            settle_steps = self._settle()
        return {
            'init_index': index,
            'init_states': len(self._states),
            'fixture_seed': self._fixture_seed,
            'settle_steps': settle_steps,
            'stored_state_sha256': state_hash(self._states[index]),
            'initial_state_sha256': state_hash(self.data.qpos, self.data.qvel),
        }

    def _hard_reset(self) -> None:
        """Build the model; LIBERO's default at every reset, and the slow part of it."""
        self.env.object_property_initializers.clear()
        self._wrapper.reset()
        self._after_reset = np.empty(mujoco.mj_stateSize(self.model, _WHOLE_STATE))
        mujoco.mj_getState(self.model, self.data, self._after_reset, _WHOLE_STATE)
        self._site_colours = self.model.site_rgba.copy()
        self.stepper = Stepper(self.env, self._physics)

    def _soft_reset(self) -> None:
        """Keep the model: the result is that of a hard reset, bit for bit."""
        self.env.hard_reset = False
        self._wrapper.reset()
        gripper = self.env.robots[0].gripper
        gripper.current_action = np.zeros_like(gripper.current_action)
        # This has the solver's last solution, which nothing else resets.
        mujoco.mj_setState(self.model, self.data, self._after_reset, _WHOLE_STATE)
        # LIBERO leaves a burner red that was on when the last episode ended.
        self.model.site_rgba[:] = self._site_colours
        self.stepper = Stepper(self.env, self._physics)

    def _settle(self) -> int:
        for n in range(1, MAX_SETTLE_STEPS + 1):
            self.env.step(_IDLE)
            at_rest = float(np.abs(self.data.qvel).max()) < REST_SPEED
            if n >= MIN_SETTLE_STEPS and at_rest:
                return n
        return MAX_SETTLE_STEPS

    def succeeded(self) -> bool:
        """The verdict of the benchmark's own predicate on the present state."""
        return bool(self.env._check_success())

    def state(self) -> NDArray[np.float64]:
        """Time, qpos and qvel as one vector."""
        data = self.data
        return np.concatenate([[data.time], data.qpos, data.qvel])

    def load_state(self, state: NDArray[np.float64]) -> None:
        """Show a state that `state` gave; not a way to continue an episode."""
        self.env.sim.set_state_from_flattened(state)
        self.env.sim.forward()

    def succeeded_in(self, state: NDArray[np.float64]) -> bool:
        """The verdict on a state that `state` gave after a control step, as it was given then.

        What predicates read lags: a step ends with the integration of the positions, and poses of
        bodies and contacts are those from before it, one substep earlier.  In between a bowl may
        have lost touch with its plate for a moment.  MuJoCo's Euler integrator adds the new
        velocity to the positions, so the way back is known; joints are read as they are.
        """
        self.load_state(state)
        present = self.data.qpos.copy()
        mujoco.mj_integratePos(
            self.model, self.data.qpos, self.data.qvel, -self.model.opt.timestep
        )
        mujoco.mj_fwdPosition(self.model, self.data)
        self.data.qpos[:] = present
        return self.succeeded()

    def close(self) -> None:
        """Release the simulator."""
        self._wrapper.close()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep LIBERO's and robosuite's prints off the node's standard output."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _build(task: LiberoTask) -> Any:
    try:
        # ControlEnv and not OffScreenRenderEnv: the latter renders at every step.
        from libero.libero.envs.env_wrapper import ControlEnv

        return ControlEnv(
            bddl_file_name=str(task.bddl_file),
            use_camera_obs=False,
            has_renderer=False,
            has_offscreen_renderer=False,
            horizon=_NO_HORIZON,
        )
    except ImportError as error:
        raise RobotFailed(f'LIBERO cannot be imported ({error}); run ./rpent doctor') from error
