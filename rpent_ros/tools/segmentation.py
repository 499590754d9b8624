"""The tool that finds the pixels of one thing in a recorded image, and where that thing is."""

from __future__ import annotations

import logging
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from rpent_ros import files
from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.contracts.segmentation import Instance, Segmentation, SegmentRequest
from rpent_ros.errors import (
    BadPixel,
    DeadlineExceeded,
    NotFound,
    PeerDied,
    RpentError,
    SegmentationFailed,
    Unavailable,
)
from rpent_ros.ports import SegmenterClient
from rpent_ros.states import View, load_depth, load_rgb
from rpent_ros.tools import pictures, projection, shape
from rpent_ros.tools.dump import HIGH, POLICY
from rpent_ros.tools.dump_reader import ALL_CAMERAS, DumpReader
from rpent_ros.tools.result import ToolImage, ToolResult
from rpent_ros.tools.schema import exactly_one

LOG = logging.getLogger('rpent_ros.tools')

FOLDER = 'segments'
MAX_INSTANCES = 10
# Fewer points with a valid depth than this say nothing about a place.
LEAST_POINTS = 10
_COLOURS = ((255, 40, 40), (40, 120, 255), (40, 200, 60), (255, 170, 0), (200, 60, 255))
_HINT = 'look at the image, choose a pixel on the object, and use back_project or query_world_map'


class SegmentationTool:
    """Reads a dump, asks the segmenter, measures what it found, and keeps the outcome.

    Args:
      output_dir: the run folder.
      segmenter: the segmenter; None: the tool is not offered.
    """

    def __init__(self, output_dir: pathlib.Path, segmenter: SegmenterClient | None) -> None:
        self._output_dir = output_dir
        self._segmenter = segmenter

    def segment(
        self,
        *,
        camera: str,
        text: str | None = None,
        point: list[int] | None = None,
        step: int = -1,
        min_score: float = 0.2,
        resolution: str = HIGH,
    ) -> ToolResult:
        """Find a thing by words or at a pixel of a dumped image.

        Raises:
          BadArguments: neither or both of text and point.
          NotFound: nothing fits.
          SegmentationFailed: the segmenter does not answer.
        """
        exactly_one('segment', text=text, point=point)
        dump = DumpReader(self._output_dir, step)
        view = dump.view(camera, resolution)
        frame = self._frame(dump, view)
        answer = self._ask(dump, view, frame, text or '', point, min_score)
        if not answer.instances:
            what = f'"{text}"' if text else f'a thing at pixel {point}'
            raise NotFound(
                f'segment: {what} was not found in {dump.title(view)}; {_HINT}'
            )
        shown = answer.instances[:MAX_INSTANCES]
        data: dict[str, Any] = {
            'camera': camera,
            'resolution': view.resolution,
            'image_size': [view.height, view.width],
            **dump.where,
            'requested': {'text': text, 'point': point, 'min_score': min_score},
            'instances': [
                _describe(instance, frame, dump.tool_yaw) for instance in shown
            ],
            'n_instances': len(answer.instances),
        }
        if answer.privileged:
            # Said in every result: a real robot could not have done this.
            data['privileged'] = True
        return self._keep(dump, frame, shown, data)

    def known_objects(self, step: int) -> list[dict[str, Any]]:
        """Names and places of all objects in sight, from a segmenter that may know them.

        Args:
          step: dump number.

        Returns:
          name, center [m], top_z [m] and camera, each object once; empty where nobody knows.
        """
        if self._segmenter is None:
            return []
        dump = DumpReader(self._output_dir, step)
        best: dict[str, tuple[int, dict[str, Any]]] = {}
        try:
            if not self._segmenter.describe().privileged:
                return []
            for view in dump.views_with_depth(ALL_CAMERAS, POLICY):
                frame = self._frame(dump, view)
                for instance in self._ask(dump, view, frame, '', None, 0.0).instances:
                    found = _describe(instance, frame, dump.tool_yaw)
                    known = best.get(instance.label, (0, {}))
                    if 'center' in found and found['n_pixels'] > known[0]:
                        keep = {key: found[key] for key in ('center', 'top_z')}
                        thing = {'name': instance.label, **keep, 'camera': view.camera}
                        best[instance.label] = found['n_pixels'], thing
        except RpentError as error:
            LOG.warning('objects are not listed: %s', error)
            return []
        return [thing for _, thing in best.values()]

    def _ask(
        self,
        dump: DumpReader,
        view: View,
        frame: CameraFrame,
        text: str,
        point: list[int] | None,
        min_score: float,
    ) -> Segmentation:
        assert self._segmenter is not None
        if point is not None and not (point[0] < view.height and point[1] < view.width):
            raise BadPixel(
                f'pixel {point} lies outside the {view.width} x {view.height} image of '
                f'{dump.title(view)}'
            )
        request = SegmentRequest(
            frame,
            text=text,
            point=None if point is None else (point[0], point[1]),
            min_score=min_score,
            episode=dump.entry['episode'],
            step=dump.entry['control_step'],
        )
        try:
            return self._segmenter.segment(request)
        except (Unavailable, PeerDied, DeadlineExceeded) as error:
            # The run goes on: a planner can do without.
            raise SegmentationFailed(f'segment: {error}; {_HINT}') from error

    def _frame(self, dump: DumpReader, view: View) -> CameraFrame:
        depth = None
        if view.depth:
            depth = load_depth(self._output_dir / view.depth).astype(np.float32)
        stamp = dump.entry['stamp']
        return CameraFrame(
            view.camera,
            frame_id=f'{view.camera}_optical',
            rgb=load_rgb(self._output_dir / view.rgb),
            depth=depth,
            intrinsics=view.intrinsics,
            pose=view.pose,
            stamp=stamp['sec'] * 1_000_000_000 + stamp['nanosec'],
        )

    def _keep(
        self,
        dump: DumpReader,
        frame: CameraFrame,
        shown: Sequence[Instance],
        data: dict[str, Any],
    ) -> ToolResult:
        """Write what was found beside the dump: numbers, masks, and a picture with both."""
        folder = self._output_dir / FOLDER
        step = dump.where['step_idx']
        with files.writing(self._output_dir, f'a segmentation of state dump {step}'):
            folder.mkdir(exist_ok=True)
            number = len(list(folder.glob(f'{step:02d}_*.json')))
            stem = f'{FOLDER}/{step:02d}_{number}'
            picture = self._output_dir / f'{stem}_overlay.png'
            files.write_bytes(picture, _png(_overlay(frame.rgb, shown)))
            for index, instance in enumerate(shown):
                mask = np.where(instance.mask, 255, 0).astype(np.uint8)
                files.write_bytes(self._output_dir / f'{stem}_mask{index}.png', _png(mask))
            data = {**data, 'overlay': f'{stem}_overlay.png'}
            files.write_json(self._output_dir / f'{stem}.json', data)
        return ToolResult(data=data, images=(ToolImage(frame.name, picture, *frame.size),))


