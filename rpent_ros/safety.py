"""What the driver does to every action, and what it watches afterwards.  Pure; nothing widens it.

An action that makes no sense (wrong shape, not a number) is refused.  One that asks for too much
is cut down, and each cut is reported with the value asked for and the value sent.  What the robot
makes of it is measured: contacts, joint stops and swinging elbows move a tool, too.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.contracts.motion import Clamp
from rpent_ros.contracts.specs import ActionSpec, SafetyLimits
from rpent_ros.errors import BadAction, OutOfWorkspace

Vector = NDArray[np.float64]

_AXES = ('x', 'y', 'z')
# Rounding of a position, not a step beyond a wall [m].
_NOTHING = 1e-12
_ANGLES = ('roll', 'pitch', 'yaw')
# A tool that is told to hold at full speed goes on by up to this [m].
_COAST = 0.02


@dataclasses.dataclass(frozen=True)
class ActionGuard:
    """Applies the limits of one driver to its actions.

    Translations and rotations are recognised by their names, x y z and roll pitch yaw.  A robot
    without them (joint actions) gets the bounds of its action spec only, so it must respect its
    own workspace.

    Attributes:
      spec: meaning of an action.
      limits: what no action may exceed.
    """

    spec: ActionSpec
    limits: SafetyLimits
    _translation: slice | None = dataclasses.field(init=False)
    _rotation: slice | None = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        cartesian = bool(self.spec.frame_id)
        for name, wanted in (('_translation', _AXES), ('_rotation', _ANGLES)):
            found = _find(self.spec.names, wanted) if cartesian else None
            object.__setattr__(self, name, found)

    @property
    def needs_position(self) -> bool:
        """True if `apply` must know where the tool is."""
        return self._translation is not None

    def check(self, action: Any) -> Vector:
        """The action as (D,) float64.

        Raises:
          BadAction: wrong shape, or a value that is not a finite number.
        """
        try:
            values = np.asarray(action, np.float64)
        except (TypeError, ValueError):
            raise BadAction(f'action: expected {self.spec.dim} numbers, got {action!r}') from None
        if values.shape != (self.spec.dim,):
            raise BadAction(
                f'action: expected shape ({self.spec.dim},), got {values.shape}; '
                'is the policy made for another robot?'
            )
        if not np.isfinite(values).all():
            bad = [n for n, v in zip(self.spec.names, values, strict=True) if not np.isfinite(v)]
            raise BadAction(
                f'action: expected finite numbers, got {values.tolist()}; '
                f'not finite: {", ".join(bad)}'
            )
        return values

    def apply(
        self, action: Any, position: Vector | None, *, step: int = 0
    ) -> tuple[Vector, tuple[Clamp, ...]]:
        """The action that may be sent, and what was cut off.

        Args:
          action: (D,) values as ActionSpec describes them.
          position: (3,) tool centre point in the base frame [m]; may be None for joint actions.
          step: control step within the motion, for the report.

        Raises:
          BadAction: see `check`.
        """
        values = self.check(action).copy()
        clamps: list[Clamp] = []
        self._clamp_bounds(values, step, clamps)
        if self._translation is not None:
            self._clamp_norm(values, self._translation, 'max_translation', step, clamps)
        if self._rotation is not None:
            self._clamp_norm(values, self._rotation, 'max_rotation', step, clamps)
        if self._translation is not None and position is not None:
            self._keep_inside(values, self._translation, position, step, clamps)
        return values, tuple(clamps)

    def _clamp_bounds(self, values: Vector, step: int, clamps: list[Clamp]) -> None:
        for bound, name, beyond in (
            (self.spec.low, 'low', values < self.spec.low),
            (self.spec.high, 'high', values > self.spec.high),
        ):
            for i in np.flatnonzero(beyond):
                limit = f'{name}.{self.spec.names[i]}'
                asked, sent = float(values[i]), float(bound[i])
                clamps.append(Clamp(step, limit=limit, asked=asked, sent=sent))
                values[i] = bound[i]

    def _clamp_norm(
        self, values: Vector, part: slice, name: str, step: int, clamps: list[Clamp]
    ) -> None:
        limit = float(getattr(self.limits, name))
        norm = float(np.linalg.norm(values[part] * self.spec.scale[part]))
        # A hair of tolerance, so that an action scaled down once is not reported again.
        if norm > limit * (1 + 1e-9):
            values[part] *= limit / norm
            clamps.append(Clamp(step, limit=name, asked=norm, sent=limit))

    def _keep_inside(
        self, values: Vector, part: slice, position: Vector, step: int, clamps: list[Clamp]
    ) -> None:
        scale = self.spec.scale[part]
        delta = values[part] * scale
        # Room left in either direction; none beyond a wall, but always the way back.
        low = np.minimum(self.limits.workspace_min - position, 0.0)
        high = np.maximum(self.limits.workspace_max - position, 0.0)
        allowed = np.clip(delta, low, high)
        for i in np.flatnonzero(np.abs(allowed - delta) > _NOTHING):
            wall = 'workspace_max' if delta[i] > 0 else 'workspace_min'
            clamps.append(
                Clamp(
                    step,
                    limit=f'{wall}.{_AXES[i]}',
                    asked=float(position[i] + delta[i]),
                    sent=float(position[i] + allowed[i]),
                )
            )
            values[part.start + i] = allowed[i] / scale[i]

    def check_target(self, position: Vector) -> None:
        """Refuse a target of the tool centre point outside the workspace box.

        Raises:
          OutOfWorkspace: names each axis that is outside, with the limit.
        """
        wrong = axes_outside(self.limits, position)
        if wrong:
            raise OutOfWorkspace(
                f'target outside the workspace box: {wrong}, in the base frame; '
                'choose a target inside'
            )


class BoxWatch:
    """Notices when the tool leaves the workspace box, whoever moves it there.

    Up to the margin it may be outside.  One that is further out may come back on any way, but not
    go out further again, so nothing that leads back inside is stopped.

    Args:
      limits: with the box and the margin.
    """

    def __init__(self, limits: SafetyLimits) -> None:
        self._limits = limits
        self._room = limits.workspace_margin

    def allow(self, position: Vector) -> None:
        """Let the tool be where it is [m]."""
        self._room = self._room_at(distance_outside(self._limits, position))

    def escaped(self, position: Vector) -> bool:
        """True if the tool has just gone out further than it may; it may then stay there."""
        distance = distance_outside(self._limits, position)
        gone = distance > self._room
        room = self._room_at(distance)
        self._room = room if gone else min(self._room, room)
        return gone

    def _room_at(self, distance: float) -> float:
        """How far outside a tool may be that is this far outside [m]."""
        margin = self._limits.workspace_margin
        return margin if distance <= margin else distance + _COAST


def distance_outside(limits: SafetyLimits, position: Vector) -> float:
    """How far a position (3,) lies outside the workspace box [m]; 0.0 inside."""
    nearest = np.clip(position, limits.workspace_min, limits.workspace_max)
    return float(np.linalg.norm(position - nearest))


def axes_outside(limits: SafetyLimits, position: Vector) -> str:
    """Each axis on which a position (3,) lies outside the box, with its limits; '' inside."""
    low, high = limits.workspace_min, limits.workspace_max
    return ', '.join(
        f'{axis} = {value:.3f} m (allowed {lo:.3f} to {hi:.3f})'
        for axis, value, lo, hi in zip(_AXES, position, low, high, strict=True)
        if not lo <= value <= hi
    )


def _find(names: tuple[str, ...], wanted: tuple[str, ...]) -> slice | None:
    """Where `wanted` stands in `names` in one piece; None if it does not."""
    for start in range(len(names) - len(wanted) + 1):
        if names[start : start + len(wanted)] == wanted:
            return slice(start, start + len(wanted))
    return None
