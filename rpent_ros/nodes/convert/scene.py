"""The simulator's privileged view of a scene."""

from __future__ import annotations

import array

import numpy as np

from rpent_msgs.msg import Scene as SceneMsg
from rpent_msgs.msg import SceneBody as SceneBodyMsg
from rpent_msgs.msg import SceneGoal as SceneGoalMsg
from rpent_msgs.msg import SceneRegion as SceneRegionMsg
from rpent_ros.contracts.scene import Scene, SceneBody, SceneGoal, SceneRegion
from rpent_ros.errors import InvalidRequest
from rpent_ros.nodes.convert.geometry import (
    floats,
    header,
    pose_from_msg,
    pose_to_msg,
    stamp_from_msg,
)


def _body_to_msg(body: SceneBody) -> SceneBodyMsg:
    vertices = np.concatenate(body.hulls) if body.hulls else np.zeros((0, 3), np.float32)
    return SceneBodyMsg(
        name=body.name,
        parent=body.parent,
        movable=body.movable,
        pose=pose_to_msg(body.pose),
        vertices=floats(vertices),
        hull_sizes=array.array('I', [len(hull) for hull in body.hulls]),
    )


def _body_from_msg(msg: SceneBodyMsg) -> SceneBody:
    sizes = list(msg.hull_sizes)
    if 3 * sum(sizes) != len(msg.vertices):
        raise InvalidRequest(
            f'scene body {msg.name}: expected {3 * sum(sizes)} vertex values for hulls of '
            f'{sizes} vertices, got {len(msg.vertices)}'
        )
    hulls: tuple[np.ndarray, ...] = ()
    if sizes:
        vertices = np.frombuffer(msg.vertices, np.float32).reshape(-1, 3)
        hulls = tuple(np.split(vertices, np.cumsum(sizes)[:-1]))
    return SceneBody(
        msg.name,
        parent=msg.parent,
        movable=msg.movable,
        pose=pose_from_msg(msg.pose),
        hulls=hulls,
    )


def _region_to_msg(region: SceneRegion) -> SceneRegionMsg:
    return SceneRegionMsg(
        name=region.name,
        parent=region.parent,
        pose=pose_to_msg(region.pose),
        half_size=region.half_size,
    )


def _region_from_msg(msg: SceneRegionMsg) -> SceneRegion:
    return SceneRegion(
        msg.name,
        parent=msg.parent,
        pose=pose_from_msg(msg.pose),
        half_size=np.array(msg.half_size),
    )


def _goal_to_msg(goal: SceneGoal) -> SceneGoalMsg:
    return SceneGoalMsg(
        predicate=goal.predicate, arguments=list(goal.arguments), satisfied=bool(goal.satisfied)
    )


def _goal_from_msg(msg: SceneGoalMsg) -> SceneGoal:
    return SceneGoal(msg.predicate, arguments=tuple(msg.arguments), satisfied=msg.satisfied)


def scene_to_msg(scene: Scene) -> SceneMsg:
    """Scene message of a contract scene."""
    contacts = sorted(scene.contacts)
    return SceneMsg(
        header=header(scene.stamp, scene.frame_id),
        episode=scene.episode,
        step=scene.step,
        bodies=[_body_to_msg(body) for body in scene.bodies],
        regions=[_region_to_msg(region) for region in scene.regions],
        goals=[_goal_to_msg(goal) for goal in scene.goals],
        contact_first=[first for first, _ in contacts],
        contact_second=[second for _, second in contacts],
    )


def scene_from_msg(msg: SceneMsg) -> Scene:
    """Contract scene of a scene message.

    Raises:
      InvalidRequest: hull sizes, regions or contacts are malformed.
    """
    if len(msg.contact_first) != len(msg.contact_second):
        raise InvalidRequest(
            f'scene contacts: expected pairs, got {len(msg.contact_first)} first and '
            f'{len(msg.contact_second)} second names'
        )
    return Scene(
        stamp=stamp_from_msg(msg.header.stamp),
        frame_id=msg.header.frame_id,
        episode=msg.episode,
        step=msg.step,
        bodies=tuple(_body_from_msg(body) for body in msg.bodies),
        regions=tuple(_region_from_msg(region) for region in msg.regions),
        goals=tuple(_goal_from_msg(goal) for goal in msg.goals),
        contacts=frozenset(zip(msg.contact_first, msg.contact_second, strict=True)),
    )
