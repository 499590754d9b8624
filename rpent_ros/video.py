"""The episode as a video, rendered after the run from the logged simulator states.

During a run nothing is rendered for it, so it costs the run nothing, and any size, any camera and
any episode can be had later.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from rpent_ros.errors import InvalidRequest
from rpent_ros.graph import load_parameters
from rpent_ros.robot import Robot, load_robot_package
from rpent_ros.state_log import RecordedStates, read_state_log, state_logs

STATE_FOLDER = 'sim_states'
VIDEO_FILE = 'episode.mp4'
# Parameters of the driver node that it does not hand to the robot.
NODE_PARAMETERS = frozenset({
    'robot', 'suite', 'task', 'seed', 'reset_on_start', 'privileged', 'camera_rate',
    'state_log_dir', 'frame_prefix', 'speed', 'workspace_min', 'workspace_max',
    'max_translation', 'max_rotation', 'max_steps',
})  # fmt: skip
# Sizes that are not a multiple of this make the encoder scale, which blurs.
_BLOCK = 16
_LARGEST_SIDE = 2048
_QUALITY = ['-crf', '20', '-preset', 'veryfast', '-movflags', '+faststart']


@dataclasses.dataclass(frozen=True)
class VideoOptions:
    """How a video looks.

    Attributes:
      cameras: shown side by side; empty: all of the robot's, at most two.
      size: width and height of each camera's picture [px], a multiple of 16.
      every: show every n-th control step; playback is in real time.
      first, last: control steps to show; last -1: the end.
    """

    cameras: tuple[str, ...] = ()
    _: dataclasses.KW_ONLY
    size: int = 256
    every: int = 2
    first: int = 0
    last: int = -1

    def __post_init__(self) -> None:
        if self.size % _BLOCK or not _BLOCK <= self.size <= _LARGEST_SIDE:
            raise InvalidRequest(
                f'video size: expected a multiple of {_BLOCK} from {_BLOCK} to {_LARGEST_SIDE}, '
                f'got {self.size}'
            )
        if self.every < 1:
            raise InvalidRequest(f'video every: expected 1 or above, got {self.every}')


@dataclasses.dataclass(frozen=True)
class Video:
    """A rendered video: its file, frames, seconds of playback, and what it took [s]."""

    path: pathlib.Path
    frames: int
    duration: float
    seconds: float


def render_run(
    folder: pathlib.Path,
    options: VideoOptions = VideoOptions(),
    *,
    path: pathlib.Path | None = None,
    on_frame: Callable[[int, int], None] = lambda done, total: None,
) -> Video:
    """Render the last episode of a run.

    Args:
      folder: the run's output folder.
      options: how it looks.
      path: file to write; None: episode.mp4 in the folder.
      on_frame: called with (frames done, frames in all).

    Raises:
      InvalidRequest: the run logged no states, or its robot cannot show them again.
    """
    begun = time.monotonic()
    recorded = _last_episode(folder)
    robot = _rebuild(folder, recorded.header)
    try:
        cameras = options.cameras or tuple(c.name for c in robot.spec.cameras[:2])
        rows = recorded.states[options.first :: options.every]
        if options.last >= 0:
            rows = recorded.states[options.first : options.last + 1 : options.every]
        if not len(rows):
            raise InvalidRequest(
                f'video: expected control steps from 0 to {len(recorded.states) - 1}, got '
                f'{options.first} to {options.last}'
            )
        rate = float(recorded.header['rate']) / options.every
        target = path or folder / VIDEO_FILE
        pictures = _pictures(robot, rows, cameras, options.size)
        count = _encode(target, pictures, rate, len(rows), on_frame)
    finally:
        robot.close()
    return Video(target, count, count / rate, time.monotonic() - begun)


def write_still(
    folder: pathlib.Path,
    camera: str,
    *,
    size: int = 512,
    step: int = -1,
    path: pathlib.Path | None = None,
) -> pathlib.Path:
    """Write one picture of the last episode as PNG.

    Args:
      folder: the run's output folder.
      camera: camera to look through.
      size: width and height [px].
      step: the picture is taken after this many control steps; -1: at the end.
      path: file to write; None: <camera>.png in the folder.

    Returns:
      The file.

    Raises:
      InvalidRequest: as `render_run`.
    """
    recorded = _last_episode(folder)
    robot = _rebuild(folder, recorded.header)
    try:
        picture = next(_pictures(robot, recorded.states[step:][:1], (camera,), size))
    finally:
        robot.close()
    target = path or folder / f'{camera}.png'
    Image.fromarray(picture).save(target)
    return target


def _last_episode(folder: pathlib.Path) -> RecordedStates:
    logs = state_logs(folder / STATE_FOLDER)
    if not logs:
        raise InvalidRequest(
            f'{folder}: expected simulator states in {STATE_FOLDER}/, found none; did the run get '
            'as far as a reset, and is the robot a simulator?'
        )
    return read_state_log(logs[-1])


def _rebuild(folder: pathlib.Path, header: Mapping[str, Any]) -> Robot:
    """The robot in the scene of the episode."""
    name = str(header['robot'])
    spec = load_robot_package(name).get_env_spec()
    saved = folder / 'logs' / 'driver.yaml'
    parameters: dict[str, Any] = {}
    if saved.is_file():
        document = yaml.safe_load(saved.read_text())
        parameters = dict(next(iter(document.values()))['ros__parameters'])
    elif spec.parameters is not None:
        parameters = load_parameters([spec.parameters], 'driver')
    of_robot = {k: v for k, v in parameters.items() if k not in NODE_PARAMETERS}
    episode = {key: header[key] for key in ('suite', 'task', 'seed')}
    robot = spec.make_robot(of_robot | episode | {'privileged': False})
    if not hasattr(robot, 'load_simulator_state'):
        robot.close()
        raise InvalidRequest(
            f'robot {name}: expected a method load_simulator_state, found none; its episodes '
            'cannot be rendered afterwards'
        )
    robot.reset(suite=header['suite'], task=header['task'], seed=header['seed'])
    return robot


def _pictures(
    robot: Any, states: NDArray[np.float64], cameras: Sequence[str], size: int
) -> Iterator[NDArray[np.uint8]]:
    """One picture (size, size * cameras, 3) per state."""
    for state in states:
        robot.load_simulator_state(state)
        shown = [
            robot.render(camera, width=size, height=size, depth=False).rgb for camera in cameras
        ]
        yield np.ascontiguousarray(np.concatenate(shown, axis=1))


def _encode(
    path: pathlib.Path,
    pictures: Iterator[NDArray[np.uint8]],
    rate: float,
    total: int,
    on_frame: Callable[[int, int], None],
) -> int:
    """Write an mp4 that every player shows; returns the number of frames."""
    import imageio_ffmpeg

    partial = path.with_name(f'.{path.stem}.part{path.suffix}')
    first = next(pictures)
    height, width = first.shape[:2]
    writer = imageio_ffmpeg.write_frames(
        str(partial), (width, height), fps=rate, codec='libx264', pix_fmt_out='yuv420p',
        quality=None, output_params=_QUALITY,
        macro_block_size=_BLOCK, ffmpeg_log_level='error',
    )  # fmt: skip
    writer.send(None)
    done = 0
    try:
        for picture in itertools.chain((first,), pictures):
            writer.send(picture)
            done += 1
            on_frame(done, total)
    finally:
        writer.close()
        if done < total:
            partial.unlink(missing_ok=True)
    partial.replace(path)
    return done
