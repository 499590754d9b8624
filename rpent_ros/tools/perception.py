"""Tools that look: they read the state dumps and nothing else, so they never move or render."""

from __future__ import annotations

import pathlib
from typing import Any

from rpent_ros.errors import BadArguments, BadPixel, InvalidRequest
from rpent_ros.states import States, View, load_depth
from rpent_ros.tools import projection
from rpent_ros.tools.dump import HIGH, POLICY, best_views
from rpent_ros.tools.result import ToolImage, ToolResult

# A neighbourhood that covers more than this along one axis straddles an edge [m].
EDGE_SPREAD = 0.02


def images_of(output_dir: pathlib.Path, views: list[View]) -> tuple[ToolImage, ...]:
    """The best picture of each camera."""
    return tuple(
        ToolImage(view.camera, output_dir / view.rgb, view.width, view.height)
        for view in best_views(views)
    )


class Perception:
    """The tools that read the state dumps of one run folder; a method each."""

    def __init__(self, output_dir: pathlib.Path) -> None:
        self.output_dir = output_dir

    def view_env_state(self, *, step: int = -1) -> ToolResult:
        """State and pictures of one dump; -1: the newest."""
        states = States(self.output_dir)
        entry = states.entry(step)
        data = {key: value for key, value in entry.items() if key not in ('views', 'artifacts')}
        views = states.views(entry['step_idx'])
        return ToolResult(data=data, images=images_of(self.output_dir, views))

    def back_project(
        self,
        *,
        camera: str,
        pixel: list[int] | None = None,
        region: dict[str, Any] | None = None,
        step: int = -1,
        resolution: str = HIGH,
    ) -> ToolResult:
        """The point in the base frame that a pixel, or a region, of a dumped image shows."""
        if (pixel is None) == (region is None):
            raise BadArguments(
                'back_project: expected exactly one of pixel and region, got '
                + ('none' if pixel is None else 'both')
            )
        states = States(self.output_dir)
        entry = states.entry(step)
        view = _view(states.views(entry['step_idx']), camera, resolution)
        where = f'{camera} ({view.resolution}, step {entry["step_idx"]})'
        if not view.depth:
            raise BadPixel(f'{where} has no depth; use another camera')
        depth = load_depth(self.output_dir / view.depth)
        if pixel is not None:
            found = projection.locate_pixel(
                depth, view.intrinsics, view.pose, pixel[0], pixel[1], where
            )
            asked: dict[str, Any] = {'pixel': pixel, 'depth': float(depth[pixel[0], pixel[1]])}
        else:
            assert region is not None
            found = projection.locate_region(
                depth,
                view.intrinsics,
                view.pose,
                tuple(region['rows']),
                tuple(region['columns']),
                where,
                z_min=region.get('z_min', float('-inf')),
                z_max=region.get('z_max', float('inf')),
            )
            asked = {'region': region, 'center': found.center.tolist()}
        data = {
            'camera': camera,
            'resolution': view.resolution,
            'image_size': [view.height, view.width],
            'step_idx': entry['step_idx'],
            'frame_id': entry['frame_id'],
            **asked,
            'xyz': found.xyz.tolist(),
            'spread': found.spread.tolist(),
            'n_valid': found.n_valid,
        }
        if pixel is not None and found.spread.max() > EDGE_SPREAD:
            data['hint'] = (
                'the pixel lies on an edge: its neighbours are up to '
                f'{2 * found.spread.max():.3f} m apart; choose one further inside the object'
            )
        return ToolResult(data=data)


def _view(views: list[View], camera: str, resolution: str) -> View:
    """That camera's view; 'high' falls back to the best there is."""
    own = [view for view in views if view.camera == camera]
    if not own:
        known = ', '.join(dict.fromkeys(view.camera for view in views)) or 'none'
        raise InvalidRequest(f'unknown camera {camera!r}; recorded cameras: {known}')
    if resolution == POLICY:
        return next(view for view in own if view.resolution == POLICY)
    return best_views(own)[0]
