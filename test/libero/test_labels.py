"""The simulator's labels lie where the images and the scene say that the objects are."""

from __future__ import annotations

import numpy as np
import pytest

from robots.libero.env_server import LiberoRobot
from rpent_ros.errors import InvalidRequest


@pytest.mark.parametrize('camera', ['agentview', 'wrist'])
@pytest.mark.parametrize('size', [256, 512])
def test_labelled_points_lie_on_their_objects(
    robot: LiberoRobot, camera: str, size: int
) -> None:
    robot.reset(suite='libero_object', task=0, seed=0)
    frame = robot.render(camera, width=size, height=size, depth=True)
    labels = robot.label_image(camera, width=size, height=size)
    assert labels.ids.shape == (size, size)
    scene = robot.scene()
    assert frame.depth is not None and scene is not None
    checked = 0
    for number, label in enumerate(labels.labels, start=1):
        rows, columns = np.nonzero(labels.ids == number)
        if not label.movable or len(rows) < size:
            continue
        k, depth = frame.intrinsics, frame.depth[rows, columns]
        points = frame.pose.apply(np.column_stack([
            (columns - k[0, 2]) / k[0, 0] * depth, (rows - k[1, 2]) / k[1, 1] * depth, depth
        ]))
        body = scene.body(label.name)
        hull = body.pose.apply(np.concatenate(body.hulls))
        inside = (points > hull.min(axis=0) - 0.01) & (points < hull.max(axis=0) + 0.01)
        # A row of pixels along the outline may show what is behind.
        assert inside.all(axis=1).mean() > 0.9, label.name
        checked += 1
    assert checked >= 3


def test_labels_are_for_those_who_may_know() -> None:
    with pytest.raises(InvalidRequest) as error:
        LiberoRobot().label_image('wrist', width=64, height=64)
    assert str(error.value) == (
        'label_image: only a simulator knows; start the driver with privileged:=true'
    )
