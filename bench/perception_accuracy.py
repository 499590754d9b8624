"""How far off are back_project and query_world_map?  Real tool calls on real dumps, in process.

OMP_NUM_THREADS=1 ./rpent exec python bench/perception_accuracy.py

The simulator says which pixels show which object: ground truth, used to choose pixels and to
judge, never by a tool.  Errors are in millimetres, median and 95th percentile.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time

import numpy as np
from libero_truth import Truth
from numpy.typing import NDArray

from robots.libero import get_toolkit
from robots.libero.env_server import CAMERAS, LiberoRobot
from robots.libero.suites import suites
from rpent_ros.driver import DriverCore
from rpent_ros.local_env import LocalEnv
from rpent_ros.states import States
from rpent_ros.tools.toolkit import Toolkit

SUITES = 'libero_object,libero_spatial,libero_goal,libero_10'
# Fewer visible pixels than this at 512 x 512 are no sight of an object.
MIN_PIXELS = 60
PIXELS_PER_OBJECT = 20
# What lies less than this above what the object stands on counts as that [m].
MARGIN = 0.006

Errors = dict[tuple[str, ...], list[float]]


class Bench:
    """Measures scene after scene."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.errors: Errors = collections.defaultdict(list)
        self.objects = 0
        self._answers: dict[tuple, dict | None] = {}

    def scene(self, robot: LiberoRobot, env: LocalEnv, folder: str) -> None:
        """Dump the present scene and measure every movable object in it."""
        toolkit = get_toolkit(
            primitives_kwargs={
                'env': env, 'spec': env.describe(), 'model': None, 'policy': None,
            },
            output_dir=folder,
        )  # fmt: skip
        truth = Truth(robot)
        self._answers.clear()
        for view in States(folder).views():
            owner = truth.object_of_pixel(view.camera, view.width)
            least = MIN_PIXELS * (view.width / 512) ** 2
            for n, name in enumerate(truth.names):
                pixels = np.argwhere(owner == n)
                if len(pixels) >= least:
                    where = (view.camera, view.resolution)
                    self._points(toolkit, truth, view, pixels, where)
                    whole = pixels.min() > 0 and pixels.max() < view.width - 1
                    if whole:
                        self._region(toolkit, truth.box(name), pixels, where)
                        self._cluster(toolkit, truth.box(name), where)
        for name in truth.names:
            for resolution in ('high', 'policy'):
                self._cluster(toolkit, truth.box(name), ('all', resolution))
            self.objects += 1

    def _points(self, toolkit: Toolkit, truth: Truth, view: object, pixels: NDArray[np.intp],
                where: tuple[str, str]) -> None:  # fmt: skip
        """Single pixels, against the ray through the pixel's centre."""
        chosen = pixels[self.rng.integers(0, len(pixels), PIXELS_PER_OBJECT)].tolist()
        answer = self._call(toolkit, 'back_project', where, pixels=chosen)
        for point in answer['points']:
            hit, _ = truth.hit(view, *point['pixel'])
            off = np.linalg.norm(np.array(point['xyz']) - hit)
            kind = 'point at an edge' if 'hint' in point else 'point'
            self.errors[(kind, *where)].append(float(off))

    def _region(self, toolkit: Toolkit, box: tuple, pixels: NDArray[np.intp],
                where: tuple[str, str]) -> None:  # fmt: skip
        """The rectangle of the object's pixels, cut above what it stands on."""
        first, last = pixels.min(axis=0), pixels.max(axis=0)
        region = {
            'rows': [int(first[0]), int(last[0])],
            'columns': [int(first[1]), int(last[1])],
            'z_min': float(box[0][2]) + MARGIN,
        }
        answer = self._call(toolkit, 'back_project', where, region=region)
        if answer is None:
            return
        self._judge('region median', answer['xyz'], answer['top_z'], box, where)
        self._judge('region center', answer['center'], answer['top_z'], box, where)

    def _cluster(self, toolkit: Toolkit, box: tuple, where: tuple[str, str]) -> None:
        """The cluster nearest to the object, in a band that begins above what it stands on."""
        answer = self._call(toolkit, 'query_world_map', where)
        bottom = float(box[0][2])
        if abs(bottom - answer['surface_z']) > MARGIN:
            # It stands on something else, whose height a planner would measure first.
            z_min = round(bottom / 0.005) * 0.005 + MARGIN
            answer = self._call(toolkit, 'query_world_map', where, z_min=round(z_min, 3))
        middle = box[2]
        nearest = min(
            answer['clusters'],
            key=lambda cluster: np.linalg.norm(np.array(cluster['center'])[:2] - middle[:2]),
            default=None,
        )
        lost = nearest is None or bool(
            np.linalg.norm(np.array(nearest['center'])[:2] - middle[:2]) > 0.05
        )
        self.errors[('cluster missing', *where)].append(float(lost))
        if lost:
            return
        self.errors[('cluster cut by the border', *where)].append(float(not nearest['whole']))
        if nearest['whole']:
            self._judge('cluster', nearest['center'], nearest['top_z'], box, where)

    def _judge(self, kind: str, xy: list, top: float, box: tuple, where: tuple) -> None:
        middle = box[2]
        off = np.linalg.norm(np.array(xy)[:2] - middle[:2])
        self.errors[(f'{kind} xy', *where)].append(float(off))
        if kind != 'region median':
            self.errors[(f'{kind} top', *where)].append(abs(top - float(box[1][2])))

    def _call(self, toolkit: Toolkit, tool: str, where: tuple[str, str], **arguments):
        # Things on the same surface are asked for once.
        key = (tool, where, str(arguments))
        if key not in self._answers:
            asked = {'camera': where[0], 'resolution': where[1], **arguments}
            result = toolkit.call(tool, asked)
            self._answers[key] = result.data if result.ok else None
        return self._answers[key]


