"""A simulator for the whole session: building one takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from robots.libero.env_server import LiberoRobot
from robots.libero.toolkit import LiberoPrimitives
from rpent_ros.driver import DriverCore
from rpent_ros.local_env import LocalEnv
from rpent_ros.policies.oracle.policy import OraclePolicy


@pytest.fixture(scope='session')
def robot() -> Iterator[LiberoRobot]:
    """LIBERO with the exact stepper and its scene."""
    robot = LiberoRobot(physics='exact', privileged=True)
    yield robot
    robot.close()


class Oracle:
    """The oracle as the tools know policies."""

    def __init__(self, core: DriverCore) -> None:
        self._policy = OraclePolicy()
        self._policy.connect(core.spec, lambda episode, step: core.scene())
        self.describe = lambda: self._policy.spec
        self.reset = lambda session='': self._policy.reset(session)
        self.infer = lambda *given, session: self._policy.infer(*given, session)


@pytest.fixture
def moving_tools() -> Callable[[DriverCore], LiberoPrimitives]:
    """Makes the moving tools for a driver that was reset, with the oracle as their policy."""

    def make(core: DriverCore) -> LiberoPrimitives:
        oracle = Oracle(core)
        return LiberoPrimitives(
            LocalEnv(core), core.spec, model=oracle, policy=oracle.describe()
        )

    return make
