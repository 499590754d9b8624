"""How well a segmenter finds LIBERO's movable objects from one pixel on each, in process.

./rpent exec python bench/segment_accuracy.py

The pixel is the one furthest inside the object's visible part.  The overlap with that part is
intersection over union (IoU).  What is really visible comes from the simulator.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time

import numpy as np
from libero_truth import Truth

from robots.libero.env_server import LiberoRobot
from robots.libero.suites import suites
from rpent_ros.contracts.segmentation import SegmentRequest
from rpent_ros.driver import DriverCore
from rpent_ros.segmentation.registry import make_segmenter
from rpent_ros.tools.clusters import pixel_well_inside

# Fewer visible pixels than this at 256 x 256 are no fair question.
LEAST_PIXELS = 60


def main() -> int:
    """Print one line per suite, camera and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--suites', default='libero_object,libero_spatial,libero_goal,libero_10')
    parser.add_argument('--tasks', type=int, default=10, help='tasks per suite')
    parser.add_argument('--sizes', default='256,512')
    parser.add_argument('--verbose', action='store_true', help='one line per object')
    options = parser.parse_args()
    segmenter = make_segmenter('classical', {})
    driver = DriverCore(robot := LiberoRobot())
    print(f'{"suite":16} {"camera":10} size    n  IoU median  10 %  above 0.5  none   ms')
    for suite in options.suites.split(','):
        found: dict[tuple[str, int], list[float]] = collections.defaultdict(list)
        spent: dict[tuple[str, int], list[float]] = collections.defaultdict(list)
        for task in range(min(options.tasks, suites()[suite])):
            driver.reset(suite=suite, task=task, seed=0)
            truth = Truth(robot)
            for camera in ('agentview', 'wrist'):
                for size in (int(text) for text in options.sizes.split(',')):
                    frame = driver.render(camera, width=size, height=size, depth=True)
                    owners = truth.object_of_pixel(camera, size)
                    for number in np.unique(owners[owners >= 0]):
                        visible = owners == number
                        if visible.sum() < LEAST_PIXELS * (size / 256) ** 2:
                            continue
                        point = pixel_well_inside(np.argwhere(visible))
                        begun = time.monotonic()
                        answer = segmenter.segment(SegmentRequest(frame, point=point))
                        spent[camera, size].append(time.monotonic() - begun)
                        mask = answer[0].mask if answer else np.zeros_like(visible)
                        iou = float((mask & visible).sum() / (mask | visible).sum())
                        found[camera, size].append(iou if answer else 0.0)
                        if options.verbose:
                            name = truth.names[number]
                            print(f'  {suite} {task} {camera} {size} {name} {iou:.2f}')
        for key, ious in found.items():
            line = np.array(ious)
            print(
                f'{suite:16} {key[0]:10} {key[1]:4} {len(line):4}  {np.median(line):10.2f}  '
                f'{np.percentile(line, 10):4.2f}  {np.mean(line > 0.5):9.2f}  '
                f'{int((line == 0.0).sum()):4}  {1000 * np.median(spent[key]):3.0f}',
                flush=True,
            )
    driver.close()
    return 0


if __name__ == '__main__':
    sys.exit(main())
