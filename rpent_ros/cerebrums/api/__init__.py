"""A planner that talks to a language model's provider directly, over HTTP."""

from __future__ import annotations

import dataclasses
import importlib.util

from rpent_ros.cerebrums.api.ids import find_endpoint
from rpent_ros.cerebrums.base import CerebrumResult, Steering, Tools
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import LlmNotInstalled
from rpent_ros.limits import Limits

__all__ = ['ApiCerebrum', 'check_ready']

_NEEDED = ('pydantic_ai', 'tenacity')


def check_ready(llm: LlmOptions) -> None:
    """Find out whether the model can be asked, without asking it.

    Raises:
      LlmUnknownModel: the model's name names no provider that is known.
      LlmNoKey: its provider wants a key and none is exported.
      LlmNotInstalled: a library is missing.
    """
    endpoint = find_endpoint(llm)
    for package in (*_NEEDED, endpoint.provider.package):
        if importlib.util.find_spec(package) is None:
            raise LlmNotInstalled(
                f'the planner api needs the Python package {package}; run ./rpent setup'
            )


@dataclasses.dataclass(frozen=True)
class ApiCerebrum:
    """Asks the model named in `llm`, carries out the tools that it calls, and so on."""

    llm: LlmOptions

    @property
    def name(self) -> str:
        """How it is chosen."""
        return 'api'

    def solve(
        self,
        system_prompt: str,
        user_message: str,
        toolkit: Tools,
        limits: Limits,
        steering: Steering,
    ) -> CerebrumResult:
        """See `Cerebrum.solve`; the session behind `toolkit` keeps the limits.

        Raises:
          LlmNoKey, LlmBadKey, LlmUnknownModel, LlmUnreachable, LlmFailed, LlmRefused, LlmNoTools,
          LlmNoVision, LlmContextFull: the model cannot be asked any further.
        """
        # The vendors' libraries take a second to import.
        from rpent_ros.cerebrums.api.loop import solve

        return solve(self.llm, system_prompt, user_message, toolkit, steering)
