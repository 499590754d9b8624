"""Control steps per second through ROS against the same robot stepped in process.

    ./rpent exec python bench/bench_ros.py --robot fake
    ./rpent exec python bench/bench_ros.py --robot libero --parameter suite:=libero_object

The two ways through ROS and the way in process take turns, so that a busy machine slows all three
alike; the ratios of the medians are the result.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import rclpy
import yaml

from rpent_ros.contracts.motion import ActionChunk
from rpent_ros.nodes.env_client import RosEnvClient
from rpent_ros.nodes.process import SpinThread, prepare_environment
from rpent_ros.robot import Robot, load_robot_package

AIMS = {'step': 0.7, 'execute_chunk': 0.95}


def main() -> None:
    """Measure and print."""
    arguments = parse()
    parameters = dict(split(text) for text in arguments.parameter)
    os.environ.setdefault('ROS_DOMAIN_ID', '87')
    prepare_environment()
    robot = load_robot_package(arguments.robot).get_env_spec().make_robot(parameters)
    with driver(arguments.robot, arguments.parameter), client() as env:
        report_latencies(robot, env)
        report_rates(robot, env, arguments)
    robot.close()


def parse() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robot', default='fake', help='robot package (default: fake)')
    parser.add_argument('--parameter', action='append', default=[], metavar='NAME:=VALUE',
                        help='parameter of the robot, repeatable')  # fmt: skip
    parser.add_argument('--steps', type=int, default=60, help='control steps per turn')
    parser.add_argument('--turns', type=int, default=7, help='turns of each way')
    parser.add_argument('--rows', type=int, default=10, help='rows per chunk')
    return parser.parse_args()


def split(text: str) -> tuple[str, object]:
    """Name and value of NAME:=VALUE."""
    name, _, value = text.partition(':=')
    return name, yaml.safe_load(value)


@contextlib.contextmanager
def driver(robot: str, parameters: list[str]) -> Iterator[None]:
    """A driver process for as long as the context lasts."""
    command = [sys.executable, '-m', 'rpent_ros.nodes.driver', '--ros-args', '-p']
    command += [f'robot:={robot}', *(word for p in parameters for word in ('-p', p))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        yield
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def client() -> Iterator[RosEnvClient]:
    """A client of that driver."""
    rclpy.init()
    node = rclpy.create_node('bench')
    with SpinThread(node):
        yield RosEnvClient(node)
    node.destroy_node()
    rclpy.try_shutdown()


def report_latencies(robot: Robot, env: RosEnvClient) -> None:
    """Print what an exchange costs when the driver has next to nothing to do."""
    env.reset()
    robot.reset(suite='', task=-1, seed=0)
    for name, call in (
        ('describe (answered on the executor thread)', env.describe),
        ('observe without images (through the robot thread)', env.observe),
    ):
        print(f'{name}: {1000 * median(call, 200):.2f} ms')
    cameras = robot.spec.cameras[:2]

    def render() -> None:
        for camera in cameras:
            robot.render(camera.name, width=camera.width, height=camera.height, depth=False)

    # In turns, as below.
    times = [
        (median(render, 1), median(lambda: env.observe([c.name for c in cameras]), 1))
        for _ in range(20)
    ]
    alone, observed = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f'observe with {len(cameras)} images: {1000 * observed:.1f} ms; rendering alone, in '
        f'process: {1000 * alone:.1f} ms (ratio {alone / observed:.3f})'
    )


def median(call: Callable[[], object], count: int) -> float:
    """Median duration of a call [s]."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def report_rates(robot: Robot, env: RosEnvClient, arguments: argparse.Namespace) -> None:
    """Print control steps per second of the three ways, and the ratios."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-0.3, 0.3, (arguments.steps, robot.spec.action.dim))
    chunks = [
        ActionChunk(actions[n : n + arguments.rows].astype(np.float32))
        for n in range(0, arguments.steps, arguments.rows)
    ]

    def in_process() -> None:
        robot.reset(suite='', task=-1, seed=0)
        watch.start()
        for action in actions:
            robot.step(action)

    def by_step() -> None:
        env.reset()
        watch.start()
        for action in actions:
            env.step_blind(action)

    def by_chunk() -> None:
        env.reset()
        watch.start()
        for chunk in chunks:
            env.execute_chunk(chunk)

    watch = Stopwatch()
    ways = {'in process': in_process, 'step': by_step, 'execute_chunk': by_chunk}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.turns + 1):
        for name, way in ways.items():
            way()
            times[name].append(watch.elapsed() / arguments.steps)
    # The first turn warms caches and compilers up.
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    for name, seconds in medians.items():
        ratio = medians['in process'] / seconds
        aim = f', aim {AIMS[name]}' if name in AIMS else ''
        print(f'{name}: {1 / seconds:.1f} steps/s, {1000 * seconds:.2f} ms a step '
              f'(ratio {ratio:.3f}{aim})')  # fmt: skip


class Stopwatch:
    """Time since `start`."""

    def __init__(self) -> None:
        self._start = 0.0

    def start(self) -> None:
        """Begin again."""
        self._start = time.perf_counter()

    def elapsed(self) -> float:
        """Seconds since the last start."""
        return time.perf_counter() - self._start


if __name__ == '__main__':
    main()
