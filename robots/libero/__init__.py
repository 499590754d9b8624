"""LIBERO and LIBERO-PRO: a Franka Panda arm in simulated household scenes."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from robots.libero.prompt_bundle import system_prompt, user_prompt
from rpent_ros.prompts import PromptBundle
from rpent_ros.robot import EnvSpec, Robot


def get_env_spec() -> EnvSpec:
    """What this robot is: prompts, driver-side facade, policy, parameters."""
    return EnvSpec(
        name='libero',
        prompts=PromptBundle(system=system_prompt, user=user_prompt),
        make_robot=_make_robot,
        make_policy=_make_policy,
        parameters=pathlib.Path(__file__).with_name('params.yaml'),
        env_client=_env_client,
        suites=_suites,
    )


def get_toolkit(*, primitives_kwargs: Mapping[str, Any], **kwargs: Any) -> Any:
    """The tools; arguments as `robots.libero.toolkit.LiberoToolkit`."""
    from robots.libero.toolkit import LiberoToolkit

    return LiberoToolkit(primitives_kwargs=primitives_kwargs, **kwargs)


def _make_robot(parameters: Mapping[str, Any]) -> Robot:
    # Imported here because only the driver process may load the simulator.
    from robots.libero.env_server import make_robot

    return make_robot(parameters)


def _make_policy(name: str, parameters: Mapping[str, Any]) -> Any:
    from rpent_ros.policies.registry import make_policy

    return make_policy(name, parameters)


def _env_client() -> type:
    from robots.libero.env_client import LiberoEnvClient

    return LiberoEnvClient


def _suites() -> Mapping[str, int]:
    from robots.libero.suites import suites

    return suites()