def _describe(instance: Instance, frame: CameraFrame, tool_yaw: float) -> dict[str, Any]:
    """Where one thing is in the image and in the base frame."""
    top, bottom, left, right = instance.box
    out: dict[str, Any] = {
        'label': instance.label,
        'score': round(instance.score, 3),
        'rows': [top, bottom],
        'columns': [left, right],
        'n_pixels': int(instance.mask.sum()),
    }
    if frame.depth is None:
        return out
    # The rim of a mask may show what is behind.
    inner = ndimage.binary_erosion(instance.mask)
    chosen = inner if inner.sum() >= LEAST_POINTS else instance.mask
    masked = np.where(chosen, frame.depth, np.nan)
    cloud = projection.points(masked, frame.intrinsics, frame.pose)
    if len(cloud) < LEAST_POINTS:
        return out
    return {
        **out,
        'xyz': np.median(cloud, axis=0).tolist(),
        **shape.describe(cloud, tool_yaw),
        'n_valid': len(cloud),
    }


def _overlay(rgb: NDArray[np.uint8], shown: Sequence[Instance]) -> NDArray[np.uint8]:
    """The picture with each mask tinted and outlined in a colour of its own."""
    out = rgb.astype(np.float32)
    for index, instance in enumerate(shown):
        colour = np.array(_COLOURS[index % len(_COLOURS)], np.float32)
        out[instance.mask] = 0.6 * out[instance.mask] + 0.4 * colour
        out[instance.mask & ~ndimage.binary_erosion(instance.mask, iterations=2)] = colour
    return np.rint(out).astype(np.uint8)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    return pictures.encode(Image.fromarray(pixels))
