"""State dump: everything that a planner sees of the world is written here first."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rpent_ros import files
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.contracts.specs import CameraSpec, DriverSpec
from rpent_ros.ports import EnvClient
from rpent_ros.primitives import report
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.states import States, View, encode_depth
from rpent_ros.tools import pictures
from rpent_ros.tools.resample import reduced

POLICY, HIGH = 'policy', 'high'


class Dumpable(Protocol):
    """What a dump needs of a primitive driver."""

    env: EnvClient
    spec: DriverSpec
    settings: ManipulationSettings


@dataclasses.dataclass(frozen=True)
class StepDump:
    """One dump, as written.

    Attributes:
      index: dump number; 0 is the state after the reset.
      tool: tool that led here; '' for index 0.
      entry: its entry in states.json.
      observation: the state with the pictures that planners see, without depth.
    """

    index: int
    tool: str
    entry: dict[str, Any]
    observation: Observation


def dump_state(
    driver: Dumpable, output_dir: pathlib.Path, step_idx: int, log: Mapping[str, Any]
) -> StepDump:
    """Write images, depth, calibration and state of this moment and add them to states.json.

    Each camera is dumped at the size that policies see and, if the settings ask for more, at a
    higher resolution: planners look at the best there is, geometry works on both.  Where the one
    size is a multiple of the other, the smaller image is made from the larger one.

    Args:
      driver: primitive driver: gives env, spec and settings.
      output_dir: the run folder.
      step_idx: dump number.
      log: command, result and elapsed_s of the tool that led here; empty for the first dump.

    Raises:
      BadOutputDir: the files cannot be written; what was written before is intact.
    """
    output_dir = pathlib.Path(output_dir)
    observation, shots = _photograph(driver)
    with files.writing(output_dir, f'state dump {step_idx}'):
        views = _views(step_idx, shots)
        paths = [output_dir / path for view in views for path in (view.rgb, view.depth) if path]
        try:
            _write_images(paths, shots)
            entry = files.plain(_entry(driver.spec, observation, step_idx, views, log))
            States(output_dir).append(entry)
        except OSError:
            # Pictures that no manifest names help nobody; the space may still take the result.
            for path in paths:
                path.unlink(missing_ok=True)
            raise
    best = {frame.name: dataclasses.replace(frame, depth=None) for _, frame in shots}
    command = log.get('command') or {}
    return StepDump(
        step_idx, command.get('tool', ''), entry, observation.with_frames(tuple(best.values()))
    )


def best_views(views: list[View]) -> list[View]:
    """The view of highest resolution of each camera, cameras in order."""
    best: dict[str, View] = {}
    for view in views:
        if view.camera not in best or view.width > best[view.camera].width:
            best[view.camera] = view
    return list(best.values())


def _photograph(driver: Dumpable) -> tuple[Observation, list[tuple[str, CameraFrame]]]:
    """The state and the images of all cameras, one request per image size."""
    requests: dict[tuple[int, int], list[CameraSpec]] = {}
    for camera in driver.spec.cameras:
        size = _high_size(camera, driver.settings.image_size)
        if size is None or _factor(camera, size) is None:
            requests.setdefault((camera.width, camera.height), []).append(camera)
        if size is not None:
            requests.setdefault(size, []).append(camera)
    observation = driver.env.observe()
    shots: list[tuple[str, CameraFrame]] = []
    for (width, height), cameras in requests.items():
        names = [camera.name for camera in cameras]
        depth = any(camera.has_depth for camera in cameras)
        observation = driver.env.observe(names, width=width, height=height, depth=depth)
        for camera, frame in zip(cameras, observation.frames, strict=True):
            factor = _factor(camera, (width, height))
            if factor is None or factor == 1:
                shots.append((POLICY if factor == 1 else HIGH, frame))
            else:
                # Rendering costs far more than this, at any size.
                shots += [(POLICY, reduced(frame, factor)), (HIGH, frame)]
    return observation, sorted(shots, key=lambda shot: shot[0] == HIGH)


def _high_size(camera: CameraSpec, longer_side: int) -> tuple[int, int] | None:
    """Width and height with the longer side asked for; None if the default is as large."""
    factor = longer_side / max(camera.width, camera.height)
    if factor <= 1.0:
        return None
    return round(camera.width * factor), round(camera.height * factor)


def _factor(camera: CameraSpec, size: tuple[int, int]) -> int | None:
    """How many times the camera's default size goes into `size`; None if not a whole number."""
    factor = size[0] // camera.width
    return factor if size == (camera.width * factor, camera.height * factor) else None


def _views(step_idx: int, shots: list[tuple[str, CameraFrame]]) -> list[View]:
    """The manifest's entry of each image."""
    views: list[View] = []
    for resolution, frame in shots:
        stem = f'{step_idx:02d}_{frame.name}' + ('_high' if resolution == HIGH else '')
        views.append(View(
            frame.name,
            resolution=resolution,
            rgb=f'images/{stem}.png',
            depth=f'depth/{stem}.png' if frame.depth is not None else '',
            width=frame.size[0],
            height=frame.size[1],
            intrinsics=frame.intrinsics,
            pose=frame.pose,
        ))
    return views


def _write_images(paths: list[pathlib.Path], shots: list[tuple[str, CameraFrame]]) -> None:
    """Encode in parallel (zlib releases the interpreter lock) and write."""
    pixels: list[NDArray[Any]] = []
    for _, frame in shots:
        pixels.append(np.asarray(frame.rgb))
        if frame.depth is not None:
            pixels.append(encode_depth(frame.depth))
    for folder in {path.parent for path in paths}:
        folder.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, data in zip(paths, pool.map(_png, pixels), strict=True):
            files.write_bytes(path, data)


def _png(pixels: NDArray[Any]) -> bytes:
    """Lossless.

    Colours at level 3, 7 % smaller than at level 1 for 30 ms a megapixel; level 6 takes four times
    as long for another 5 to 10 %.  Depth at level 4, a fifth smaller for hardly more time.
    """
    level = 4 if pixels.dtype == np.uint16 else 3
    return pictures.encode(Image.fromarray(pixels), level)


def _entry(
    spec: DriverSpec,
    observation: Observation,
    step_idx: int,
    views: list[View],
    log: Mapping[str, Any],
) -> dict[str, Any]:
    seconds, nanoseconds = divmod(observation.stamp, 1_000_000_000)
    artifacts = [path for view in views for path in (view.rgb, view.depth) if path]
    return {
        'step_idx': step_idx,
        'stamp': {'sec': seconds, 'nanosec': nanoseconds},
        'frame_id': observation.frame_id,
        'episode': observation.episode,
        'control_step': observation.step,
        'instruction': observation.instruction,
        'state': report.describe_state(observation),
        **report.describe_episode(observation),
        'workspace': {
            'min': spec.limits.workspace_min.tolist(),
            'max': spec.limits.workspace_max.tolist(),
        },
        'views': [view.to_json() for view in views],
        'artifacts': artifacts,
        'log': {
            'command': log.get('command'),
            'result': log.get('result'),
            'elapsed_s': log.get('elapsed_s'),
        },
    }
