"""What one state dump costs, beside writing every artifact of RPent's for the same scene.

    ./rpent exec python bench/bench_dump.py
    ./rpent exec python bench/bench_dump.py --task libero_10 9 --turns 9

RPent writes per camera: 256 and 1024 px RGB (PNG), 256 px depth (float32, compressed npz), 256 px
world points (float32, compressed npz), 1024 px world points (float16, compressed npz) and its
calibration (JSON); and one 256 px image as its policy sees it.  That takes two images with depth
per camera, 256 and 1024 px.  A state dump takes one per camera, with depth, at the size that
planners see, makes the smaller one from it, and computes points when somebody asks.  Both ways
render the same scene, take turns, and bring their files to the disk in the same way.  Compare
within a row: percentages are of the first one.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import io
import json
import pathlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robots.libero.env_server import CAMERAS, LiberoRobot
from robots.libero.simulation import quiet
from robots.libero.toolkit import LiberoPrimitives
from rpent_ros import files
from rpent_ros.contracts.observation import CameraFrame, Observation
from rpent_ros.driver import DriverCore
from rpent_ros.local_env import LocalEnv
from rpent_ros.tools.dump import dump_state

SMALL, LARGE = 256, 1024


class TimedEnv(LocalEnv):
    """Adds up how long observations with images take [s]."""

    rendering = 0.0

    def observe(self, cameras: Sequence[str] = (), **kwargs: Any) -> Observation:
        """See LocalEnv."""
        begun = time.perf_counter()
        seen = super().observe(cameras, **kwargs)
        if cameras:
            self.rendering += time.perf_counter() - begun
        return seen


def main() -> None:
    """Measure and print."""
    arguments = parse()
    suite, task = arguments.task[0], int(arguments.task[1])
    robot = LiberoRobot(suite=suite, task=task)
    env = TimedEnv(DriverCore(robot))
    folder = pathlib.Path(tempfile.mkdtemp(prefix='bench_dump_', dir=arguments.folder))
    try:
        with quiet():
            env.reset(suite=suite, task=task, seed=0)
        ways: dict[str, Callable[[pathlib.Path], None]] = {
            'all artifacts': lambda out: write_everything(env, out),
            'all, two threads': lambda out: write_everything(env, out, threads=2),
            'dump, 512 px': dumper(env, 512),
            'dump, 1024 px': dumper(env, 1024),
        }
        print(f'{suite} {task}: one dump, two cameras (median of {arguments.turns} turns)')
        report(measure(ways, env, folder, arguments.turns))
    finally:
        shutil.rmtree(folder)
        robot.close()


def parse() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--task', nargs=2, metavar=('SUITE', 'INDEX'),
                        default=('libero_object', '0'), help='the scene')  # fmt: skip
    parser.add_argument('--turns', type=int, default=5, help='turns of each way')
    parser.add_argument('--folder', default=None, help='where to write (default: temporary)')
    return parser.parse_args()


def measure(
    ways: dict[str, Callable[[pathlib.Path], None]],
    env: TimedEnv,
    folder: pathlib.Path,
    turns: int,
) -> dict[str, tuple[float, float, int]]:
    """(seconds in all, seconds without rendering, bytes) of each way."""
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    size = dict.fromkeys(ways, 0)
    # The first turn warms up; it is not counted.
    for turn in range(turns + 1):
        for way, write in ways.items():
            out = folder / f'{turn}_{way.replace(" ", "_")}'
            out.mkdir()
            env.rendering = 0.0
            begun = time.perf_counter()
            write(out)
            seconds = time.perf_counter() - begun
            if turn:
                taken[way].append((seconds, seconds - env.rendering))
            size[way] = sum(path.stat().st_size for path in out.rglob('*') if path.is_file())
            shutil.rmtree(out)
    return {
        way: (*(statistics.median(column) for column in zip(*times, strict=True)), size[way])
        for way, times in taken.items()
    }


def report(results: dict[str, tuple[float, float, int]]) -> None:
    """Print the table; ratios are to the first row."""
    base = next(iter(results.values()))
    print(f'{"":18}{"with rendering":>24}{"without rendering":>24}{"size":>22}')
    for way, row in results.items():
        cells = [
            f'{row[0]:9.3f} s {row[0] / base[0]:9.1%}',
            f'{row[1]:9.3f} s {row[1] / base[1]:9.1%}',
            f'{row[2] / 1e6:8.2f} MB {row[2] / base[2]:7.1%}',
        ]
        print(f'{way:18}{cells[0]:>24}{cells[1]:>24}{cells[2]:>22}')


def dumper(env: TimedEnv, image_size: int) -> Callable[[pathlib.Path], None]:
    """Writes state dumps with pictures of that size."""
    driver = LiberoPrimitives(env=env, spec=env.describe(), image_size=image_size)
    return lambda out: dump_state(driver, out, 0, {}) and None


def write_everything(env: TimedEnv, out: pathlib.Path, *, threads: int = 1) -> None:
    """Render, compute and write RPent's artifacts of one step.

    Args:
      env: the driver.
      out: folder for the files.
      threads: encoders that work at the same time; RPent uses one.
    """
    jobs: list[tuple[str, Callable[[], bytes]]] = []
    for size, suffix in ((SMALL, ''), (LARGE, '_high')):
        seen = env.observe(CAMERAS, width=size, height=size, depth=True)
        for frame in seen.frames:
            jobs.append((f'{frame.name}{suffix}.png', lambda f=frame: png(f.rgb)))
            kind = np.float32 if size == SMALL else np.float16
            jobs.append((
                f'{frame.name}_world{suffix}.npz', lambda f=frame, k=kind: npz(world_map(f, k))
            ))  # fmt: skip
            if size == SMALL:
                jobs.append((f'{frame.name}_depth.npz', lambda f=frame: npz(f.depth)))
                jobs.append((f'{frame.name}_metadata.json', lambda f=frame: calibration(f)))
            if size == SMALL and frame.name == CAMERAS[0]:
                jobs.append(('agentview_policy.png', lambda f=frame: png(f.rgb[:, ::-1])))
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for (name, _), data in zip(jobs, pool.map(lambda job: job[1](), jobs), strict=True):
            files.write_bytes(out / name, data)
    state = {'step_idx': 0, 'artifacts': [name for name, _ in jobs], 'state': env.observe().state}
    files.write_json(out / 'states.json', {'steps': [state]})


def png(pixels: NDArray[Any]) -> bytes:
    """PNG with the library's default compression."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, 'PNG')
    return buffer.getvalue()


def npz(array: Any) -> bytes:
    """Compressed numpy archive."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, array=array)
    return buffer.getvalue()


def world_map(frame: CameraFrame, kind: Any) -> NDArray[Any]:
    """(H, W, 3) world points of all pixels [m]."""
    assert frame.depth is not None
    height, width = frame.depth.shape
    v, u = np.mgrid[:height, :width]
    k = frame.intrinsics
    points = np.stack([
        (u - k[0, 2]) / k[0, 0] * frame.depth, (v - k[1, 2]) / k[1, 1] * frame.depth, frame.depth
    ], axis=-1)  # fmt: skip
    return (points @ frame.pose.rotation.T + frame.pose.position).astype(kind)


def calibration(frame: CameraFrame) -> bytes:
    """Intrinsics and pose as JSON."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = frame.pose.rotation, frame.pose.position
    told = {'intrinsic_K': frame.intrinsics.tolist(), 'extrinsic_cam2world': pose.tolist()}
    return json.dumps(told).encode()


if __name__ == '__main__':
    main()
