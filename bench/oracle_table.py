"""Success of the oracle policy over suites, tasks and seeds, in process, without ROS.

./rpent exec python bench/oracle_table.py --suites libero_object,libero_spatial --seeds 0,1,2
"""

from __future__ import annotations

import argparse
import sys
import time

from robots.libero.env_server import LiberoRobot
from robots.libero.suites import suites
from rpent_ros.driver import DriverCore
from rpent_ros.errors import RpentError
from rpent_ros.policies.oracle.policy import OraclePolicy


def run_episode(driver: DriverCore, policy: OraclePolicy, max_steps: int) -> tuple[bool, str]:
    """Let the policy carry out the task's own sentence; returns success and what went wrong."""
    observation = driver.observe()
    try:
        while observation.step < max_steps and not driver.state.terminated:
            inference = policy.infer(observation, observation.instruction, 'table')
            if inference.done:
                return driver.state.success, 'policy is done'
            result = driver.execute_chunk(inference.chunk)
            assert result.observation is not None
            observation = result.observation
    except RpentError as error:
        return driver.state.success, str(error)
    return driver.state.success, '' if driver.state.success else f'after {max_steps} steps'


def main() -> int:
    """Print one line per episode and one per suite."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--suites', default='libero_object,libero_spatial')
    parser.add_argument('--tasks', default='', help='comma separated; empty: all')
    parser.add_argument('--seeds', default='0,1,2')
    parser.add_argument('--physics', default='fast', choices=['fast', 'exact'])
    parser.add_argument('--max-steps', type=int, default=500)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(',')]
    robot = LiberoRobot(physics=options.physics, privileged=True)
    driver = DriverCore(robot, privileged=True)
    policy = OraclePolicy()
    failed = 0
    print(f'{"suite":16} task seed steps success  wall [s]  note')
    for suite in options.suites.split(','):
        solved, steps = 0, []
        tasks = range(suites()[suite])
        if options.tasks:
            tasks = [int(task) for task in options.tasks.split(',')]
        for task in tasks:
            for seed in seeds:
                driver.reset(suite=suite, task=task, seed=seed)
                policy.connect(driver.spec, lambda episode, step: driver.scene())
                begun = time.monotonic()
                success, note = run_episode(driver, policy, options.max_steps)
                wall = time.monotonic() - begun
                solved += success
                steps.append(driver.state.step)
                print(
                    f'{suite:16} {task:4} {seed:4} {driver.state.step:5} '
                    f'{"yes" if success else "NO":7} {wall:8.1f}  {note}',
                    flush=True,
                )
        total = len(steps)
        failed += total - solved
        print(f'{suite}: {solved} of {total}, mean {sum(steps) / total:.0f} steps', flush=True)
    driver.close()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