def table(errors: Errors) -> str:
    """Rows of median / 95th percentile in mm, one column per camera and image size."""
    columns = [(c, r) for c in (*CAMERAS, 'all') for r in ('high', 'policy')]
    lines = ['| what | ' + ' | '.join(f'{c} {r}' for c, r in columns) + ' |']
    lines.append('| --- |' + ' --- |' * len(columns))
    for kind in dict.fromkeys(key[0] for key in errors):
        cells = []
        for column in columns:
            values = np.array(errors.get((kind, *column), []))
            if not len(values):
                cells.append('')
            elif kind in ('cluster missing', 'cluster cut by the border'):
                cells.append(f'{int(values.sum())} of {len(values)}')
            else:
                median, high = np.quantile(values, [0.5, 0.95]) * 1000
                cells.append(f'{median:.1f} / {high:.1f} ({len(values)})')
        lines.append(f'| {kind} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--suites', default=SUITES)
    parser.add_argument('--tasks', default='', help='comma separated; empty: all')
    parser.add_argument('--seeds', default='0,1,2')
    options = parser.parse_args()
    robot = LiberoRobot()
    env = LocalEnv(DriverCore(robot))
    bench = Bench(np.random.default_rng(0))
    begun = time.monotonic()
    scenes = 0
    for suite in options.suites.split(','):
        tasks = [int(t) for t in options.tasks.split(',')] if options.tasks else None
        for task in tasks or range(suites()[suite]):
            for seed in (int(seed) for seed in options.seeds.split(',')):
                env.reset(suite=suite, task=task, seed=seed)
                with tempfile.TemporaryDirectory() as folder:
                    bench.scene(robot, env, folder)
                scenes += 1
        print(f'{suite}: {time.monotonic() - begun:.0f} s', file=sys.stderr, flush=True)
    env.core.close()
    print(f'{scenes} scenes, {bench.objects} objects, mm: median / 95 % (count)\n')
    print(table(bench.errors))
    return 0


if __name__ == '__main__':
    sys.exit(main())
