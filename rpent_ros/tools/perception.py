"""Tools that look: they read the state dumps and nothing else, so they never move or render."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
from PIL import Image

from rpent_ros import files
from rpent_ros.errors import BadArguments, BadPath
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.states import DEPTH_UNIT, States, View, load_depth
from rpent_ros.tools import clouds, locate, pictures, projection, world_map
from rpent_ros.tools.dump import HIGH, POLICY, best_views
from rpent_ros.tools.dump_reader import ALL_CAMERAS, DumpReader
from rpent_ros.tools.result import ToolImage, ToolResult
from rpent_ros.tools.schema import exactly_one

# A camera that moved less than this while the tool moved more than the other is fixed [m].
_STILL, _MOVED = 0.001, 0.01
_PICTURES = ('.png', '.jpg', '.jpeg')

CONVENTIONS = (
    'optical frame: z forward, x right in the image, y down',
    'pixels are [row, column], [0, 0] is the centre of the top left pixel',
    'a pixel with depth d is at d * inverse(intrinsics) * [column, row, 1] in the optical frame',
    'matrix * [x, y, z, 1] turns a point of the optical frame into the base frame',
    'depth is measured along the optical axis, not along the ray',
)


def images_of(output_dir: pathlib.Path, views: list[View]) -> tuple[ToolImage, ...]:
    """The best picture of each camera."""
    return tuple(
        ToolImage(view.camera, output_dir / view.rgb, view.width, view.height)
        for view in best_views(views)
    )


class Perception:
    """The tools that read the state dumps of one run folder; a method each.

    Args:
      output_dir: the run folder.
      settings: parameters of the robot; None: the defaults.
    """

    def __init__(
        self, output_dir: pathlib.Path, settings: ManipulationSettings | None = None
    ) -> None:
        self.output_dir = output_dir
        self._settings = settings or ManipulationSettings()

    def view_env_state(self, *, step: int = -1) -> ToolResult:
        """State and pictures of one dump; -1: the newest."""
        states = States(self.output_dir)
        entry = states.entry(step)
        data = {key: value for key, value in entry.items() if key != 'views'}
        views = states.views(entry['step_idx'])
        return ToolResult(data=data, images=images_of(self.output_dir, views))

    def view_camera_meta(self, *, camera: str, step: int = -1) -> ToolResult:
        """Calibration of one camera at one dump."""
        dump = DumpReader(self.output_dir, step)
        own = dump.of(camera)
        best = best_views(own)[0]
        return ToolResult(data={
            'camera': camera,
            **dump.where,
            'position': best.pose.position.tolist(),
            'quaternion_xyzw': best.pose.quaternion.tolist(),
            'matrix': best.pose.matrix().tolist(),
            'images': [
                {
                    'resolution': view.resolution,
                    'image_size': [view.height, view.width],
                    'intrinsics': view.intrinsics.tolist(),
                    'name': view.rgb,
                }
                for view in own
            ],
            'depth': self._depth_facts(best),
            'moves_with_tool': _moves_with_tool(States(self.output_dir).entries(), camera),
            'conventions': list(CONVENTIONS),
        })

    def read_image(
        self,
        *,
        camera: str | None = None,
        name: str | None = None,
        step: int = -1,
        resolution: str = HIGH,
        region: dict[str, Any] | None = None,
        zoom: int | None = None,
        rulers: bool = False,
    ) -> ToolResult:
        """A recorded picture, whole or a part of it, enlarged and with rulers if asked for.

        Raises:
          BadArguments: neither or both of camera and name.
          BadPath: the name is no picture of this run.
          BadPixel: the region misses the picture.
        """
        exactly_one('read_image', camera=camera, name=name)
        facts: dict[str, Any] = {}
        if camera is not None:
            dump = DumpReader(self.output_dir, step)
            view = dump.view(camera, resolution)
            name, title = view.rgb, f'the {view.resolution} image of {camera}'
            facts = {'camera': camera, 'resolution': view.resolution, **dump.where}
        else:
            assert name is not None
            title = name
        with self._open(name) as image:
            width, height = image.size
            rows, columns = _clipped(region, width, height, title)
            plain = region is None and zoom is None and not rulers
            cut = pictures.plan(rows, columns, 1 if plain else zoom, rulers)
            path = self.output_dir / name
            if not plain:
                path = self._store(pictures.draw(image.convert('RGB'), cut), name, cut)
        data = {
            **facts,
            'name': name,
            'image_size': [height, width],
            'rows': list(cut.rows),
            'columns': list(cut.columns),
            'zoom': cut.zoom,
            'offset': list(cut.offset),
            'mapping': cut.mapping(title),
        }
        return ToolResult(data=data, images=(ToolImage(camera or name, path, *cut.size),))

    def back_project(
        self,
        *,
        camera: str,
        pixel: list[int] | None = None,
        pixels: list[list[int]] | None = None,
        region: dict[str, Any] | None = None,
        step: int = -1,
        resolution: str = HIGH,
    ) -> ToolResult:
        """The point in the base frame that a pixel, several, or a region of an image shows."""
        exactly_one('back_project', pixel=pixel, pixels=pixels, region=region)
        dump = DumpReader(self.output_dir, step)
        view = dump.view(camera, resolution, depth=True)
        seen = locate.Seen(load_depth(self.output_dir / view.depth), view, dump.title(view))
        if pixel is not None:
            found = locate.pixel_answer(seen, pixel)
        elif pixels is not None:
            found = locate.pixels_answer(seen, pixels)
        else:
            assert region is not None
            found = locate.region_answer(seen, region, dump.tool_yaw)
        return ToolResult(data={
            'camera': camera,
            'resolution': view.resolution,
            'image_size': [view.height, view.width],
            **dump.where,
            **found,
        })

    def query_world_map(
        self,
        *,
        camera: str = ALL_CAMERAS,
        z_min: float | None = None,
        z_max: float | None = None,
        x_range: list[float] | None = None,
        y_range: list[float] | None = None,
        step: int = -1,
        resolution: str = HIGH,
        gap: float = 0.01,
        min_points: int = 20,
    ) -> ToolResult:
        """Clusters of what stands in a band of heights; null: the workspace's bounds."""
        dump = DumpReader(self.output_dir, step)
        views = dump.views_with_depth(camera, resolution)
        box = dump.entry['workspace']
        spans = [
            [low, high] if span is None else span
            for low, high, span in zip(box['min'], box['max'], (x_range, y_range), strict=False)
        ]
        for name, span in zip(('x_range', 'y_range'), spans, strict=True):
            _check_span(name, span)
        surface = self._surface(dump)
        bottom = box['min'][2] if surface is None else surface + world_map.SURFACE_MARGIN
        band = [bottom if z_min is None else z_min, box['max'][2] if z_max is None else z_max]
        _check_span('z_min and z_max', band)
        query = world_map.Query(
            low=np.array([spans[0][0], spans[1][0], band[0]]),
            high=np.array([spans[0][1], spans[1][1], band[1]]),
            gap=gap,
            min_points=min_points,
        )
        robot = world_map.Robot(
            dump.tool, self._settings.hand, self._settings.max_grasp_width
        )
        cloud = clouds.load_cloud(self.output_dir, views)
        ground = box['min'][2] if surface is None else surface
        found = world_map.find(cloud, views, robot, query, ground)
        return ToolResult(data={
            'camera': camera,
            'resolution': resolution,
            **dump.where,
            'x_range': spans[0],
            'y_range': spans[1],
            'z_band': band,
            'surface_z': surface,
            'clusters': found.clusters,
            'n_clusters': found.count,
            **_advice(found, band),
        })

    def _surface(self, dump: DumpReader) -> float | None:
        """Height of what most things in the workspace stand on, from all cameras together."""
        views = dump.views_with_depth(ALL_CAMERAS, POLICY)
        low, high = (dump.entry['workspace'][end] for end in ('min', 'max'))
        # The box may end above the surface.
        cloud = clouds.load_cloud(self.output_dir, views)
        seen = clouds.inside(cloud, [*low[:2], -np.inf], high)
        return clouds.surface_height(seen) if len(seen) else None

    def _depth_facts(self, view: View) -> dict[str, Any] | None:
        if not view.depth:
            return None
        depth = load_depth(self.output_dir / view.depth)
        valid = np.isfinite(depth)
        return {
            'name': view.depth,
            'unit': DEPTH_UNIT,
            'min': float(depth[valid].min()) if valid.any() else None,
            'max': float(depth[valid].max()) if valid.any() else None,
            'valid': float(valid.mean()),
        }

    def _open(self, name: str) -> Image.Image:
        """A picture of the run folder.

        Raises:
          BadPath: outside the folder, not there, or not a picture.
        """
        folder = self.output_dir.resolve()
        path = (folder / name).resolve()
        if path.is_relative_to(folder) and path.suffix.lower() in _PICTURES and path.is_file():
            with Image.open(path) as image:
                # Depth is stored as 16-bit numbers, which show as black.
                if not image.mode.startswith('I'):
                    image.load()
                    return image.copy()
        raise BadPath(
            f'read_image: expected name to be a colour picture of this run, as the artifacts of '
            f'view_env_state list them, such as images/00_agentview.png, got {name!r}'
        )

    def _store(self, picture: Image.Image, name: str, cut: pictures.CutOut) -> pathlib.Path:
        """Keep a cut-out beside the pictures; the same one has the same name."""
        stem = pathlib.PurePath(name).stem
        (top, bottom), (left, right) = cut.rows, cut.columns
        lines = '_rulers' if any(cut.offset) else ''
        path = self.output_dir / 'images' / (
            f'{stem}_r{top}-{bottom}_c{left}-{right}_x{cut.zoom}{lines}.png'
        )
        with files.writing(self.output_dir, path.name):
            path.parent.mkdir(exist_ok=True)
            files.write_bytes(path, pictures.encode(picture))
        return path


