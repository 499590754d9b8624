"""Two logs of simulator states, compared bit for bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import InvalidRequest
from rpent_ros.state_log import RecordedStates

Vector = NDArray[np.float64]

# Facts of an episode that say nothing about what its steps compute.
_INCIDENTAL = frozenset({'episode'})


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first control step at which two episodes are not the same.

    Attributes:
      control_step: 0 is the state after the reset.
      action: another action was sent, so the cause lies before the simulator: in the tools, the
        policy, the limits.  False: the same action led to another state.
      largest: largest difference of a value of the simulator's state at that step.
      at_end: the same at the last control step that both have.
    """

    control_step: int
    _: dataclasses.KW_ONLY
    action: bool
    largest: float
    at_end: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What came out of a replay.

    Attributes:
      original, replayed: control steps of the two.
      difference: where they part; None: all control steps that both have are the same.
      facts: facts of the episode that are not the same, as (original, replay).
    """

    original: int
    _: dataclasses.KW_ONLY
    replayed: int
    difference: Difference | None
    facts: Mapping[str, tuple[Any, Any]]

    @property
    def verdict(self) -> str:
        """identical, went_on (after the original's end), stopped_short or differs."""
        if self.difference is not None:
            return 'differs'
        if self.replayed == self.original:
            return 'identical'
        return 'went_on' if self.replayed > self.original else 'stopped_short'

    @property
    def repeats(self) -> bool:
        """True if all that the original logged came out the same."""
        return self.verdict in ('identical', 'went_on')


def compare(original: RecordedStates, replay: RecordedStates) -> Comparison:
    """Compare all control steps that both have, actions and states, bit for bit.

    Raises:
      InvalidRequest: the two are not the same kind of robot or scene.
    """
    if original.states.shape[1] != replay.states.shape[1]:
        raise InvalidRequest(
            f'replay: expected states of {original.states.shape[1]} values as in the original, '
            f'got {replay.states.shape[1]}; is this the same robot and task?'
        )
    shared = min(len(original.states), len(replay.states))
    other_action = _differ(original.actions[:shared], replay.actions[:shared])
    other_state = _differ(original.states[:shared], replay.states[:shared])
    parted = np.flatnonzero(other_action | other_state)
    difference = None
    if parted.size:
        step = int(parted[0])
        difference = Difference(
            step,
            action=bool(other_action[step]),
            largest=_largest(original.states[step], replay.states[step]),
            at_end=_largest(original.states[shared - 1], replay.states[shared - 1]),
        )
    return Comparison(
        len(original.states) - 1,
        replayed=len(replay.states) - 1,
        difference=difference,
        facts=_other_facts(original.header, replay.header),
    )


def _differ(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(T,) True where a row is not the same to the last bit; NaN equals NaN."""
    bits = [np.ascontiguousarray(rows).view(np.uint64) for rows in (a, b)]
    return np.asarray((bits[0] != bits[1]).any(axis=1))


def _largest(a: Vector, b: Vector) -> float:
    return float(np.max(np.abs(a - b), initial=0.0))


def _other_facts(
    original: Mapping[str, Any], replay: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    names = sorted((original.keys() | replay.keys()) - _INCIDENTAL)
    pairs = {name: (original.get(name), replay.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
