"""A fake robot in this process, for tests of the agent."""

import dataclasses

import pytest

from rpent_ros.agent import run_task
from rpent_ros.cerebrums.base import CerebrumResult
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode
from rpent_ros.local_env import LocalEnv
from rpent_ros.run import RunConfig
from rpent_ros.session import StopFlag
from rpent_ros.tools.options import ToolOptions
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


class Listener:
    """Keeps what a run tells."""

    def __init__(self):
        self.events = []
        self.dumps = []

    def event(self, event):
        self.events.append(event)

    def step(self, run_id, dump):
        self.dumps.append((run_id, dump))

    def kinds(self):
        return [event.kind for event in self.events]


class Planner:
    """A cerebrum made of one function of the tools."""

    name = 'test'

    def __init__(self, solve):
        self._solve = solve

    def solve(self, system_prompt, user_message, toolkit, limits, steering):
        self.prompts = (system_prompt, user_message)
        answer = self._solve(toolkit)
        return answer if isinstance(answer, CerebrumResult) else CerebrumResult(None)


@pytest.fixture
def config(tmp_path):
    return RunConfig(
        'fake', suite='fake_pick', task=0, seed=1, output_dir=str(tmp_path / 'run'),
        options=ToolOptions(image_size=0),
    )


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def run(config, env, vla, listener):
    def go(planner=None, *, stop=None, vla=vla, **changes):
        more = {k: changes.pop(k) for k in ('recorder', 'steering') if k in changes}
        return run_task(
            dataclasses.replace(config, **changes), env, vla, listener, stop or StopFlag(),
            cerebrum=planner and Planner(planner), **more,
        )  # fmt: skip

    go.config = config
    return go
