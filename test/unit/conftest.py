"""A fake robot in this process, for tests of the agent."""

import pytest

from rpent_ros.driver import DriverCore
from rpent_ros.local_env import LocalEnv


@pytest.fixture
def robot():
    from robots.fake.env_server import FakeRobot

    return FakeRobot(image_size=64)


@pytest.fixture
def env(robot):
    return LocalEnv(DriverCore(robot, privileged=True))


@pytest.fixture
def vla(robot, cheating_vla):
    return cheating_vla(robot)


@pytest.fixture
def make_toolkit(env, vla, tmp_path):
    """Builds a toolkit of the fake robot after a reset, in a folder of its own."""
    from robots.fake import get_toolkit

    def make(model=vla, **kwargs):
        env.reset(seed=1)
        return get_toolkit(
            primitives_kwargs={
                'env': env,
                'spec': env.describe(),
                'model': model,
                'policy': model.describe() if model is not None else None,
                'image_size': 128,
            },
            output_dir=tmp_path,
            **kwargs,
        )

    return make
