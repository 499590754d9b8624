"""One prefix for all frame names of a driver, so that two robots fit into one tf tree."""

from __future__ import annotations

import dataclasses

from rpent_ros.contracts.specs import DriverSpec


def prefix_spec(spec: DriverSpec, prefix: str) -> DriverSpec:
    """The spec with `prefix` before every frame name."""
    action = spec.action
    if action.frame_id:
        action = dataclasses.replace(action, frame_id=prefix + action.frame_id)
    return dataclasses.replace(
        spec,
        base_frame=prefix + spec.base_frame,
        tool_frame=prefix + spec.tool_frame,
        cameras=tuple(
            dataclasses.replace(camera, frame_id=prefix + camera.frame_id)
            for camera in spec.cameras
        ),
        action=action,
    )


