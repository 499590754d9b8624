"""What is really there in a LIBERO scene: for measuring tools, never for them.  PRIVILEGED."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from robots.libero.cameras import camera_index
from robots.libero.env_server import LiberoRobot
from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.tools.shape import footprint

# Visible shapes; collision shapes are group 0.
_VISUAL = 1
_GROUPS = np.array([0, 1, 0, 0, 0, 0], np.uint8)


class Truth:
    """The simulator's own knowledge of the present scene; make a new one after each reset."""

    def __init__(self, robot: LiberoRobot) -> None:
        simulation = robot._simulation
        self._robot = robot
        self._model, self._data = simulation.model, simulation.data
        self._env = simulation.env
        # Which object each visible geom belongs to; -1: none.
        self.names = tuple(self._env.objects_dict)
        self._owner = np.full(self._model.ngeom, -1)
        roots = {int(self._env.obj_body_id[name]): n for n, name in enumerate(self.names)}
        owner_of_body: dict[int, int] = {}
        for body in range(self._model.nbody):
            parent = int(self._model.body_parentid[body])
            owner_of_body[body] = roots.get(body, owner_of_body.get(parent, -1))
        for geom in range(self._model.ngeom):
            self._owner[geom] = owner_of_body[int(self._model.geom_bodyid[geom])]

    def box(self, name: str) -> tuple[NDArray[np.float64], ...]:
        """Extent of an object's whole visible shape.

        Returns:
          Lowest and highest corner (3,) of the axis-parallel box around it, and the middle (2,) of
          the smallest rectangle around it seen from above [m].
        """
        own = self._owner == self.names.index(name)
        corners = [
            self._vertices(int(geom))
            for geom in np.flatnonzero(own & (self._model.geom_group == _VISUAL))
        ]
        points = np.concatenate(corners)
        return points.min(axis=0), points.max(axis=0), footprint(points[:, :2]).center

    def object_of_pixel(self, camera: str, size: int) -> NDArray[np.intp]:
        """Index into `names` of the object that each pixel shows, (size, size); -1: none."""
        # Makes the renderer, and the camera's scene.
        self._robot.render(camera, width=size, height=size, depth=False)
        renderer = self._robot._renderer
        scene, context = renderer._scene, renderer._context
        flags = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
        for flag in flags:
            scene.flags[flag] = 1
        viewport = mujoco.MjrRect(0, 0, size, size)
        mujoco.mjr_render(viewport, scene, context)
        rgb = np.empty((size, size, 3), np.uint8)
        mujoco.mjr_readPixels(rgb, None, viewport, context)
        for flag in flags:
            scene.flags[flag] = 0
        # A pixel's colour is 1 + the number of the shape in the scene, little end first.
        segment = (rgb[::-1].astype(np.int64) * [1, 256, 65536]).sum(axis=-1)
        owner = np.full(scene.ngeom + 1, -1)
        for shape in scene.geoms[: scene.ngeom]:
            if shape.objtype == mujoco.mjtObj.mjOBJ_GEOM and shape.segid >= 0:
                owner[shape.segid + 1] = self._owner[shape.objid]
        return owner[np.where(segment <= scene.ngeom, segment, 0)]

    def hit(self, frame: CameraFrame, row: int, column: int) -> tuple[NDArray[np.float64], int]:
        """Where the ray through a pixel's centre meets the visible geometry, and whose it is."""
        ray = np.linalg.inv(frame.intrinsics) @ np.array([column, row, 1.0])
        direction = frame.pose.rotation @ (ray / np.linalg.norm(ray))
        geom = np.zeros(1, np.int32)
        distance = mujoco.mj_ray(
            self._model, self._data, frame.pose.position, direction, _GROUPS, 1, -1, geom
        )
        if distance < 0:
            return np.full(3, np.nan), -1
        return frame.pose.position + distance * direction, int(self._owner[geom[0]])

    def height(self, name: str) -> float:
        """Height of an object's body [m]."""
        return float(self._data.xpos[self._env.obj_body_id[name]][2])

    def position(self, camera: str) -> NDArray[np.float64]:
        """Position of a camera (3,) [m]."""
        return self._data.cam_xpos[camera_index(self._model, camera)]

    def _vertices(self, geom: int) -> NDArray[np.float64]:
        """Points (N, 3) in the world frame that span a geom."""
        model = self._model
        kind, size = model.geom_type[geom], model.geom_size[geom]
        if kind == mujoco.mjtGeom.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first = model.mesh_vertadr[mesh]
            own = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        else:
            half = {
                mujoco.mjtGeom.mjGEOM_SPHERE: np.full(3, size[0]),
                mujoco.mjtGeom.mjGEOM_CYLINDER: np.array([size[0], size[0], size[1]]),
            }.get(kind, size)
            own = half * [[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
        turn = self._data.geom_xmat[geom].reshape(3, 3)
        return np.asarray(own, float) @ turn.T + self._data.geom_xpos[geom]
