"""A point robot over a table: no simulator, no dependencies but numpy.  A template to copy.

Driver side:
tasks.py          what it can be asked to do
world.py          how the robot and the cubes move
camera.py         what its cameras see
env_server.py     the facade over the three, and `main()`

Agent side:
env_client.py     the driver's client
toolkit.py        the tools
prompt_bundle.py  what language models are told
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from rpent_ros.prompts import PromptBundle
from rpent_ros.robot import EnvSpec, Robot


def get_env_spec() -> EnvSpec:
    """What this package provides."""
    from robots.fake import prompt_bundle

    return EnvSpec(
        'fake',
        prompts=PromptBundle(system=prompt_bundle.system_prompt, user=prompt_bundle.user_prompt),
        make_robot=_make_robot,
        parameters=pathlib.Path(__file__).with_name('params.yaml'),
        env_client=_env_client,
        suites=_suites,
    )


def get_toolkit(*, primitives_kwargs: Mapping[str, Any], **kwargs: Any) -> Any:
    """The tools of this robot; arguments as `FakeToolkit`."""
    from robots.fake.toolkit import FakeToolkit

    return FakeToolkit(primitives_kwargs=primitives_kwargs, **kwargs)


def _env_client() -> type:
    from robots.fake.env_client import FakeEnvClient

    return FakeEnvClient


def _suites() -> Mapping[str, int]:
    from robots.fake.tasks import SUITES

    return {suite: len(tasks) for suite, tasks in SUITES.items()}


def _make_robot(parameters: Mapping[str, Any]) -> Robot:
    from robots.fake.env_server import FakeRobot

    return FakeRobot.from_parameters(parameters)
