"""Images of a MuJoCo scene, rendered when somebody asks.

MuJoCo's cameras look along their -z axis with y up; an optical frame looks along +z with y down,
so it is the camera's frame turned half a turn about x.  The raw buffer is bottom row first:
flipped once, it is upright and true to left and right.

Colours are averaged over each pixel, as LIBERO's are.  Depth cannot be averaged: OpenGL returns
that of one sample, which lies beside the pixel's centre, up to half a pixel away: several
millimetres on surfaces that are seen at a flat angle.  It is moved to the centre here.

Labels cannot be averaged either: the mean of two numbers is a third object.  MuJoCo turns
multisampling off while it draws them, so a pixel has the number of what its centre shows.
"""

from __future__ import annotations

import atexit
import weakref
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from robots.libero import opengl
from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.errors import UnknownCamera
from rpent_ros.geometry import Pose, quaternion_from_matrix

# Our names and MuJoCo's.
CAMERAS = {'agentview': 'agentview', 'wrist': 'robot0_eye_in_hand'}

# The offscreen buffer; larger images enlarge it, smaller ones use a part of it.
_MIN_BUFFER = 512
_MAX_GEOMS = 1000
_TO_OPTICAL = np.diag([1.0, -1.0, -1.0])


def optical_frame(camera: str) -> str:
    """Frame name of a camera's images."""
    return f'{camera}_optical'


class Renderer:
    """Renders one model; holds the OpenGL context, so it belongs to one thread.

    Raises:
      RenderFailed: no OpenGL context could be made.
    """

    def __init__(self, model: Any, size: int = _MIN_BUFFER) -> None:
        self._model = model
        self._size = max(size, _MIN_BUFFER)
        model.vis.global_.offwidth = model.vis.global_.offheight = self._size
        self._gl = opengl.make_context(self._size)
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except mujoco.FatalError as error:
            self._gl.free()
            raise opengl.failure(str(error)) from error
        # Left to the exit, EGL is shut down first and complains: exit functions run last to first.
        self._release = weakref.finalize(self, _release, self._gl, self._context)
        self._release.atexit = False
        atexit.register(self._release)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._sample = self._depth_sample()
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._options = mujoco.MjvOption()
        # Group 0 holds the collision shapes, which LIBERO does not show.
        self._options.geomgroup[0] = 0
        # Sites are see-through in an image and would be opaque among labels.
        self._label_options = mujoco.MjvOption()
        self._label_options.geomgroup[0] = 0
        self._label_options.sitegroup[:] = 0

    @property
    def size(self) -> int:
        """Largest width and height that fit [px]."""
        return self._size

    def render(
        self, data: Any, camera: str, *, width: int, height: int, depth: bool
    ) -> CameraFrame:
        """One upright image of the state in `data`.

        Raises:
          UnknownCamera: no camera of that name.
        """
        index = camera_index(self._model, camera)
        viewport = self._draw(data, index, width, height, self._options)
        rgb = np.empty((height, width, 3), np.uint8)
        buffer = np.empty((height, width), np.float32) if depth else None
        mujoco.mjr_readPixels(rgb, buffer, viewport, self._context)
        return CameraFrame(
            camera,
            frame_id=optical_frame(camera),
            rgb=np.ascontiguousarray(rgb[::-1]),
            depth=None if buffer is None else self._metres(buffer[::-1]),
            intrinsics=intrinsics(self._model, index, width, height),
            pose=Pose(
                data.cam_xpos[index],
                quaternion_from_matrix(data.cam_xmat[index].reshape(3, 3) @ _TO_OPTICAL),
            ),
        )

    def geoms(self, data: Any, camera: str, *, width: int, height: int) -> NDArray[np.int32]:
        """Index (H, W) of the geom whose surface each pixel of an image shows; -1: none.

        Raises:
          UnknownCamera: no camera of that name.
        """
        flags = self._scene.flags
        segment, as_colour = mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR
        flags[segment] = flags[as_colour] = 1
        try:
            viewport = self._draw(
                data, camera_index(self._model, camera), width, height, self._label_options
            )
        finally:
            flags[segment] = flags[as_colour] = 0
        rgb = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(rgb, None, viewport, self._context)
        drawn = rgb[::-1].astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
        # Number n + 1 is the scene's n-th drawing, 0 the background.
        number_to_geom = np.full(self._scene.ngeom + 1, -1, np.int32)
        for shape in self._scene.geoms[: self._scene.ngeom]:
            if shape.objtype == mujoco.mjtObj.mjOBJ_GEOM and shape.segid >= 0:
                number_to_geom[shape.segid + 1] = shape.objid
        return number_to_geom[drawn]

    def _draw(
        self, data: Any, index: int, width: int, height: int, options: Any
    ) -> mujoco.MjrRect:
        """Draw the state in `data` into the offscreen buffer; returns the part drawn to."""
        self._gl.make_current()
        self._camera.fixedcamid = index
        mujoco.mjv_updateScene(
            self._model,
            data,
            options,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        viewport = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(viewport, self._scene, self._context)
        return viewport

    def _metres(self, buffer: NDArray[np.float32]) -> NDArray[np.float32]:
        """Depth along the optical axis at the pixel centres, from OpenGL's upright depth buffer.

        The buffer is linear in 1 / depth, which is linear in the image for flat surfaces.
        """
        extent = self._model.stat.extent
        near = self._model.vis.map.znear * extent
        far = self._model.vis.map.zfar * extent
        inverse = (1.0 - buffer * (1.0 - near / far)) / near
        for axis, offset in enumerate(self._sample):
            if offset:
                inverse = inverse - np.float32(offset) * _slope(inverse, axis)
        return (1.0 / inverse).astype(np.float32)

    def _depth_sample(self) -> tuple[float, float]:
        """How far below and right of a pixel's centre its depth is taken [px]."""
        if not self._context.offSamples:
            return 0.0, 0.0
        from OpenGL import GL

        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._context.offFBO)
        # Read-back resolves to sample 0; from the pixel's lower left corner, in pixels.
        right, up = GL.glGetMultisamplefv(GL.GL_SAMPLE_POSITION, 0)
        return 0.5 - float(up), float(right) - 0.5

    def close(self) -> None:
        """Free the context.  Safe to call twice."""
        self._release()
        atexit.unregister(self._release)


