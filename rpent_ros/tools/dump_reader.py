"""One state dump as the tools that look need it."""

from __future__ import annotations

import pathlib

from rpent_ros.errors import BadPixel, UnknownCamera
from rpent_ros.geometry import Pose
from rpent_ros.states import States, View
from rpent_ros.tools.dump import POLICY, best_views

ALL_CAMERAS = 'all'


class DumpReader:
    """Looks things up in one dump.

    Args:
      output_dir: the run folder.
      step: dump number; -1: the newest.

    Raises:
      NoSuchStep: there is no such dump.
    """

    def __init__(self, output_dir: pathlib.Path, step: int) -> None:
        self.output_dir = output_dir
        self.entry = States(output_dir).entry(step)
        self.views = [View.from_json(view) for view in self.entry['views']]
        self.where = {key: self.entry[key] for key in ('step_idx', 'frame_id')}

    @property
    def tool(self) -> Pose:
        """Pose of the tool centre point."""
        state = self.entry['state']
        return Pose(state['ee_position'], state['ee_quaternion_xyzw'])

    @property
    def tool_yaw(self) -> float:
        """Yaw of the tool [rad]."""
        return float(self.entry['state']['ee_yaw'])

    def title(self, view: View) -> str:
        """What messages call a view."""
        return f'{view.camera} ({view.resolution}, step {self.entry["step_idx"]})'

    def of(self, camera: str) -> list[View]:
        """The views of one camera.

        Raises:
          UnknownCamera: none was recorded.
        """
        own = [view for view in self.views if view.camera == camera]
        if not own:
            known = ', '.join(dict.fromkeys(view.camera for view in self.views)) or 'none'
            raise UnknownCamera(
                f'camera {camera!r} has not been recorded in step {self.entry["step_idx"]}; '
                f'recorded cameras: {known}'
            )
        return own

    def view(self, camera: str, resolution: str, *, depth: bool = False) -> View:
        """One view; 'high' falls back to the best there is.

        Raises:
          UnknownCamera: the camera was not recorded.
          BadPixel: depth is needed and there is none.
        """
        own = self.of(camera)
        if resolution == POLICY:
            view = next(view for view in own if view.resolution == POLICY)
        else:
            view = best_views(own)[0]
        if depth and not view.depth:
            raise BadPixel(f'{self.title(view)} has no depth; use another camera')
        return view

    def views_with_depth(self, camera: str, resolution: str) -> list[View]:
        """One view, or with ALL_CAMERAS one of each camera that has depth.

        Raises:
          UnknownCamera, BadPixel: as `view`.
        """
        if camera != ALL_CAMERAS:
            return [self.view(camera, resolution, depth=True)]
        names = dict.fromkeys(view.camera for view in self.views if view.depth)
        if not names:
            raise BadPixel(f'no camera of step {self.entry["step_idx"]} has depth')
        return [self.view(name, resolution, depth=True) for name in names]
