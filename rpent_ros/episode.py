"""One robot, episode by episode: limits on what goes in; counts, stamps and logs what comes out.

Belongs to the robot's thread.  Whether the robot may move at all is the driver's business.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros import frames
from rpent_ros.contracts.labels import LabelImage
from rpent_ros.contracts.motion import Clamp
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import DriverSpec, SafetyLimits
from rpent_ros.errors import InvalidRequest, UnknownCamera
from rpent_ros.robot import LabelsImages, Robot, StepStatus
from rpent_ros.safety import ActionGuard, BoxWatch, axes_outside, distance_outside
from rpent_ros.state_log import StateLog

MAX_IMAGE_SIDE = 4096


class Episode:
    """The present episode of a robot.

    Args:
      robot: the facade of the robot.
      limits: replace those of the robot's spec, or a function that does, since these may change
        with the scene; None keeps them.
      clock: nanoseconds since the epoch.
      privileged: the driver publishes the simulator's scene.
      frame_prefix: put before every frame name.
      state_log: where the simulator's states go; None: nowhere.

    Attributes:
      spec: what the robot offers, under these limits.
      guard: the limits, applied to actions and targets.
      number: counts resets; 0: never reset.
      steps: control steps since the reset.
      flags: what the last control step reported.
      gripper: value of the gripper command in force.
      escape: says so if the last control step took the tool out of the workspace box, or further
        out; '' otherwise.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        limits: SafetyLimits | Callable[[SafetyLimits], SafetyLimits] | None = None,
        clock: Callable[[], int] = time.time_ns,
        privileged: bool = False,
        frame_prefix: str = '',
        state_log: StateLog | None = None,
    ) -> None:
        self._robot = robot
        self._limits = limits
        self._clock = clock
        self._privileged = privileged
        self._prefix = frame_prefix
        self._state_log = state_log
        self._tool_position = getattr(robot, 'tool_position', self._observed_position)
        self._instruction = ''
        self._adopt_spec()
        self.number = 0
        self.steps = 0
        self.flags = StepStatus()
        self.gripper = self.spec.action.gripper_open
        self.escape = ''
        self._held = False

    def reset(self, *, suite: str, task: int, seed: int) -> tuple[Observation, Mapping[str, Any]]:
        """Start an episode; returns the state and the facts worth storing with results.

        Raises:
          UnknownTask: the suite or task does not exist.
        """
        if self._state_log is not None:
            self._state_log.close()
        info = self._robot.reset(suite=suite, task=task, seed=seed)
        # A scene of another kind may bring another workspace.
        self._adopt_spec()
        self._watch.allow(self._tool_position())
        self.number += 1
        self.steps = 0
        self.flags = StepStatus()
        self.escape = ''
        self._held = False
        self._instruction = info.instruction
        # Robots start an episode with an open hand.
        self.gripper = self.spec.action.gripper_open
        facts = {'suite': suite, 'task': task, 'seed': seed, **info.facts}
        self._begin_log(facts)
        return self.observe(), facts

    def advance(
        self, action: Any, n: int, position: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], tuple[Clamp, ...], StepStatus]:
        """One control step: limits, robot, counters, log.

        Args:
          action: (D,) values as spec.action describes them.
          n: number of the step within its motion, for reports.
          position: tool centre point (3,) [m] where it is known already.

        Returns:
          The action sent, what was cut from it, and what the robot reported.

        Raises:
          BadAction: wrong shape or not finite; the robot has not moved.
        """
        if position is None and self.guard.needs_position:
            position = self._tool_position()
        sent, clamps = self.guard.apply(action, position, step=n)
        status = self._robot.step(sent)
        self.steps += 1
        self.flags = status
        self.escape = self._escape()
        if self.spec.action.gripper_index >= 0:
            self.gripper = float(sent[self.spec.action.gripper_index])
        if self._state_log is not None:
            state = self._robot.simulator_state()
            if state is not None:
                self._state_log.append(self._clock(), sent, state, held=self._held)
        self._held = False
        return sent, clamps, status

    def observe(
        self,
        cameras: Sequence[str] = (),
        *,
        width: int = 0,
        height: int = 0,
        depth: bool = False,
    ) -> Observation:
        """The present state, with images of the cameras named; size 0 is the camera's default.

        Raises:
          UnknownCamera: a name is not in the spec.
          InvalidRequest: a size is too large.
          RenderFailed: an image could not be made.
        """
        stamp = self._clock()
        seen = self._robot.observe()
        images = tuple(
            self.render(name, width=width, height=height, depth=depth, stamp=stamp)
            for name in cameras
        )
        return dataclasses.replace(
            seen,
            stamp=seen.stamp or stamp,
            frame_id=self._prefix + seen.frame_id,
            episode=self.number,
            step=self.steps,
            instruction=self._instruction,
            frames=images,
            terminated=self.flags.terminated,
            truncated=self.flags.truncated,
            success=self.flags.success or seen.success,
        )

    def render(
        self, camera: str, *, width: int = 0, height: int = 0, depth: bool = False, stamp: int = 0
    ) -> CameraFrame:
        """One image of the present state.  Arguments and exceptions as `observe`."""
        width, height = self._image_size(camera, width, height)
        frame = self._robot.render(camera, width=width, height=height, depth=depth)
        return dataclasses.replace(
            frame,
            frame_id=self._prefix + frame.frame_id,
            stamp=frame.stamp or stamp or self._clock(),
        )

    def label_image(self, camera: str, *, width: int = 0, height: int = 0) -> LabelImage:
        """Which object each pixel of an image shows.  PRIVILEGED.

        Raises:
          UnknownCamera, InvalidRequest, RenderFailed: as `observe`.
          InvalidRequest: the robot does not know.
        """
        width, height = self._image_size(camera, width, height)
        if not isinstance(self._robot, LabelsImages):
            raise InvalidRequest(
                f'label_image: robot {self.spec.robot} does not know which object a pixel shows; '
                'only simulated robots do'
            )
        labels = self._robot.label_image(camera, width=width, height=height)
        return dataclasses.replace(labels, episode=self.number, step=self.steps)

    def _image_size(self, camera: str, width: int, height: int) -> tuple[int, int]:
        """Width and height of an image; 0 is the camera's default."""
        spec = next((c for c in self.spec.cameras if c.name == camera), None)
        if spec is None:
            known = ', '.join(c.name for c in self.spec.cameras) or 'none'
            raise UnknownCamera(f'unknown camera {camera!r}; known cameras: {known}')
        width, height = width or spec.width, height or spec.height
        if max(width, height) > MAX_IMAGE_SIDE:
            raise InvalidRequest(
                f'camera {camera}: expected an image of at most {MAX_IMAGE_SIDE} px a side, '
                f'got {width} x {height}'
            )
        return width, height

    def scene(self) -> Scene | None:
        """The simulator's own view, counted and stamped; None on a real robot.  PRIVILEGED."""
        scene = self._robot.scene()
        if scene is None:
            return None
        return dataclasses.replace(
            scene,
            stamp=scene.stamp or self._clock(),
            frame_id=self._prefix + scene.frame_id,
            episode=self.number,
            step=self.steps,
        )

    def hold(self) -> None:
        """Have the robot stand still; the log remembers, since it may change what steps do."""
        self._robot.hold()
        self._held = True

    def close(self) -> None:
        """End the state log."""
        if self._state_log is not None:
            self._state_log.close()

    def _escape(self) -> str:
        """What was measured if the tool has left the box with the last control step."""
        position = self._tool_position()
        if not self._watch.escaped(position):
            return ''
        limits = self.spec.limits
        return (
            f'the tool left the workspace box by {1000 * distance_outside(limits, position):.0f} '
            f'mm: {axes_outside(limits, position)}, in the base frame'
        )

    def _observed_position(self) -> NDArray[np.float64]:
        return self._robot.observe().ee_pose.position

    def _adopt_spec(self) -> None:
        spec = self._robot.spec
        limits = self._limits(spec.limits) if callable(self._limits) else self._limits
        spec = dataclasses.replace(
            spec, limits=limits or spec.limits, privileged=self._privileged
        )
        self.spec: DriverSpec = frames.prefix_spec(spec, self._prefix)
        self.guard = ActionGuard(spec.action, spec.limits)
        self._watch = BoxWatch(spec.limits)

    def _begin_log(self, facts: Mapping[str, Any]) -> None:
        state = self._robot.simulator_state() if self._state_log is not None else None
        if self._state_log is None or state is None:
            return
        action = self.spec.action
        header = {
            'robot': self.spec.robot,
            'episode': self.number,
            'instruction': self._instruction,
            'rate': action.rate,
            'action_names': list(action.names),
            **facts,
        }
        self._state_log.begin(
            header, stamp=self._clock(), action_size=action.dim, state=state
        )
