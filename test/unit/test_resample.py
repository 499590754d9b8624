"""An image made smaller agrees with one rendered small."""

import numpy as np

from robots.fake.env_server import FakeRobot
from rpent_ros.tools.resample import reduced


def test_against_a_small_rendering():
    robot = FakeRobot()
    robot.reset(suite='', task=0, seed=1)
    small = robot.render('agentview', width=64, height=64, depth=True)
    made = reduced(robot.render('agentview', width=256, height=256, depth=True), 4)
    np.testing.assert_allclose(made.intrinsics, small.intrinsics, rtol=1e-12)
    assert made.rgb.shape == small.rgb.shape
    finite = np.isfinite(small.depth) & np.isfinite(made.depth)
    # Where neither sees an edge the two agree to a fraction of a millimetre.
    errors = np.abs(made.depth[finite] - small.depth[finite])
    assert np.median(errors) < 5e-4
    assert np.mean(errors < 5e-3) > 0.9
    assert np.mean(np.abs(made.rgb.astype(int) - small.rgb) <= 2) > 0.9


def test_edges_and_holes():
    from rpent_ros.contracts.observation import CameraFrame
    from rpent_ros.geometry import Pose

    depth = np.array([[1.0, 1.01, 1.0, 2.0], [1.0, 1.01, 1.0, 2.0], *[[np.inf] * 3 + [3.0]] * 2])
    frame = CameraFrame(
        'c',
        frame_id='c',
        rgb=np.zeros((4, 4, 3), np.uint8),
        depth=depth.astype(np.float32),
        intrinsics=np.array([[10.0, 0, 1.5], [0, 10.0, 1.5], [0, 0, 1]]),
        pose=Pose([0, 0, 0]),
    )
    small = reduced(frame, 2)
    np.testing.assert_allclose(small.depth, [[1.005, 1.0], [np.inf, 3.0]], rtol=1e-6)
    np.testing.assert_allclose(small.intrinsics, [[5, 0, 0.5], [0, 5, 0.5], [0, 0, 1]])
