"""What the cameras see: rays against coloured boxes, with depth along the optical axis."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from robots.fake import world as w
from rpent_ros.geometry import rotation_about_z

Vector = NDArray[np.float64]

FIELD_OF_VIEW = math.radians(50.0)
_BACKGROUND = np.array([205, 215, 225], np.float32)
# Light from above and the front; a face turned away from it is darker.
_LIGHT = np.array([0.35, 0.25, 0.9])
_LIGHT = _LIGHT / np.linalg.norm(_LIGHT)
_AMBIENT = 0.45

_TABLE = (176, 150, 118)
_BIN = (120, 84, 50)
_FINGER = (70, 72, 78)
_PALM = (40, 42, 46)
_CUBES = ((200, 40, 40), (40, 70, 200), (40, 160, 70))


@dataclasses.dataclass(frozen=True)
class Box:
    """A coloured box: centre (3,) [m], rotation (3, 3), half lengths (3,) [m], RGB 0 to 255.

    `name` is the object it belongs to; '' for the table and the robot.
    """

    centre: Vector
    rotation: Vector
    half: Vector
    colour: tuple[int, int, int]
    name: str = ''


def bin_boxes() -> tuple[Box, ...]:
    """Floor and four walls of the bin."""
    (x, y), r, t, h = w.BIN_CENTRE, w.BIN_HALF, w.BIN_WALL, w.BIN_HEIGHT
    parts = [((x, y, t / 2), (r, r, t / 2))]
    for sign in (-1, 1):
        parts.append(((x + sign * (r + t / 2), y, h / 2), (t / 2, r + t, h / 2)))
        parts.append(((x, y + sign * (r + t / 2), h / 2), (r + t, t / 2, h / 2)))
    return tuple(
        Box(np.array(c), np.eye(3), np.array(half), _BIN, 'bin') for c, half in parts
    )


def boxes(world: w.World) -> tuple[Box, ...]:
    """Everything that can be seen, in the base frame."""
    table = Box(np.array([0.45, 0.0, -0.02]), np.eye(3), np.array([0.45, 0.5, 0.02]), _TABLE)
    half = np.full(3, w.CUBE_SIZE / 2)
    cubes = [
        Box(centre, rotation_about_z(float(yaw)), half, colour, name)
        for centre, yaw, colour, name in zip(
            world.cubes, world.yaws, _CUBES, w.CUBE_NAMES, strict=True
        )
    ]
    return (table, *bin_boxes(), *cubes, *_gripper(world))


def _gripper(world: w.World) -> list[Box]:
    finger = np.array([0.01, 0.004, 0.03])
    # (offset from the tool centre point in the tool's frame, half lengths, colour)
    parts = [
        (np.array([0.0, side * (world.width / 2 + finger[1]), -0.02]), finger, _FINGER)
        for side in (-1, 1)
    ]
    parts.append((np.array([0.0, 0.0, -0.07]), np.array([0.015, 0.06, 0.02]), _PALM))
    return [
        Box(world.position + world.rotation @ offset, world.rotation, half, colour)
        for offset, half, colour in parts
    ]


def look_at(eye: Vector, target: Vector) -> Vector:
    """Rotation (3, 3) of an optical frame at `eye` that looks at `target`, upright."""
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return np.column_stack([right, np.cross(forward, right), forward])


def intrinsics(width: int, height: int) -> Vector:
    """Pinhole matrix (3, 3) [px] of an image whose height spans FIELD_OF_VIEW."""
    focal = height / 2 / math.tan(FIELD_OF_VIEW / 2)
    return np.array([
        [focal, 0.0, (width - 1) / 2],
        [0.0, focal, (height - 1) / 2],
        [0.0, 0.0, 1.0],
    ])


def render(
    scene: tuple[Box, ...], eye: Vector, rotation: Vector, width: int, height: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Colour (H, W, 3) and depth along the optical axis (H, W) [m]; inf where nothing is hit."""
    colour, depth, _ = trace(scene, eye, rotation, width, height)
    return colour, depth


def trace(
    scene: tuple[Box, ...], eye: Vector, rotation: Vector, width: int, height: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.intp]]:
    """Colour and depth as `render`, and the index (H, W) of the box that is hit; -1: none."""
    k = intrinsics(width, height)
    across = (np.arange(width) - k[0, 2]) / k[0, 0]
    down = (np.arange(height) - k[1, 2]) / k[1, 1]
    rays = np.ones((height, width, 3), np.float32)
    rays[..., 0], rays[..., 1] = across[None, :], down[:, None]
    # The ray's z in the optical frame is 1, so the distance along it is the depth itself.
    depth = np.full((height, width), np.inf, np.float32)
    colour = np.broadcast_to(_BACKGROUND, (height, width, 3)).copy()
    index = np.full((height, width), -1)
    for number, box in enumerate(scene):
        _draw(box, number, eye, rotation, rays, depth, colour, index)
    return colour.astype(np.uint8), depth, index


def _draw(
    box: Box,
    number: int,
    eye: Vector,
    rotation: Vector,
    rays: NDArray[np.float32],
    depth: NDArray[np.float32],
    colour: NDArray[np.float32],
    index: NDArray[np.intp],
) -> None:
    """Intersect all rays with one box (slab method) and keep what is nearer than before."""
    rows, columns = _window(box, eye, rotation, rays)
    rays, depth, colour = rays[rows, columns], depth[rows, columns], colour[rows, columns]
    origin = (box.rotation.T @ (eye - box.centre)).astype(np.float32)
    directions = rays @ (rotation.T @ box.rotation).astype(np.float32)
    with np.errstate(divide='ignore', invalid='ignore'):
        middle = -origin / directions
        reach = np.abs(box.half.astype(np.float32) / directions)
    entries = middle - reach
    entry, leave = entries.max(axis=-1), (middle + reach).min(axis=-1)
    hit = (entry <= leave) & (entry > 1e-3) & (entry < depth)
    axis = entries.argmax(axis=-1)[hit]
    facing = -np.sign(np.take_along_axis(directions[hit], axis[:, None], axis=-1)[:, 0])
    normals = box.rotation.T[axis] * facing[:, None]
    shade = _AMBIENT + (1 - _AMBIENT) * np.clip(normals @ _LIGHT, 0.0, 1.0)
    depth[hit] = entry[hit]
    colour[hit] = np.array(box.colour, np.float32) * shade[:, None]
    index[rows, columns][hit] = number


def _window(
    box: Box, eye: Vector, rotation: Vector, rays: NDArray[np.float32]
) -> tuple[slice, slice]:
    """The part of the image that the box can cover; all of it if it reaches behind the camera."""
    corners = box.centre + (CORNERS * box.half) @ box.rotation.T
    seen = (corners - eye) @ rotation
    height, width, _ = rays.shape
    if (seen[:, 2] < 1e-2).any():
        return slice(0, height), slice(0, width)
    columns = np.searchsorted(rays[0, :, 0], seen[:, 0] / seen[:, 2])
    lines = np.searchsorted(rays[:, 0, 1], seen[:, 1] / seen[:, 2])
    return (
        slice(max(lines.min() - 1, 0), lines.max() + 1),
        slice(max(columns.min() - 1, 0), columns.max() + 1),
    )


CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