def camera_index(model: Any, camera: str) -> int:
    """MuJoCo's index of one of our cameras.

    Raises:
      UnknownCamera: no camera of that name.
    """
    if camera not in CAMERAS:
        raise UnknownCamera(f'unknown camera {camera!r}; known cameras: {", ".join(CAMERAS)}')
    return int(model.camera(CAMERAS[camera]).id)


def intrinsics(model: Any, index: int, width: int, height: int) -> NDArray[np.float64]:
    """Pinhole matrix (3, 3) [px], pixel centres at integers; MuJoCo gives the vertical angle."""
    focal = height / 2 / np.tan(np.deg2rad(model.cam_fovy[index]) / 2)
    return np.array(
        [
            [focal, 0.0, (width - 1) / 2],
            [0.0, focal, (height - 1) / 2],
            [0.0, 0.0, 1.0],
        ]
    )


def _release(gl: Any, context: Any) -> None:
    # Buffers are freed in whatever OpenGL context is current.
    gl.make_current()
    context.free()
    gl.free()


def _slope(values: NDArray[np.floating[Any]], axis: int) -> NDArray[np.floating[Any]]:
    """Change per pixel along an axis: the smaller of both sides', so it never crosses an edge."""
    steps = np.diff(values, axis=axis)
    first, last = np.take(steps, [0], axis), np.take(steps, [-1], axis)
    before = np.concatenate([first, steps], axis)
    after = np.concatenate([steps, last], axis)
    return np.where(np.abs(before) < np.abs(after), before, after)
