"""Driver side of the fake robot: the facade that the driver node serves."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots.fake import camera as cam
from robots.fake import world as w
from robots.fake.tasks import SUITES, find_task
from rpent_ros.contracts.labels import NOTHING, Label, LabelImage
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.scene import Scene, SceneBody, SceneGoal, SceneRegion
from rpent_ros.contracts.specs import (
    ActionSpec,
    CameraSpec,
    DriverSpec,
    SafetyLimits,
    StateSpec,
)
from rpent_ros.errors import InvalidRequest, UnknownCamera
from rpent_ros.geometry import Pose, quaternion_from_matrix, rotation_vector
from rpent_ros.robot import ResetInfo, StepStatus

BASE_FRAME = 'base'
TOOL_FRAME = 'tool'
CAMERAS = ('agentview', 'wrist')
REGION = 'bin_region'

_AGENTVIEW_EYE = np.array([1.15, 0.0, 0.65])
_AGENTVIEW_TARGET = np.array([0.42, 0.0, 0.02])
# The wrist camera sits in front of the fingers and looks along them, in the tool's frame.
_WRIST_OFFSET = np.array([0.06, 0.0, -0.10])
# Its image's right is the tool's y, its down is minus the tool's x: up in the image is forward.
_WRIST_TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

_PARAMETERS: dict[str, Any] = {
    'suite': 'fake_pick',
    'task': 0,
    'seed': 0,
    'privileged': False,
    'image_size': 256,
    'max_episode_steps': 1000,
    'step_seconds': 0.0,
}


class FakeRobot:
    """A tool centre point with a gripper over a table with three cubes and a bin.

    Args:
      suite, task: what a reset without them starts.
      image_size: width and height of both cameras [px].
      max_episode_steps: control steps after which an episode is truncated.
      step_seconds: time that one control step takes [s]; 0: as fast as possible.
    """

    def __init__(
        self,
        *,
        suite: str = 'fake_pick',
        task: int = 0,
        image_size: int = 256,
        max_episode_steps: int = 1000,
        step_seconds: float = 0.0,
    ) -> None:
        self._suite, self._task_index = suite, task
        self._task = find_task(suite, task)
        self._max_episode_steps = max_episode_steps
        self._step_seconds = step_seconds
        self._spec = make_spec(image_size)
        self._world = w.World.initial(0)
        self._steps = 0
        self._success = False

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> FakeRobot:
        """Make the robot from the driver's parameters.

        Raises:
          InvalidRequest: a parameter that the robot does not have.
        """
        unknown = sorted(set(parameters) - set(_PARAMETERS))
        if unknown:
            raise InvalidRequest(
                f'robot fake: unknown parameter {unknown[0]!r}; '
                f'known parameters: {", ".join(_PARAMETERS)}'
            )
        values = {**_PARAMETERS, **parameters}
        return cls(
            suite=values['suite'] or _PARAMETERS['suite'],
            task=max(values['task'], 0),
            image_size=values['image_size'],
            max_episode_steps=values['max_episode_steps'],
            step_seconds=values['step_seconds'],
        )

    @property
    def spec(self) -> DriverSpec:
        """What the robot offers."""
        return self._spec

    def reset(self, *, suite: str, task: int, seed: int) -> ResetInfo:
        """Put the robot home and scatter the cubes as the seed says."""
        suite = suite or self._suite
        index = self._task_index if task < 0 else task
        self._task = find_task(suite, index)
        self._suite, self._task_index = suite, index
        self._world = w.World.initial(seed)
        self._steps = 0
        self._success = False
        facts = {
            'suite': suite,
            'task': index,
            'seed': seed,
            'initial_state_sha256': hashlib.sha256(self._world.to_vector().tobytes()).hexdigest(),
        }
        return ResetInfo(self._task.sentence, facts)

    def step(self, action: NDArray[np.float64]) -> StepStatus:
        """Execute one control step."""
        if self._step_seconds:
            time.sleep(self._step_seconds)
        self._world.step(action)
        self._steps += 1
        # Success is for good, as in the benchmarks: the episode ends with it.
        self._success = self._success or self._world.is_in_bin(self._task.cube)
        return StepStatus(
            reward=float(self._success),
            terminated=self._success,
            truncated=self._steps >= self._max_episode_steps,
            success=self._success,
        )

    def observe(self) -> Observation:
        """The present state."""
        world = self._world
        finger, finger_speed = world.width / 2, world.width_speed / 2
        return Observation(
            0,
            frame_id=BASE_FRAME,
            episode=0,
            step=0,
            instruction=self._task.sentence,
            state=np.concatenate([
                world.position, rotation_vector(world.rotation), [finger, -finger]
            ]),
            joint_names=('slide_x', 'slide_y', 'slide_z', 'finger_left', 'finger_right'),
            joint_positions=np.array([*world.position, finger, -finger]),
            joint_velocities=np.array([*world.velocity, finger_speed, -finger_speed]),
            ee_pose=self._tool_pose(),
            ee_twist=np.concatenate([world.velocity, world.spin]),
            gripper_width=world.width,
            success=self._success,
        )

    def tool_position(self) -> NDArray[np.float64]:
        """Tool centre point (3,) in the base frame [m]."""
        return self._world.position

    def render(self, camera: str, *, width: int, height: int, depth: bool) -> CameraFrame:
        """One upright image of the present state."""
        eye, rotation = self._camera_pose(camera)
        rgb, distance = cam.render(cam.boxes(self._world), eye, rotation, width, height)
        return CameraFrame(
            camera,
            frame_id=f'{camera}_optical',
            rgb=rgb,
            depth=distance if depth else None,
            intrinsics=cam.intrinsics(width, height),
            pose=Pose(eye, quaternion_from_matrix(rotation)),
        )

    def path_errors(self, path: Sequence[Pose]) -> Sequence[tuple[float, float]]:
        """A portal reaches every pose in the box."""
        return [(0.0, 0.0)] * len(path)

    def label_image(self, camera: str, *, width: int, height: int) -> LabelImage:
        """Which cube, or the bin, each pixel of that image shows.  PRIVILEGED."""
        boxes = cam.boxes(self._world)
        _, _, index = cam.trace(boxes, *self._camera_pose(camera), width, height)
        names = (*w.CUBE_NAMES, 'bin')
        # Index -1, no box, takes the number that is appended.
        numbers = [names.index(box.name) + 1 if box.name else NOTHING for box in boxes]
        return LabelImage(
            camera,
            ids=np.array([*numbers, NOTHING], np.uint16)[index],
            labels=tuple(Label(name, parent=name, movable=name != 'bin') for name in names),
        )

    def hold(self) -> None:
        """Stand still."""
        self._world.halt()

    def scene(self) -> Scene:
        """All cubes, the bin, the goal and what touches what.  PRIVILEGED."""
        world = self._world
        cube = np.array([
            [x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)
        ], np.float32) * np.float32(w.CUBE_SIZE / 2)  # fmt: skip
        bodies = [
            SceneBody(name, parent=name, movable=True, pose=world.cube_pose(n), hulls=(cube,))
            for n, name in enumerate(w.CUBE_NAMES)
        ]
        bodies.append(_bin_body())
        contacts = frozenset(
            (finger, w.CUBE_NAMES[world.held])
            for finger in ('finger_left', 'finger_right')
            if world.held >= 0
        )
        goal = SceneGoal(
            'in',
            arguments=(w.CUBE_NAMES[self._task.cube], REGION),
            satisfied=world.is_in_bin(self._task.cube),
        )
        return Scene(
            stamp=0,
            frame_id=BASE_FRAME,
            episode=0,
            step=0,
            bodies=tuple(bodies),
            regions=(_bin_region(),),
            goals=(goal,),
            contacts=contacts,
        )

    def simulator_state(self) -> NDArray[np.float64]:
        """The whole world as one flat vector, time first."""
        return self._world.to_vector()

    def load_simulator_state(self, state: NDArray[np.float64]) -> None:
        """Put the world into a state that `simulator_state` gave, e.g. to render it again."""
        self._world = w.World.from_vector(state)

    def judge(self, state: NDArray[np.float64]) -> bool:
        """The predicate's verdict on a state that `simulator_state` gave."""
        return w.World.from_vector(state).is_in_bin(self._task.cube)

    def close(self) -> None:
        """Nothing to release."""

    def _tool_pose(self) -> Pose:
        return Pose(self._world.position.copy(), quaternion_from_matrix(self._world.rotation))

    def _camera_pose(self, camera: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if camera not in CAMERAS:
            raise UnknownCamera(f'unknown camera {camera!r}; known cameras: {", ".join(CAMERAS)}')
        if camera == 'agentview':
            return _AGENTVIEW_EYE, cam.look_at(_AGENTVIEW_EYE, _AGENTVIEW_TARGET)
        rotation = self._world.rotation
        return self._world.position + rotation @ _WRIST_OFFSET, rotation @ _WRIST_TURN


def make_spec(image_size: int) -> DriverSpec:
    """What a fake robot with cameras of that size offers."""
    return DriverSpec(
        'fake',
        simulated=True,
        base_frame=BASE_FRAME,
        tool_frame=TOOL_FRAME,
        cameras=tuple(
            CameraSpec(name, frame_id=f'{name}_optical', width=image_size, height=image_size)
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
            scale=np.array([w.TRANSLATION] * 3 + [w.ROTATION] * 3 + [1.0]),
            frame_id=BASE_FRAME,
            rate=w.CONTROL_RATE,
            gripper_index=6,
            gripper_open=-1.0,
            gripper_close=1.0,
        ),
        limits=SafetyLimits(
            workspace_min=np.array([0.15, -0.40, 0.01]),
            workspace_max=np.array([0.75, 0.40, 0.50]),
            # A unit action along all three axes at once.
            max_translation=w.TRANSLATION * math.sqrt(3),
            max_rotation=w.ROTATION * math.sqrt(3),
        ),
        suites=tuple(SUITES),
    )


def _bin_region() -> SceneRegion:
    height = w.BIN_HEIGHT / 2
    return SceneRegion(
        REGION,
        parent='bin',
        pose=Pose(np.array([*w.BIN_CENTRE, height])),
        half_size=np.array([w.BIN_HALF, w.BIN_HALF, height]),
    )


def _bin_body() -> SceneBody:
    origin = np.array([*w.BIN_CENTRE, 0.0])
    hulls = tuple(
        (cam.CORNERS * box.half + box.centre - origin).astype(np.float32)
        for box in cam.bin_boxes()
    )
    return SceneBody('bin', parent='bin', movable=False, pose=Pose(origin), hulls=hulls)


def main() -> int:
    """Serve this robot as the driver node."""
    from rpent_ros.nodes.driver import main as serve

    return serve([*sys.argv, '--ros-args', '-p', 'robot:=fake'])


if __name__ == '__main__':
    sys.exit(main())
