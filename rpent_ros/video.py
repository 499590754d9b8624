"""The episode as a video, rendered after the run from the logged simulator states.

During a run nothing is rendered for it, so it costs the run nothing, and any size and any camera
can be had later, whatever became of the run.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rpent_ros import files, run_dir
from rpent_ros.errors import InvalidRequest, UnknownCamera
from rpent_ros.parameter_files import load_parameters
from rpent_ros.robot import Robot, load_robot_package
from rpent_ros.state_log import RecordedStates, last_episode
from rpent_ros.tools import pictures

STATE_FOLDER = 'sim_states'
VIDEO_FILE = 'episode.mp4'
# Parameters of the driver node that it does not hand to the robot.
NODE_PARAMETERS = frozenset({
    'robot', 'suite', 'task', 'seed', 'reset_on_start', 'privileged', 'camera_rate',
    'state_log_dir', 'frame_prefix', 'speed', 'workspace_min', 'workspace_max',
    'workspace_margin', 'max_deviation', 'max_translation', 'max_rotation', 'max_steps',
})  # fmt: skip
# Sizes that are not a multiple of this make the encoder scale, which blurs.
_BLOCK = 16
_LARGEST_SIDE = 2048
_LARGEST_RATE = 240
# Keeps a picture that falls on a control step from showing the one before [control steps].
_TINY = 1e-6
_QUALITY = ['-crf', '20', '-preset', 'veryfast', '-movflags', '+faststart']


@dataclasses.dataclass(frozen=True)
class VideoOptions:
    """How a video looks.

    Attributes:
      cameras: shown side by side; empty: all of the robot's, at most two.
      size: width and height of each camera's picture [px], a multiple of 16.
      fps: pictures per second of playback, which is in real time.  A picture shows the newest
        control step of its moment; the last one shows the end.
      first, last: control steps to show; last -1: the end.
    """

    cameras: tuple[str, ...] = ()
    _: dataclasses.KW_ONLY
    size: int = 256
    fps: float = 10.0
    first: int = 0
    last: int = -1

    def __post_init__(self) -> None:
        if self.size % _BLOCK or not _BLOCK <= self.size <= _LARGEST_SIDE:
            raise InvalidRequest(
                f'video size: expected a multiple of {_BLOCK} from {_BLOCK} to {_LARGEST_SIDE}, '
                f'got {self.size}'
            )
        if not 0.1 <= self.fps <= _LARGEST_RATE:
            raise InvalidRequest(
                f'video fps: expected 0.1 to {_LARGEST_RATE} pictures per second, got {self.fps:g}'
            )

    def rows(self, count: int, rate: float) -> NDArray[np.intp]:
        """Which of `count` logged states, made at `rate` [Hz], the pictures show.

        Raises:
          InvalidRequest: there is no such control step.
        """
        last = count - 1 if self.last < 0 else self.last
        if not 0 <= self.first <= last < count:
            raise InvalidRequest(
                f'video: expected control steps from 0 to {count - 1}, got {self.first} to {last}'
            )
        pictures = math.ceil((last - self.first) * self.fps / rate - _TINY) + 1
        rows = self.first + np.floor(np.arange(pictures) * rate / self.fps + _TINY).astype(np.intp)
        return np.minimum(rows, last)


@dataclasses.dataclass(frozen=True)
class Video:
    """A rendered video: its file, frames, seconds of playback, and what it took [s]."""

    path: pathlib.Path
    frames: int
    duration: float
    seconds: float


def logged_episode(folder: pathlib.Path) -> RecordedStates:
    """The last episode that a run's driver logged.

    Raises:
      InvalidRequest: there is no such folder, or no episode in it.
    """
    if not folder.is_dir():
        raise InvalidRequest(f'{folder}: expected the output folder of a run, found no folder')
    return last_episode(folder / STATE_FOLDER)


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
      UnknownCamera: the robot has no such camera.
      InvalidRequest: the run logged no states, its robot cannot show them again, or the file
        cannot be written.
    """
    begun = time.monotonic()
    recorded = logged_episode(folder)
    target = _writable(path or folder / VIDEO_FILE, '.mp4')
    robot = rebuild(folder, recorded.header)
    try:
        cameras = _checked(options.cameras or tuple(c.name for c in robot.spec.cameras[:2]), robot)
        rows = options.rows(len(recorded.states), float(recorded.header['rate']))
        pictures = _pictures(robot, recorded.states[rows], cameras, options.size)
        count = _encode(target, pictures, options.fps, len(rows), on_frame)
    finally:
        robot.close()
    return Video(target, count, count / options.fps, time.monotonic() - begun)


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
    recorded = logged_episode(folder)
    rows = VideoOptions(size=size, first=max(step, 0), last=step).rows(
        len(recorded.states), float(recorded.header['rate'])
    )
    robot = rebuild(folder, recorded.header)
    try:
        cameras = _checked((camera,), robot)
        target = _writable(path or folder / f'{camera}.png', '.png')
        picture = next(_pictures(robot, recorded.states[rows[-1:]], cameras, size))
    finally:
        robot.close()
    files.write_bytes(target, pictures.encode(Image.fromarray(picture), level=6))
    return target


def _checked(cameras: tuple[str, ...], robot: Robot) -> tuple[str, ...]:
    """The cameras, if the robot has them all."""
    known = [camera.name for camera in robot.spec.cameras]
    for name in cameras:
        if name not in known:
            raise UnknownCamera(
                f'unknown camera {name!r}; known cameras: {", ".join(known) or "none"}'
            )
    return cameras


def _writable(path: pathlib.Path, suffix: str) -> pathlib.Path:
    """The path, if a file of that kind can be made there."""
    if path.suffix.lower() != suffix:
        raise InvalidRequest(f'{path}: expected a file name that ends in {suffix}')
    if not path.absolute().parent.is_dir():
        raise InvalidRequest(f'{path}: expected a folder that exists; make it first')
    return path


def rebuild(folder: pathlib.Path, header: Mapping[str, Any]) -> Robot:
    """The robot of a run in the scene of an episode, as it was after the reset.

    Args:
      folder: the run's output folder, which has the driver's parameters.
      header: of the episode's states.

    Raises:
      InvalidRequest: it cannot show logged states.
    """
    name = str(header['robot'])
    spec = load_robot_package(name).get_env_spec()
    parameters = run_dir.saved_parameters(folder, 'driver')
    if not parameters and spec.parameters is not None:
        parameters = load_parameters([spec.parameters], 'driver')
    # What the log knows itself, such as what placed the fixtures, is certain.
    of_robot = {
        k: header.get(k, v) for k, v in parameters.items() if k not in NODE_PARAMETERS
    }
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
