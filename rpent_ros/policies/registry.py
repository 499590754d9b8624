"""Policies by name; a policy's module is imported only when it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpent_ros.policies.base import Policy
from rpent_ros.registry import choose

# Name to module and class.
_POLICIES = {
    'oracle': ('rpent_ros.policies.oracle.policy', 'OraclePolicy'),
}
# These read simulator state; the driver publishes it only for them.
PRIVILEGED_POLICIES = ('oracle',)


def known_policies() -> tuple[str, ...]:
    """Names of all policies that come with rpent_ros."""
    return tuple(_POLICIES)


def make_policy(name: str, parameters: Mapping[str, Any]) -> Policy:
    """Make a policy; nothing is loaded yet.

    Args:
      name: one of `known_policies`.
      parameters: the vla node's parameters.

    Raises:
      InvalidRequest: unknown policy.
    """
    policy: Policy = choose('policy', 'policies', _POLICIES, name).from_parameters(parameters)
    return policy
