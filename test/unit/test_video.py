"""Videos and pictures from logged states, on the fake robot."""

import pathlib
import re
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from rpent_ros.driver import DriverCore
from rpent_ros.errors import InvalidRequest, UnknownCamera
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
    options = VideoOptions(('wrist',), size=64, fps=20.0, first=2, last=5)
    video = render_run(run, options, path=run / 'other.mp4')
    meta, frames = frames_of(run / 'other.mp4')
    assert (video.frames, len(frames), meta['size'], meta['fps']) == (4, 4, (64, 64), 20.0)


@pytest.mark.parametrize(
    'fps, first, last, rows',
    [
        (20.0, 0, -1, [0, 1, 2, 3, 4, 5, 6]),
        (10.0, 0, -1, [0, 2, 4, 6]),
        # A picture every 1.33 control steps, and the end.
        (15.0, 0, -1, [0, 1, 2, 4, 5, 6]),
        (12.0, 0, -1, [0, 1, 3, 5, 6]),
        (40.0, 0, 2, [0, 0, 1, 1, 2]),
        (1.0, 0, -1, [0, 6]),
        (7.0, 2, 5, [2, 4, 5]),
        (10.0, 3, 3, [3]),
    ],
)
def test_pictures_are_taken_at_the_times_of_playback(
    fps: float, first: int, last: int, rows: list[int]
) -> None:
    options = VideoOptions(fps=fps, first=first, last=last)
    assert options.rows(7, 20.0).tolist() == rows


def test_a_driver_that_was_killed_still_leaves_a_video(run: pathlib.Path) -> None:
    (path,) = (run / STATE_FOLDER).iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    # And once more, before it had written the header of the next episode.
    (run / STATE_FOLDER / 'states_0002.bin').write_bytes(b'RPENT-STATES 2\n{"robot": "fa')
    video = render_run(run, VideoOptions(('wrist',), size=64, fps=20.0))
    assert video.frames == STEPS


def test_wrong_names_are_told_in_one_sentence(run: pathlib.Path) -> None:
    unknown = "unknown camera 'writs'; known cameras: agentview, wrist"
    with pytest.raises(UnknownCamera, match=f'^{re.escape(unknown)}$'):
        render_run(run, VideoOptions(('writs',)))
    with pytest.raises(UnknownCamera, match=f'^{re.escape(unknown)}$'):
        write_still(run, 'writs')
    for path, message in (
        (run / 'x.avi', f'{run}/x.avi: expected a file name that ends in .mp4'),
        (run / 'no' / 'x.mp4', f'{run}/no/x.mp4: expected a folder that exists; make it first'),
    ):
        with pytest.raises(InvalidRequest, match=f'^{re.escape(message)}$'):
            render_run(run, path=path)


def test_run_without_states(tmp_path: pathlib.Path) -> None:
    message = (
        f'{tmp_path}/sim_states: expected simulator states of an episode, found none; did the run '
        'get as far as a reset, and is the robot a simulator?'
    )
    with pytest.raises(InvalidRequest, match=f'^{re.escape(message)}$'):
        render_run(tmp_path)


@pytest.mark.parametrize(
    'options, message',
    [
        ({'size': 250}, 'video size: expected a multiple of 16 from 16 to 2048, got 250'),
        ({'size': 4096}, 'video size: expected a multiple of 16 from 16 to 2048, got 4096'),
        ({'fps': 0}, 'video fps: expected 0.1 to 240 pictures per second, got 0'),
        ({'fps': float('nan')}, 'video fps: expected 0.1 to 240 pictures per second, got nan'),
    ],
)
def test_wrong_options(options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidRequest, match=f'^{re.escape(message)}$'):
        VideoOptions(**options)


def test_control_steps_that_do_not_exist(run: pathlib.Path) -> None:
    for first, last, shown in ((13, -1, '13 to 12'), (0, 13, '0 to 13'), (5, 4, '5 to 4')):
        message = f'video: expected control steps from 0 to 12, got {shown}'
        with pytest.raises(InvalidRequest, match=f'^{re.escape(message)}$'):
            render_run(run, VideoOptions(first=first, last=last))
    assert not (run / 'episode.mp4').exists()


def test_failed_rendering_leaves_no_half_video(
    run: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZeroDivisionError):
        render_run(run, VideoOptions(size=64), on_frame=lambda done, total: 1 // (3 - done))
    assert sorted(p.name for p in run.iterdir()) == [STATE_FOLDER]
