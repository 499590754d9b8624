"""A simulator for the whole session: building one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robots.libero.env_server import LiberoRobot


@pytest.fixture(scope='session')
def robot() -> Iterator[LiberoRobot]:
    """LIBERO with the exact stepper and its scene."""
    robot = LiberoRobot(physics='exact', privileged=True)
    yield robot
    robot.close()
