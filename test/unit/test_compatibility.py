"""Driver against policy: each point of the contract is provoked."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robots.fake.env_server import make_spec
from rpent_ros.contracts.compatibility import check_compatible
from rpent_ros.contracts.specs import CameraSpec, PolicySpec, StateSpec
from rpent_ros.errors import ContractMismatch

DRIVER = dataclasses.replace(make_spec(64), privileged=True)
POLICY = PolicySpec('p', action=DRIVER.action, horizon=5)


def test_equal_contracts_fit() -> None:
    check_compatible(DRIVER, POLICY)
    check_compatible(
        DRIVER, dataclasses.replace(POLICY, state=DRIVER.state, cameras=DRIVER.cameras)
    )


def action(**changes):
    """The policy with another idea of actions."""
    return dataclasses.replace(POLICY, action=dataclasses.replace(DRIVER.action, **changes))


@pytest.mark.parametrize(
    ('policy', 'point'),
    [
        (
            action(gripper_open=1.0, gripper_close=-1.0),
            'action gripper_open: policy 1.0, robot -1.0',
        ),
        (action(rate=10.0), 'action rate: policy 10.0, robot 20.0'),
        (action(frame_id='tool'), 'action frame_id: policy tool, robot base'),
        (action(high=np.full(7, 2.0)), 'action high: policy [2.0, 2.0'),
        (action(names=tuple('abcdefg')), 'action: policy 7 values (a [m], b [m]'),
        (
            dataclasses.replace(
                POLICY, cameras=(CameraSpec('front', frame_id='f', width=8, height=8),)
            ),
            'camera: policy front, robot agentview, wrist',
        ),
        (
            dataclasses.replace(POLICY, state=StateSpec(('x',), ('m',))),
            'state: policy 1 values (x [m]), robot 8 values (x [m], y [m]',
        ),
    ],
)
def test_a_mismatch_prints_both_sides(policy: PolicySpec, point: str) -> None:
    with pytest.raises(ContractMismatch) as caught:
        check_compatible(DRIVER, policy)
    message = str(caught.value)
    assert message.startswith(f'policy p does not fit robot fake: {point}')
    assert message.endswith('or adapt it in its own adapter')


def test_a_privileged_policy_needs_a_driver_that_tells() -> None:
    honest = dataclasses.replace(DRIVER, privileged=False)
    with pytest.raises(ContractMismatch, match='start the driver with privileged:=true'):
        check_compatible(honest, dataclasses.replace(POLICY, privileged=True))