def _clipped(
    region: dict[str, Any] | None, width: int, height: int, title: str
) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last row and column of a region of an image, within the image.

    Raises:
      BadPixel: nothing of it lies inside.
    """
    if region is None:
        return (0, height - 1), (0, width - 1)
    return projection.clipped(region['rows'], region['columns'], width, height, title)


def _check_span(name: str, span: list[float]) -> None:
    if span[0] > span[1]:
        raise BadArguments(
            f'query_world_map: {name}: expected the lower bound first, got {span[0]:g} and '
            f'{span[1]:g} m'
        )


def _advice(found: world_map.Found, band: list[float]) -> dict[str, str]:
    """What to do if nothing, or too much, was found."""
    if found.heights is None:
        return {'hint': 'the cameras see nothing there; widen x_range and y_range'}
    if not found.count:
        return {
            'hint': f'nothing stands between {_metres(band[0], band[1])} there; heights seen: '
            f'{_metres(*found.heights, "to")}'
        }
    if found.count > len(found.clusters):
        return {'hint': f'the largest {len(found.clusters)} are listed; narrow the ranges'}
    return {}


def _metres(low: float, high: float, word: str = 'and') -> str:
    # Adding zero turns -0.0 into 0.0.
    return f'{round(low, 3) + 0.0:.3f} {word} {round(high, 3) + 0.0:.3f} m'


def _moves_with_tool(entries: list[dict[str, Any]], camera: str) -> bool | None:
    """Whether a camera's pose changed while the tool moved; None: it has not moved yet."""
    poses = [
        (np.array(entry['state']['ee_position']), np.array(view['position']))
        for entry in entries
        for view in entry['views']
        if view['camera'] == camera
    ]
    tool = max(float(np.linalg.norm(tool - poses[0][0])) for tool, _ in poses)
    own = max(float(np.linalg.norm(own - poses[0][1])) for _, own in poses)
    if tool < _MOVED:
        return None
    return own > _STILL
