"""What drivers and policies say about themselves."""

from __future__ import annotations

import numpy as np

from rpent_msgs.msg import ActionSpec as ActionSpecMsg
from rpent_msgs.msg import CameraSpec as CameraSpecMsg
from rpent_msgs.msg import DriverSpec as DriverSpecMsg
from rpent_msgs.msg import PolicySpec as PolicySpecMsg
from rpent_msgs.msg import SafetyLimits as SafetyLimitsMsg
from rpent_msgs.msg import StateSpec as StateSpecMsg
from rpent_ros.contracts.specs import (
    ActionSpec,
    CameraSpec,
    DriverSpec,
    PolicySpec,
    SafetyLimits,
    StateSpec,
)
from rpent_ros.nodes.convert.geometry import doubles


def camera_spec_to_msg(spec: CameraSpec) -> CameraSpecMsg:
    """Camera spec message of a contract camera spec."""
    return CameraSpecMsg(
        name=spec.name,
        frame_id=spec.frame_id,
        width=spec.width,
        height=spec.height,
        encoding=spec.encoding,
        has_depth=spec.has_depth,
    )


def camera_spec_from_msg(msg: CameraSpecMsg) -> CameraSpec:
    """Contract camera spec of a camera spec message."""
    return CameraSpec(
        msg.name,
        frame_id=msg.frame_id,
        width=msg.width,
        height=msg.height,
        encoding=msg.encoding,
        has_depth=msg.has_depth,
    )


def state_spec_to_msg(spec: StateSpec) -> StateSpecMsg:
    """State spec message of a contract state spec."""
    return StateSpecMsg(names=list(spec.names), units=list(spec.units))


def state_spec_from_msg(msg: StateSpecMsg) -> StateSpec:
    """Contract state spec of a state spec message."""
    return StateSpec(names=tuple(msg.names), units=tuple(msg.units))


def action_spec_to_msg(spec: ActionSpec) -> ActionSpecMsg:
    """Action spec message of a contract action spec."""
    return ActionSpecMsg(
        names=list(spec.names),
        units=list(spec.units),
        low=doubles(spec.low),
        high=doubles(spec.high),
        scale=doubles(spec.scale),
        frame_id=spec.frame_id,
        rate=float(spec.rate),
        gripper_index=spec.gripper_index,
        gripper_open=float(spec.gripper_open),
        gripper_close=float(spec.gripper_close),
    )


def action_spec_from_msg(msg: ActionSpecMsg) -> ActionSpec:
    """Contract action spec of an action spec message."""
    return ActionSpec(
        tuple(msg.names),
        units=tuple(msg.units),
        low=np.array(msg.low),
        high=np.array(msg.high),
        scale=np.array(msg.scale),
        frame_id=msg.frame_id,
        rate=msg.rate,
        gripper_index=msg.gripper_index,
        gripper_open=msg.gripper_open,
        gripper_close=msg.gripper_close,
    )


def limits_to_msg(limits: SafetyLimits) -> SafetyLimitsMsg:
    """Safety limits message of contract safety limits."""
    return SafetyLimitsMsg(
        workspace_min=limits.workspace_min,
        workspace_max=limits.workspace_max,
        max_translation=float(limits.max_translation),
        max_rotation=float(limits.max_rotation),
        max_steps=limits.max_steps,
        workspace_margin=float(limits.workspace_margin),
        max_deviation=float(limits.max_deviation),
    )


def limits_from_msg(msg: SafetyLimitsMsg) -> SafetyLimits:
    """Contract safety limits of a safety limits message."""
    return SafetyLimits(
        workspace_min=np.array(msg.workspace_min),
        workspace_max=np.array(msg.workspace_max),
        max_translation=msg.max_translation,
        max_rotation=msg.max_rotation,
        max_steps=msg.max_steps,
        workspace_margin=msg.workspace_margin,
        max_deviation=msg.max_deviation,
    )


def driver_spec_to_msg(spec: DriverSpec) -> DriverSpecMsg:
    """Driver spec message of a contract driver spec."""
    return DriverSpecMsg(
        robot=spec.robot,
        simulated=spec.simulated,
        privileged=spec.privileged,
        base_frame=spec.base_frame,
        tool_frame=spec.tool_frame,
        cameras=[camera_spec_to_msg(camera) for camera in spec.cameras],
        state=state_spec_to_msg(spec.state),
        action=action_spec_to_msg(spec.action),
        limits=limits_to_msg(spec.limits),
        suites=list(spec.suites),
    )


def driver_spec_from_msg(msg: DriverSpecMsg) -> DriverSpec:
    """Contract driver spec of a driver spec message."""
    return DriverSpec(
        msg.robot,
        simulated=msg.simulated,
        privileged=msg.privileged,
        base_frame=msg.base_frame,
        tool_frame=msg.tool_frame,
        cameras=tuple(camera_spec_from_msg(camera) for camera in msg.cameras),
        state=state_spec_from_msg(msg.state),
        action=action_spec_from_msg(msg.action),
        limits=limits_from_msg(msg.limits),
        suites=tuple(msg.suites),
    )


def policy_spec_to_msg(spec: PolicySpec) -> PolicySpecMsg:
    """Policy spec message of a contract policy spec."""
    return PolicySpecMsg(
        name=spec.name,
        privileged=spec.privileged,
        cameras=[camera_spec_to_msg(camera) for camera in spec.cameras],
        state=state_spec_to_msg(spec.state),
        action=action_spec_to_msg(spec.action),
        horizon=spec.horizon,
    )


def policy_spec_from_msg(msg: PolicySpecMsg) -> PolicySpec:
    """Contract policy spec of a policy spec message."""
    return PolicySpec(
        msg.name,
        privileged=msg.privileged,
        cameras=tuple(camera_spec_from_msg(camera) for camera in msg.cameras),
        state=state_spec_from_msg(msg.state),
        action=action_spec_from_msg(msg.action),
        horizon=msg.horizon,
    )
