"""What a robot package provides, and how it is found.

A robot is a folder: `import robots.<name>` is its registration.  Folders named in
RPENT_ROBOTS_PATH (colon separated) are searched first, so a user's robot need not live in this
repository.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import pathlib
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.labels import LabelImage
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.scene import Scene
from rpent_ros.contracts.specs import DriverSpec
from rpent_ros.errors import InvalidRequest
from rpent_ros.geometry import Pose


@dataclasses.dataclass(frozen=True)
class StepStatus:
    """What one control step reports before anybody asks for an observation."""

    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool = False


@dataclasses.dataclass(frozen=True)
class ResetInfo:
    """What a reset reports.

    Attributes:
      instruction: task sentence; '' for none.
      facts: values worth storing with results (initial-state hash, fixture seed, versions).
    """

    instruction: str = ''
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@runtime_checkable
class Robot(Protocol):
    """Driver-side facade of one robot: plain Python and numpy, no ROS, no torch.

    All methods are called from one thread, the process's main thread.  Safety limits, episode
    counting, chunk and motion loops live in `rpent_ros.driver` and need not be repeated here.
    """

    @property
    def spec(self) -> DriverSpec:
        """What the robot offers; known before the first reset."""

    def reset(self, *, suite: str, task: int, seed: int) -> ResetInfo:
        """Start an episode and return when the robot stands still.

        Args:
          suite: task suite; '' keeps the current one.
          task: index within the suite; -1 keeps the current one.
          seed: selects the initial state.

        Raises:
          UnknownTask: the suite or task does not exist; the message lists the known ones.
        """

    def step(self, action: NDArray[np.float64]) -> StepStatus:
        """Execute one control step.  `action` (D,) is finite and inside spec.action's bounds.

        Must not render and must not do work that nobody asked for.
        """

    def observe(self) -> Observation:
        """The present state without images; the driver fills in `episode` and `step`."""

    def render(self, camera: str, *, width: int, height: int, depth: bool) -> CameraFrame:
        """One upright image of the present state.

        Raises:
          UnknownCamera: the name is not in spec.cameras.
          RenderFailed: no image could be made; the message names the cause and the cure.
        """

    def path_errors(self, path: Sequence[Pose]) -> Sequence[tuple[float, float]] | None:
        """What the arm's joints would leave of each pose of a path; must not move anything.

        Args:
          path: tool poses in the base frame, to be followed from where the arm is in straight
            lines.

        Returns:
          Distance [m] and angle [rad] left, one pair per pose; None: not known.
        """

    def hold(self) -> None:
        """Keep still: called on cancel, on stop and when a client is lost."""

    def scene(self) -> Scene | None:
        """The simulator's own view of the scene; None on a real robot.  PRIVILEGED."""

    def simulator_state(self) -> NDArray[np.float64] | None:
        """Flat vector (time, qpos, qvel) that images can be made from again; None on hardware."""

    def close(self) -> None:
        """Release hardware, simulator and GL context.  Safe to call twice."""


@runtime_checkable
class LabelsImages(Protocol):
    """What a simulated robot may offer besides: it knows which object each pixel shows."""

    def label_image(self, camera: str, *, width: int, height: int) -> LabelImage:
        """Labels of the image that `render` makes of the present state.  PRIVILEGED.

        Raises:
          UnknownCamera, RenderFailed: as `Robot.render`.
        """


@runtime_checkable
class JudgesStates(Protocol):
    """What a simulated robot may offer besides: its task's predicate on logged states."""

    def judge(self, state: NDArray[np.float64]) -> bool:
        """What the predicate said when `simulator_state` gave this, in an episode reset alike."""


@dataclasses.dataclass(frozen=True)
class EnvSpec:
    """What a robot package says about itself, returned by `get_env_spec()`.

    Attributes:
      name: the folder's name.
      prompts: PromptBundle with `system` and `user` factories.
      make_robot: builds the driver-side facade from the driver's parameters; called by the driver
        process only, so the package itself must import neither simulator nor hardware.
      make_policy: builds a policy by name for the vla process; None: the robot brings none.
      policies: names that it knows besides those of rpent_ros.
      default_policy: name of the policy that needs no weights.
      parameters: path of params.yaml, the parameters of this robot's nodes.
      env_client: returns the class of the agent-side client, with robot-specific calls; None: the
        generic one.  Called in the agent process only.
      suites: returns the number of tasks of each suite, without building anything, so that a wrong
        task is refused before any process starts; None: only the driver can tell.
    """

    name: str
    _: dataclasses.KW_ONLY
    prompts: Any
    make_robot: Callable[[Mapping[str, Any]], Robot]
    default_policy: str = 'oracle'
    make_policy: Callable[[str, Mapping[str, Any]], Any] | None = None
    policies: tuple[str, ...] = ()
    parameters: pathlib.Path | None = None
    env_client: Callable[[], type] | None = None
    suites: Callable[[], Mapping[str, int]] | None = None


def known_robots() -> tuple[str, ...]:
    """Names of all robot packages that can be imported, sorted."""
    names: set[str] = set()
    for folder in _search_path():
        names.update(
            module.name for module in pkgutil.iter_modules([str(folder)]) if module.ispkg
        )
    return tuple(sorted(names))


def load_robot_package(name: str) -> ModuleType:
    """Import `robots.<name>`.

    Raises:
      InvalidRequest: no such robot, or the folder lacks `get_env_spec` or `get_toolkit`.
    """
    if name not in known_robots():
        raise InvalidRequest(
            f'unknown robot {name!r}; known robots: {", ".join(known_robots()) or "none"}'
        )
    module = _import_external(name) or importlib.import_module(f'robots.{name}')
    for factory in ('get_env_spec', 'get_toolkit'):
        if not callable(getattr(module, factory, None)):
            raise InvalidRequest(
                f'robot {name!r}: expected a function {factory}() in {module.__file__}, found none'
            )
    return module


def _external_folders() -> tuple[pathlib.Path, ...]:
    paths = os.environ.get('RPENT_ROBOTS_PATH', '')
    return tuple(pathlib.Path(p).expanduser() for p in paths.split(os.pathsep) if p)


def _search_path() -> tuple[pathlib.Path, ...]:
    import robots

    return (*_external_folders(), *(pathlib.Path(p) for p in robots.__path__))


def _import_external(name: str) -> ModuleType | None:
    for folder in _external_folders():
        init = folder / name / '__init__.py'
        if not init.is_file():
            continue
        full = f'robots.{name}'
        if full in sys.modules:
            return sys.modules[full]
        spec = importlib.util.spec_from_file_location(
            full, init, submodule_search_locations=[str(init.parent)]
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
        return module
    return None
