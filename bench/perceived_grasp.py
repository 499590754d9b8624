"""Grasps from what the tools tell about pictures: the recipe of the prompt, without a model.

OMP_NUM_THREADS=1 ./rpent exec python bench/perceived_grasp.py

A pixel of the named object comes from an eye that looked at the picture (picked_pixels.yaml) or,
for suites and seeds that nobody looked at, from the simulator: a random pixel that shows it.
Everything after it is tool calls that a model could make.  The simulator judges: the object must
rise by 50 mm and stay up while the arm goes on.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time
from typing import Any

import numpy as np
import yaml
from libero_truth import Truth

from robots.libero import get_toolkit
from robots.libero.env_server import LiberoRobot
from rpent_ros.driver import DriverCore
from rpent_ros.errors import ErrorCode
from rpent_ros.local_env import LocalEnv
from rpent_ros.tools.toolkit import Toolkit

PIXELS = pathlib.Path(__file__).with_name('picked_pixels.yaml')

# The tool's height above the object while the wrist camera looks at it [m].
LOOK_FROM = 0.15
# The object is looked for from this far below the chosen pixel upwards, above the surface [m].
BELOW_PIXEL, ABOVE_SURFACE = 0.01, 0.006

# The wrist camera is believed if it corrects the place by less than this [m].
BELIEVABLE = 0.05

# An object that rose by this much was lifted [m].
LIFTED = 0.05
# Where the arm goes on to after the lift [m].
CARRY = np.array([0.0, 0.05, 0.05])


class RecipeFailed(Exception):
    """Raised when a step of the recipe gives nothing to go on with."""


def call(toolkit: Toolkit, tool: str, **arguments: Any) -> dict[str, Any]:
    """The data of an answer that must be OK."""
    result = toolkit.call(tool, arguments)
    if not result.ok:
        raise RecipeFailed(f'{tool}: {result.code.name}: {result.message}')
    return dict(result.data)


def nearest(answer: dict[str, Any], xy: Any) -> dict[str, Any]:
    """The cluster nearest to a point, other than the gripper."""
    others = [cluster for cluster in answer['clusters'] if not cluster['at_tool']]
    if not others:
        raise RecipeFailed(f'query_world_map: nothing there; {answer.get("hint", "")}')
    return min(
        others, key=lambda c: np.linalg.norm(np.array(c['center'])[:2] - np.array(xy)[:2])
    )


def perceive(toolkit: Toolkit, pixel: list[int], look: bool) -> dict[str, Any]:
    """From a pixel in agentview to the cluster to grasp.

    Args:
      toolkit: the tools.
      pixel: [row, column] on the object.
      look: go above the object and let the wrist camera have the last word.
    """
    point = call(toolkit, 'back_project', camera='agentview', pixel=pixel)['xyz']
    # From just below the pixel upwards: what the thing stands on or leans against stays out.
    surface = call(toolkit, 'query_world_map')['surface_z']
    z_min = max(point[2] - BELOW_PIXEL, surface + ABOVE_SURFACE)
    rough = nearest(call(toolkit, 'query_world_map', z_min=z_min), point)
    if not look:
        return rough
    x, y, _ = rough['center']
    arrived = toolkit.call(
        'move_to', {'xyz': [x, y, rough['top_z'] + LOOK_FROM], 'gripper': 'open'}
    )
    if not arrived.ok:
        # Too high or too far for the arm; the first look has to do.
        return rough
    seen = nearest(call(toolkit, 'query_world_map', camera='wrist', z_min=z_min), [x, y])
    off = np.linalg.norm(np.array(seen['center'])[:2] - [x, y])
    return seen if off < BELIEVABLE and seen['grasps'] else rough


def target_of(robot: LiberoRobot) -> str:
    """The object that the task names."""
    return str(robot._simulation.env.obj_of_interest[0])


def any_pixel(robot: LiberoRobot, rng: np.random.Generator) -> list[int]:
    """A pixel of the target in agentview, from the simulator."""
    truth = Truth(robot)
    owner = truth.object_of_pixel('agentview', 512)
    return [int(p) for p in rng.choice(np.argwhere(owner == truth.names.index(target_of(robot))))]


def attempt(
    robot: LiberoRobot, env: LocalEnv, pixel: list[int], folder: str, look: bool
) -> dict[str, Any]:
    """One grasp; what the tool said and what is true."""
    toolkit = get_toolkit(
        primitives_kwargs={'env': env, 'spec': env.describe(), 'model': None, 'policy': None},
        output_dir=folder,
    )
    truth, name = Truth(robot), target_of(robot)
    _, _, middle = truth.box(name)
    before = truth.height(name)
    out: dict[str, Any] = {'object': name, 'holding': None, 'lifted': False, 'note': ''}
    try:
        seen = perceive(toolkit, pixel, look)
        if not seen['grasps']:
            raise RecipeFailed(f'too wide: {seen["size"]}')
    except RecipeFailed as error:
        return {**out, 'note': str(error)}
    out['off'] = 1000 * float(np.linalg.norm(np.array(seen['center'])[:2] - middle))
    for grasp in seen['grasps']:
        done = toolkit.call('scripted_grasp', {'xyz': grasp['xyz'], 'yaw': grasp['yaw']})
        if done.code != ErrorCode.OUT_OF_REACH:
            break
    out['grasp'] = {
        key: np.round(grasp[key], 3).tolist() for key in ('width', 'clear', 'upright', 'yaw')
        if grasp[key] is not None
    }  # fmt: skip
    out['holding'] = done.data.get('holding')
    up = truth.height(name) - before > LIFTED
    toolkit.call('move_to', {'xyz': (robot.tool_position() + CARRY).tolist()})
    out['lifted'] = bool(up and truth.height(name) - before > LIFTED)
    if not out['lifted']:
        out['note'] = (
            f'{done.code.name} at {done.data.get("stage")}, rose '
            f'{1000 * (truth.height(name) - before):.0f} mm; {done.message}'
        )
    return out


def main() -> int:
    """Print one line per attempt and a table per object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--suite', default='libero_object')
    parser.add_argument('--tasks', default='', help='comma separated; empty: all')
    parser.add_argument('--seeds', default='0,1,2')
    parser.add_argument(
        '--direct', action='store_true', help='grasp what the first pictures tell, look no closer'
    )
    options = parser.parse_args()
    picked = yaml.safe_load(PIXELS.read_text())
    robot = LiberoRobot()
    env = LocalEnv(DriverCore(robot))
    by_eye = picked['pixels'] if options.suite == picked['suite'] else {}
    tasks = [int(task) for task in options.tasks.split(',')] if options.tasks else range(10)
    rng = np.random.default_rng(0)
    rows, lies = [], 0
    for task in tasks:
        pixels = by_eye.get(task, {})
        seeds = [int(seed) for seed in options.seeds.split(',')]
        results = []
        for seed in seeds:
            env.reset(suite=options.suite, task=task, seed=seed)
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                pixel = pixels[seed] if seed in pixels else any_pixel(robot, rng)
                result = attempt(robot, env, pixel, folder, not options.direct)
            results.append(result)
            lies += result['holding'] is not None and result['holding'] != result['lifted']
            print(
                f'{task} {seed} {result["object"]:22} '
                f'{"lifted" if result["lifted"] else "NOT LIFTED":10} holding {result["holding"]} '
                f'off {result.get("off", float("nan")):.1f} mm {result.get("grasp", "")} '
                f'{time.monotonic() - begun:.1f} s {result["note"]}',
                flush=True,
            )
        lifted = sum(result['lifted'] for result in results)
        off = [result['off'] for result in results if 'off' in result]
        rows.append((f'{task}: {results[0]["object"]}', lifted, len(results), off))
    env.core.close()
    print('\n| task: object | lifted | grasp point off the middle, median |\n| --- | --- | --- |')
    for name, lifted, count, off in rows:
        print(f'| {name} | {lifted} of {count} | {np.median(off) if off else 0:.1f} mm |')
    total, tries = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f'| all | {total} of {tries} | |')
    print(f'\nThe tool was wrong about holding in {lies} of {tries}.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
