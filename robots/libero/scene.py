"""The simulator's view of a LIBERO scene as contracts.  PRIVILEGED."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from rpent_ros.contracts.labels import Label
from rpent_ros.contracts.scene import Scene, SceneBody, SceneGoal, SceneRegion
from rpent_ros.geometry import Pose, quaternion_from_matrix

BASE_FRAME = 'world'
# Round shapes become prisms with this many sides.
_SIDES = 16
_ROBOT_PREFIXES = ('robot0', 'gripper0', 'mount0', 'fixed_mount')
_FINGERS = {'leftfinger': 'finger_left', 'rightfinger': 'finger_right'}
_LEFT_PAD, _RIGHT_PAD = 'finger_joint1_tip', 'finger_joint2_tip'

Hull = NDArray[np.float32]


class SceneReader:
    """Reads scenes from one environment after a reset; shapes are computed once.

    Args:
      env: LIBERO's environment.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._model = env.sim.model._model
        self._data = env.sim.data._data
        self._owner = self._owners()
        self._names = [self._model.body(b).name for b in range(self._model.nbody)]
        hulls = self._hulls()
        # Bodies that can be touched: objects, and every part of a fixture that has a shape.
        self._bodies = [
            (
                body,
                SceneBody(
                    self._label(body),
                    parent=owner,
                    movable=movable,
                    pose=self._body_pose(body),
                    hulls=tuple(hulls[body]),
                ),
            )
            for body, (owner, movable) in sorted(self._owner.items())
            if hulls.get(body)
        ]
        self._sites = [
            (self._model.site(name).id, name, region)
            for name, region in env.object_sites_dict.items()
        ]
        # Names of what can touch, and which of them each geom belongs to.
        labels = self._contact_labels()
        self._touching, of_body = np.unique(
            [labels[body] for body in range(self._model.nbody)], return_inverse=True
        )
        self._touches_as = of_body[self._model.geom_bodyid]

    def read(self) -> Scene:
        """The scene as it is now; stamp, episode and step are the driver's business."""
        return Scene(
            stamp=0,
            frame_id=BASE_FRAME,
            episode=0,
            step=0,
            bodies=tuple(part.at(self._body_pose(body)) for body, part in self._bodies),
            regions=self._regions(),
            goals=self._goals(),
            contacts=self._contacts(),
        )

    def labels(self) -> tuple[tuple[Label, ...], NDArray[np.uint16]]:
        """Everything that has a name, and for each geom the number of its label; 0: none."""
        number_of: dict[str, int] = {}
        labels: list[Label] = []
        of_body = np.zeros(self._model.nbody, np.uint16)
        for body, (owner, movable) in sorted(self._owner.items()):
            # A movable thing is one thing, however many bodies it is made of.
            name = owner if movable else self._label(body)
            if name not in number_of:
                labels.append(Label(name, parent=owner, movable=movable))
                number_of[name] = len(labels)
            of_body[body] = number_of[name]
        return tuple(labels), of_body[self._model.geom_bodyid]

    def _owners(self) -> dict[int, tuple[str, bool]]:
        """Object or fixture, and whether it is a free object, of each body that belongs to one."""
        roots = {
            self._env.obj_body_id[name]: (name, name in self._env.objects_dict)
            for name in (*self._env.objects_dict, *self._env.fixtures_dict)
        }
        owner: dict[int, tuple[str, bool]] = {}
        # Parents come before children in MuJoCo's numbering.
        for body in range(self._model.nbody):
            parent = int(self._model.body_parentid[body])
            if body in roots:
                owner[body] = roots[body]
            elif parent in owner:
                owner[body] = owner[parent]
        return owner

    def _label(self, body: int) -> str:
        """An object is known by its own name, a part of a fixture by its body's name."""
        owner, _ = self._owner[body]
        is_root = self._env.obj_body_id[owner] == body
        return owner if is_root else self._names[body]

    def _contact_labels(self) -> dict[int, str]:
        labels = {}
        for body, name in enumerate(self._names):
            if body in self._owner:
                labels[body] = self._owner[body][0]
            elif name.startswith(_ROBOT_PREFIXES):
                labels[body] = _finger_of(name) or 'robot'
            else:
                labels[body] = 'world'
        return labels

    def _hulls(self) -> dict[int, list[Hull]]:
        model = self._model
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        hulls: dict[int, list[Hull]] = {}
        for geom in np.flatnonzero(collides):
            body = int(model.geom_bodyid[geom])
            if body in self._owner:
                hulls.setdefault(body, []).append(_hull(model, int(geom)))
        return hulls

    def _body_pose(self, body: int) -> Pose:
        w, x, y, z = self._data.xquat[body]
        return Pose(self._data.xpos[body].copy(), np.array([x, y, z, w]))

    def _regions(self) -> tuple[SceneRegion, ...]:
        return tuple(
            SceneRegion(
                name,
                parent=region.parent_name or '',
                pose=Pose(
                    self._data.site_xpos[site].copy(),
                    quaternion_from_matrix(self._data.site_xmat[site].reshape(3, 3)),
                ),
                half_size=np.abs(np.asarray(region.size, dtype=np.float64)),
            )
            for site, name, region in self._sites
        )

    def _goals(self) -> tuple[SceneGoal, ...]:
        return tuple(
            SceneGoal(
                clause[0].lower(),
                arguments=tuple(clause[1:]),
                satisfied=bool(self._env._eval_predicate(clause)),
            )
            for clause in self._env.parsed_problem['goal_state']
        )

    def _contacts(self) -> frozenset[tuple[str, str]]:
        geoms = self._data.contact.geom[: self._data.ncon]
        # Names are sorted, so that sorted numbers are sorted names.
        pairs = np.unique(np.sort(self._touches_as[geoms], axis=1), axis=0)
        return frozenset(
            (str(self._touching[a]), str(self._touching[b])) for a, b in pairs if a != b
        )


def _finger_of(body: str) -> str | None:
    if 'leftfinger' in body or _LEFT_PAD in body:
        return 'finger_left'
    if 'rightfinger' in body or _RIGHT_PAD in body:
        return 'finger_right'
    return None


def _hull(model: Any, geom: int) -> Hull:
    """Vertices of a geom's convex hull in its body's frame."""
    w, x, y, z = model.geom_quat[geom]
    pose = Pose(model.geom_pos[geom].copy(), np.array([x, y, z, w]))
    return pose.apply(_corners(model, geom)).astype(np.float32)


def _corners(model: Any, geom: int) -> NDArray[np.float64]:
    """Vertices that span a geom in its own frame; round shapes become prisms around them."""
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    size = model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        vertices = np.asarray(model.mesh_vert[start : start + count], dtype=np.float64)
        # MuJoCo collides with the hull of a mesh, too.
        return vertices[ConvexHull(vertices).vertices]
    if kind in (mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE):
        half = size[1] + (size[0] if kind == mujoco.mjtGeom.mjGEOM_CAPSULE else 0.0)
        return _prism(size[0], size[0], half)
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return _prism(size[0], size[0], size[0])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return _prism(*size)
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    return signs * size


def _prism(radius_x: float, radius_y: float, half_height: float) -> NDArray[np.float64]:
    angles = 2 * math.pi * np.arange(_SIDES) / _SIDES
    ring = np.stack([radius_x * np.cos(angles), radius_y * np.sin(angles)], axis=1)
    return np.concatenate(
        [
            np.column_stack([ring, np.full(_SIDES, height)])
            for height in (-half_height, half_height)
        ]
    )
