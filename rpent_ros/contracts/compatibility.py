"""Driver against policy: a mismatch is found before the first step, not as a robot that shakes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rpent_ros.contracts.specs import ActionSpec, DriverSpec, PolicySpec
from rpent_ros.errors import ContractMismatch


def check_compatible(driver: DriverSpec, policy: PolicySpec) -> None:
    """Refuse a policy that does not fit a driver.

    Raises:
      ContractMismatch: lists every point with both sides.
    """
    points = list(mismatches(driver, policy))
    if points:
        raise ContractMismatch(
            f'policy {policy.name} does not fit robot {driver.robot}: {"; ".join(points)}; '
            'choose a policy made for this robot, or adapt it in its own adapter'
        )


def mismatches(driver: DriverSpec, policy: PolicySpec) -> Iterator[str]:
    """Every point in which the two disagree, as 'what: policy x, robot y'."""
    if policy.privileged and not driver.privileged:
        yield (
            'privileged scene: policy needs it, robot does not publish it '
            '(start the driver with privileged:=true)'
        )
    yield from _cameras(driver, policy)
    if policy.state.names and policy.state != driver.state:
        yield (
            f'state: policy {_list(policy.state.names, policy.state.units)}, '
            f'robot {_list(driver.state.names, driver.state.units)}'
        )
    yield from _actions(driver.action, policy.action)


def _cameras(driver: DriverSpec, policy: PolicySpec) -> Iterator[str]:
    offered = {camera.name: camera for camera in driver.cameras}
    for wanted in policy.cameras:
        if wanted.name not in offered:
            known = ', '.join(offered) or 'none'
            yield f'camera: policy {wanted.name}, robot {known}'
        elif wanted.encoding != offered[wanted.name].encoding:
            yield (
                f'camera {wanted.name} encoding: policy {wanted.encoding}, '
                f'robot {offered[wanted.name].encoding}'
            )


def _actions(robot: ActionSpec, policy: ActionSpec) -> Iterator[str]:
    if (policy.names, policy.units) != (robot.names, robot.units):
        yield (
            f'action: policy {_list(policy.names, policy.units)}, '
            f'robot {_list(robot.names, robot.units)}'
        )
        return
    for name in ('low', 'high', 'scale'):
        ours, theirs = getattr(policy, name), getattr(robot, name)
        if not np.allclose(ours, theirs):
            yield f'action {name}: policy {ours.tolist()}, robot {theirs.tolist()}'
    for name in ('frame_id', 'rate', 'gripper_index'):
        ours, theirs = getattr(policy, name), getattr(robot, name)
        if ours != theirs:
            yield f'action {name}: policy {ours}, robot {theirs}'
    if robot.gripper_index >= 0:
        for name in ('gripper_open', 'gripper_close'):
            ours, theirs = getattr(policy, name), getattr(robot, name)
            if ours != theirs:
                yield f'action {name}: policy {ours}, robot {theirs}'


def _list(names: tuple[str, ...], units: tuple[str, ...]) -> str:
    columns = (
        f'{name} [{unit}]' if unit else name for name, unit in zip(names, units, strict=True)
    )
    return f'{len(names)} values ({", ".join(columns)})'
