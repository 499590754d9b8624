"""Whatever is asked for, what is sent respects every limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpent_ros.contracts.motion import Clamp
from rpent_ros.contracts.specs import ActionSpec, SafetyLimits
from rpent_ros.errors import BadAction, OutOfWorkspace
from rpent_ros.safety import ActionGuard, BoxWatch, axes_outside, distance_outside

SPEC = ActionSpec(
    ('x', 'y', 'z', 'roll', 'pitch', 'yaw', 'gripper'),
    units=('m', 'm', 'm', 'rad', 'rad', 'rad', ''),
    low=np.full(7, -1.0),
    high=np.full(7, 1.0),
    scale=np.array([0.05, 0.05, 0.05, 0.5, 0.5, 0.5, 1.0]),
    frame_id='base',
    rate=20.0,
    gripper_index=6,
)
LIMITS = SafetyLimits(
    workspace_min=np.array([0.2, -0.3, 0.0]),
    workspace_max=np.array([0.6, 0.3, 0.5]),
    max_translation=0.06,
    max_rotation=0.6,
)
GUARD = ActionGuard(SPEC, LIMITS)
INSIDE = np.array([0.4, 0.0, 0.25])

numbers = st.floats(-5, 5)
actions = st.lists(numbers, min_size=7, max_size=7).map(np.array)
positions = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array)


@given(actions, positions)
@settings(max_examples=300)
def test_sent_action_respects_every_limit(action, position):
    sent, _ = GUARD.apply(action, position)
    delta = sent[:3] * SPEC.scale[:3]
    assert (np.abs(sent) <= 1 + 1e-9).all()
    assert np.linalg.norm(delta) <= LIMITS.max_translation + 1e-9
    assert np.linalg.norm(sent[3:6] * 0.5) <= LIMITS.max_rotation + 1e-9
    goal = position + delta
    # Inside: stays inside.  Outside: does not get further away on any axis.
    assert (goal <= np.maximum(position, LIMITS.workspace_max) + 1e-9).all()
    assert (goal >= np.minimum(position, LIMITS.workspace_min) - 1e-9).all()


@given(actions, positions)
@settings(max_examples=200)
def test_a_clamp_is_reported_exactly_when_something_changed(action, position):
    sent, clamps = GUARD.apply(action, position, step=4)
    assert bool(clamps) == bool((sent != action).any())
    assert all(clamp.step == 4 for clamp in clamps)
    again, more = GUARD.apply(sent, position)
    np.testing.assert_allclose(again, sent, atol=1e-12)
    assert more == ()


@given(actions)
def test_scaling_down_keeps_the_direction(action):
    sent, _ = GUARD.apply(np.clip(action, -1, 1), INSIDE)
    for part in (slice(0, 3), slice(3, 6)):
        wanted = np.clip(action, -1, 1)[part]
        np.testing.assert_allclose(np.cross(wanted, sent[part]), 0.0, atol=1e-9)
        assert wanted @ sent[part] >= 0


@given(st.lists(st.floats(0, 0.5), min_size=3, max_size=3).map(np.array))
def test_the_way_back_in_is_open(depth):
    outside = LIMITS.workspace_max + depth
    sent, clamps = GUARD.apply(np.array([-0.5, -0.5, -0.5, 0, 0, 0, 0]), outside)
    np.testing.assert_array_equal(sent[:3], [-0.5, -0.5, -0.5])
    assert clamps == ()


@pytest.mark.parametrize(
    ('action', 'position', 'sent', 'clamp'),
    [
        ([2.0, 0, 0, 0, 0, 0, 0], INSIDE, [1, 0, 0, 0, 0, 0, 0],
         Clamp(0, limit='high.x', asked=2.0, sent=1.0)),
        ([0, 0, 0, 0, 0, 0, -3.0], INSIDE, [0, 0, 0, 0, 0, 0, -1],
         Clamp(0, limit='low.gripper', asked=-3.0, sent=-1.0)),
        ([0.9, 0.9, 0, 0, 0, 0, 0], INSIDE, [2**0.5 * 0.6, 2**0.5 * 0.6, 0, 0, 0, 0, 0],
         Clamp(0, limit='max_translation', asked=0.9 * 2**0.5 * 0.05, sent=0.06)),
        ([0, 0, 0, 0.9, 0.9, 0, 0], INSIDE, [0, 0, 0, 2**0.5 * 0.6, 2**0.5 * 0.6, 0, 0],
         Clamp(0, limit='max_rotation', asked=0.9 * 2**0.5 * 0.5, sent=0.6)),
        ([0, 0, 1, 0, 0, 0, 1], [0.4, 0, 0.48], [0, 0, 0.4, 0, 0, 0, 1],
         Clamp(0, limit='workspace_max.z', asked=0.53, sent=0.5)),
        ([0, -1, 0, 0, 0, 0, 1], [0.4, -0.4, 0.3], [0, 0, 0, 0, 0, 0, 1],
         Clamp(0, limit='workspace_min.y', asked=-0.45, sent=-0.4)),
    ],
)  # fmt: skip
def test_each_limit(action, position, sent, clamp):
    result, clamps = GUARD.apply(np.array(action), np.array(position))
    np.testing.assert_allclose(result, sent, atol=1e-12)
    assert len(clamps) == 1
    assert clamps[0].limit == clamp.limit
    assert clamps[0].asked == pytest.approx(clamp.asked)
    assert clamps[0].sent == pytest.approx(clamp.sent)


@pytest.mark.parametrize(
    ('action', 'message'),
    [
        (np.zeros(8), 'action: expected shape (7,), got (8,); is the policy made for another '
                      'robot?'),
        ([0, np.nan, 0, 0, 0, np.inf, 0],
         'action: expected finite numbers, got [0.0, nan, 0.0, 0.0, 0.0, inf, 0.0]; '
         'not finite: y, yaw'),
        ('north', "action: expected 7 numbers, got 'north'"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(action, message):
    with pytest.raises(BadAction) as caught:
        GUARD.apply(action, INSIDE)
    assert str(caught.value) == message


def test_a_target_outside_the_box_is_refused_with_every_axis():
    GUARD.check_target(np.array([0.2, 0.3, 0.5]))
    with pytest.raises(OutOfWorkspace) as caught:
        GUARD.check_target(np.array([0.7, 0.0, -0.04]))
    assert str(caught.value) == (
        'target outside the workspace box: x = 0.700 m (allowed 0.200 to 0.600), '
        'z = -0.040 m (allowed 0.000 to 0.500), in the base frame; choose a target inside'
    )


def test_joint_actions_get_bounds_only():
    spec = ActionSpec(
        ('joint_1', 'joint_2'), units=('rad', 'rad'), low=np.array([-1, -1]),
        high=np.array([1, 1]), scale=np.ones(2), frame_id='', rate=20.0,
    )  # fmt: skip
    guard = ActionGuard(spec, LIMITS)
    assert not guard.needs_position
    sent, clamps = guard.apply([3.0, 0.5], None)
    np.testing.assert_array_equal(sent, [1.0, 0.5])
    assert clamps == (Clamp(0, limit='high.joint_1', asked=3.0, sent=1.0),)


MARGIN = LIMITS.workspace_margin
# How far a tool that has left the box may go on, see rpent_ros.safety.
COAST = 0.02


def watch(*positions):
    """Which of the positions that a tool passes are an escape; the first one is its start."""
    box = BoxWatch(LIMITS)
    box.allow(np.asarray(positions[0]))
    return [box.escaped(np.asarray(position)) for position in positions[1:]]


def beside(distance):
    """A place that far outside the wall at the largest x."""
    return np.array([LIMITS.workspace_max[0] + distance, 0.1, 0.3])


@given(positions)
def test_distance_outside_is_that_to_the_nearest_place_inside(position):
    distance = distance_outside(LIMITS, position)
    inside = np.clip(position, LIMITS.workspace_min, LIMITS.workspace_max)
    assert distance == pytest.approx(float(np.linalg.norm(position - inside)))
    assert bool((position != inside).any()) == bool(axes_outside(LIMITS, position))
    assert distance_outside(LIMITS, inside) == 0.0
    halfway = distance_outside(LIMITS, (position + inside) / 2)
    assert halfway == pytest.approx(distance / 2, abs=1e-12)


@given(st.lists(positions, min_size=2, max_size=30))
def test_an_escape_is_a_step_beyond_margin_and_whatever_was_allowed(path):
    escapes = watch(*path)
    distances = [distance_outside(LIMITS, position) for position in path]
    for n, escaped in enumerate(escapes, start=1):
        if distances[n] <= MARGIN:
            assert not escaped
        elif escaped:
            assert distances[n] > distances[n - 1]
        else:
            # It has not gone out further than it was when it came back or was let go.
            assert distances[n] <= distances[n - 1] + COAST or distances[n] <= min(
                distances[: n + 1]
            )
            assert max(distances[: n + 1]) > MARGIN


@given(positions, st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_whatever_leads_back_inside_is_allowed(start, shares):
    inside = np.clip(start, LIMITS.workspace_min, LIMITS.workspace_max)
    way = [start + share * (inside - start) for share in sorted(shares)]
    assert watch(start, *way) == [False] * len(way)


@given(st.floats(0.0, 0.3), st.lists(st.floats(-0.004, 0.004), max_size=200))
def test_no_creeping_out(start, steps):
    """However small its steps, a tool that was never let go does not get far."""
    distances = np.maximum(start + np.concatenate([[0.0], np.cumsum(steps)]), 0.0)
    escapes = watch(*(beside(distance) for distance in distances))
    least = np.minimum.accumulate(distances)
    for n, escaped in enumerate(escapes, start=1):
        if escaped:
            break
        assert distances[n] <= max(MARGIN, least[n] + COAST) + 1e-9


def test_an_escape_is_told_once_and_again_when_it_goes_on():
    out = (0.0, 0.02, 0.029, 0.032, 0.045, 0.051, 0.054, 0.06, 0.02, 0.029, 0.031)
    assert watch(*(beside(distance) for distance in out)) == [
        False, False, True, False, False, True, False, False, False, True,
    ]  # fmt: skip
    far = (0.0, 0.04, 0.07, 0.085)
    assert watch(*(beside(distance) for distance in far)) == [True, True, False]


def test_each_axis_outside_is_named_with_its_limits():
    assert axes_outside(LIMITS, np.array([0.65, 0.0, -0.2])) == (
        'x = 0.650 m (allowed 0.200 to 0.600), z = -0.200 m (allowed 0.000 to 0.500)'
    )
