"""A fake robot in this process, for tests of the agent."""

import pytest

from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode
from rpent_ros.local_env import LocalEnv
from rpent_ros.tools.reference import COMMON_CODES, COMMON_RESULTS


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
def make_toolkit(env, vla, tmp_path, monkeypatch):
    """Builds a toolkit of the fake robot after a reset, in a folder of its own."""
    from robots.fake import get_toolkit

    def make(model=vla, **kwargs):
        env.reset(seed=1)
        toolkit = get_toolkit(
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
        monkeypatch.setattr(toolkit, 'call', checked(toolkit))
        return toolkit

    return make


def checked(toolkit):
    """The toolkit's call, which also compares each answer with what the tool's definition says."""
    call = toolkit.call

    def checked_call(name, arguments):
        result = call(name, arguments)
        known = {tool.name: tool.definition for tool in toolkit.tools}
        if name in known:
            undeclared = set(result.data) - set(known[name].results) - set(COMMON_RESULTS)
            assert undeclared == set(), f'{name} answers with keys that its definition lacks'
            foreseen = {ErrorCode.OK, *known[name].codes, *COMMON_CODES}
            assert result.code in foreseen, f'{name} answers with a code that it does not name'
        return result

    return checked_call
