"""LIBERO's control step as it comes, through both steppers, and the physics alone.

    ./rpent exec python bench/bench_stepping.py
    ./rpent exec python bench/bench_stepping.py --task libero_10 9 --turns 9
    ./rpent exec python bench/bench_stepping.py --renders --resets

All ways execute the same actions from the same state and take turns, so that a busy machine slows
them alike: compare within a row.  Nothing is rendered while stepping.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from robots.libero.env_server import LiberoRobot
from robots.libero.simulation import Simulation, quiet
from robots.libero.stepper import Stepper
from robots.libero.suites import find_task

TASKS = (('libero_spatial', 0), ('libero_object', 0), ('libero_10', 9))
SUBSTEPS = 25
Step = Callable[[NDArray[np.float64]], Any]


def main() -> None:
    """Measure and print."""
    arguments = parse()
    tasks = [(arguments.task[0], int(arguments.task[1]))] if arguments.task else TASKS
    report_steps(tasks, arguments.turns, arguments.steps)
    if arguments.renders:
        report_renders(*tasks[0])
    if arguments.resets:
        report_resets(tasks)


def parse() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--task', nargs=2, metavar=('SUITE', 'INDEX'), help='only this task')
    parser.add_argument('--turns', type=int, default=5, help='turns of each way')
    parser.add_argument('--steps', type=int, default=40, help='control steps per turn')
    parser.add_argument('--renders', action='store_true', help='measure images, too')
    parser.add_argument('--resets', action='store_true', help='measure resets, too')
    return parser.parse_args()


def report_steps(tasks: list[tuple[str, int]], turns: int, steps: int) -> None:
    """Print the median time of a control step [ms] for each task and way."""
    print('ms per control step (median of turns)')
    print(f'{"task":20}{"LIBERO":>10}{"exact":>10}{"fast":>10}{"physics":>10}{"fast is":>10}')
    for suite, index in tasks:
        times = measure_steps(suite, index, turns, steps)
        cells = ''.join(f'{times[way]:10.2f}' for way in times)
        print(f'{f"{suite} {index}":20}{cells}{times["LIBERO"] / times["fast"]:9.1f}x', flush=True)


def measure_steps(suite: str, index: int, turns: int, steps: int) -> dict[str, float]:
    """Median time of a control step [ms] of each way."""
    simulation = Simulation(find_task(suite, index), physics='exact', fixture_seed=0)
    try:
        simulation.reset(0)
        ways: dict[str, Step] = {
            'LIBERO': simulation.env.step,
            'exact': with_verdict(simulation, Stepper(simulation.env, 'exact')),
            'fast': with_verdict(simulation, Stepper(simulation.env, 'fast')),
            'physics': functools.partial(physics_alone, simulation),
        }
        start = simulation.state()
        actions = reaching_down(steps)
        times: dict[str, list[float]] = {way: [] for way in ways}
        # The first turn compiles and warms up; it is not counted.
        for turn in range(turns + 1):
            for way, step in ways.items():
                simulation.load_state(start)
                simulation.stepper.hold()
                elapsed = timed(step, actions)
                if turn:
                    times[way].append(1000 * elapsed / steps)
    finally:
        simulation.close()
    return {way: statistics.median(turns) for way, turns in times.items()}


def with_verdict(simulation: Simulation, stepper: Stepper) -> Step:
    """A step of ours with everything that LIBERO's own step decides: also success."""

    def step(action: NDArray[np.float64]) -> None:
        stepper.step(action)
        simulation.succeeded()

    return step


def physics_alone(simulation: Simulation, action: NDArray[np.float64]) -> None:
    """The substeps of one control step with the last torques, whatever the action."""
    for _ in range(SUBSTEPS):
        mujoco.mj_step(simulation.model, simulation.data)


def reaching_down(steps: int) -> NDArray[np.float64]:
    """Actions (steps, 7) that wander down into the objects."""
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (steps, 7))
    actions[:, 2] -= 0.5
    return np.clip(actions, -1.0, 1.0)


def timed(step: Step, actions: NDArray[np.float64]) -> float:
    """Seconds for all actions."""
    begun = time.perf_counter()
    for action in actions:
        step(action)
    return time.perf_counter() - begun


def report_renders(suite: str, index: int) -> None:
    """Print the median time of one image [ms]."""
    robot = LiberoRobot(suite=suite, task=index, privileged=True)
    try:
        robot.reset(suite='', task=-1, seed=0)
        print(f'\nms per image, {suite} {index}')
        for camera in ('agentview', 'wrist'):
            for size, depth in ((256, False), (256, True), (512, False), (1024, True)):
                make = functools.partial(
                    robot.render, camera, width=size, height=size, depth=depth
                )
                make()
                taken = statistics.median(duration(make) for _ in range(5))
                what = 'with depth' if depth else ''
                print(f'{camera:12}{f"{size} x {size}":14}{what:12}{taken:8.0f}', flush=True)
        for name, read in (('observe', robot.observe), ('scene', robot.scene)):
            read()
            print(f'{name:38}{statistics.median(duration(read) for _ in range(50)):8.2f}')
    finally:
        robot.close()


def report_resets(tasks: list[tuple[str, int]]) -> None:
    """Print how long resets take [s]: the first of a task builds its scene."""
    robot = LiberoRobot()
    print('\ns per reset        first     again')
    try:
        for suite, index in tasks:
            reset = functools.partial(robot.reset, suite=suite, task=index, seed=0)
            first, again = duration(reset), statistics.median(duration(reset) for _ in range(3))
            print(f'{f"{suite} {index}":16}{first / 1000:8.2f}{again / 1000:10.2f}', flush=True)
    finally:
        robot.close()


def duration(work: Callable[[], Any]) -> float:
    """Milliseconds that `work` takes."""
    begun = time.perf_counter()
    with quiet():
        work()
    return 1000 * (time.perf_counter() - begun)


if __name__ == '__main__':
    main()
