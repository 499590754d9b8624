"""Videos and pictures from logged states, on the fake robot."""

import pathlib
import re
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from rpent_ros.driver import DriverCore
from rpent_ros.errors import InvalidRequest
from rpent_ros.robot import load_robot_package
from rpent_ros.state_log import StateLog
from rpent_ros.video import STATE_FOLDER, VideoOptions, render_run, write_still

STEPS = 12


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    """The folder of a run of 12 control steps, in which the tool moves sideways."""
    robot = load_robot_package('fake').get_env_spec().make_robot({'image_size': 64})
    driver = DriverCore(robot, state_log=StateLog(tmp_path / STATE_FOLDER))
    driver.reset(suite='fake_pick', task=1, seed=3)
    for _ in range(STEPS):
        driver.step(np.array([0.0, 1.0, 0, 0, 0, 0, -1.0]))
    driver.close()
    return tmp_path


def frames_of(path: pathlib.Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """What a player would show."""
    reader = imageio_ffmpeg.read_frames(str(path))
    meta = next(reader)
    width, height = meta['size']
    return meta, [np.frombuffer(f, np.uint8).reshape(height, width, 3) for f in reader]


def test_video_shows_both_cameras_in_real_time(run: pathlib.Path) -> None:
    counted = []
    video = render_run(
        run, VideoOptions(size=128), on_frame=lambda done, total: counted.append((done, total))
    )
    assert video.path == run / 'episode.mp4'
    meta, frames = frames_of(video.path)
    # The state after reset and every second of 12 steps, at half of 20 Hz.
    assert (len(frames), meta['size'], meta['fps']) == (7, (256, 128), 10.0)
    assert (video.frames, video.duration) == (7, 0.7)
    assert counted == [(n, 7) for n in range(1, 8)]
    assert 'h264' in meta['codec']
    assert meta['pix_fmt'].startswith('yuv420p')
    assert [p.name for p in run.iterdir() if p.name.startswith('.')] == []


def test_pictures_are_those_of_the_logged_states(run: pathlib.Path) -> None:
    robot = load_robot_package('fake').get_env_spec().make_robot({'image_size': 64})
    robot.reset(suite='fake_pick', task=1, seed=3)
    start = robot.render('agentview', width=64, height=64, depth=False).rgb
    for _ in range(STEPS):
        robot.step(np.array([0.0, 1.0, 0, 0, 0, 0, -1.0]))
    end = robot.render('agentview', width=64, height=64, depth=False).rgb
    first = np.asarray(Image.open(write_still(run, 'agentview', size=64, step=0)))
    last = np.asarray(Image.open(write_still(run, 'agentview', size=64)))
    assert np.array_equal(first, start)
    assert np.array_equal(last, end)
    assert not np.array_equal(first, last)


def test_one_camera_and_every_step(run: pathlib.Path) -> None:
    options = VideoOptions(('wrist',), size=64, every=1, first=2, last=5)
    video = render_run(run, options, path=run / 'other.mp4')
    meta, frames = frames_of(run / 'other.mp4')
    assert (video.frames, len(frames), meta['size'], meta['fps']) == (4, 4, (64, 64), 20.0)


def test_run_without_states(tmp_path: pathlib.Path) -> None:
    message = (
        f'{tmp_path}: expected simulator states in sim_states/, found none; did the run get as '
        'far as a reset, and is the robot a simulator?'
    )
    with pytest.raises(InvalidRequest, match=f'^{re.escape(message)}$'):
        render_run(tmp_path)


@pytest.mark.parametrize(
    'options, message',
    [
        ({'size': 250}, 'video size: expected a multiple of 16 from 16 to 2048, got 250'),
        ({'size': 4096}, 'video size: expected a multiple of 16 from 16 to 2048, got 4096'),
        ({'every': 0}, 'video every: expected 1 or above, got 0'),
    ],
)
def test_wrong_options(options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidRequest, match=f'^{re.escape(message)}$'):
        VideoOptions(**options)


def test_control_steps_that_do_not_exist(run: pathlib.Path) -> None:
    with pytest.raises(InvalidRequest, match=r'^video: expected control steps from 0 to 12, got '):
        render_run(run, VideoOptions(first=13))
    assert not (run / 'episode.mp4').exists()


def test_failed_rendering_leaves_no_half_video(
    run: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZeroDivisionError):
        render_run(run, VideoOptions(size=64), on_frame=lambda done, total: 1 // (3 - done))
    assert sorted(p.name for p in run.iterdir()) == [STATE_FOLDER]
