"""The prediction of what a delta action does."""

from __future__ import annotations

import numpy as np
import pytest

from rpent_ros.geometry import rotation_about_z
from rpent_ros.policies.oracle.motion import STIFFNESS, Predictor, after_step
from rpent_ros.policies.oracle.policy import OraclePolicy

SPEC = OraclePolicy().spec.action


def integrate(offset: float, velocity: float, duration: float) -> tuple[float, float]:
    """The same differential equation in ten thousand small steps."""
    x, v, dt = 0.0, velocity, duration / 10_000
    for _ in range(10_000):
        v += dt * (STIFFNESS * (offset - x) - 2 * np.sqrt(STIFFNESS) * v)
        x += dt * v
    return x, v


@pytest.mark.parametrize(('offset', 'velocity'), [(0.05, 0.0), (0.0, 0.26), (-0.03, 0.2)])
def test_closed_form_solves_the_equation(offset: float, velocity: float) -> None:
    moved, speed = after_step(np.array([offset]), np.array([velocity]), 0.05)
    assert moved[0] == pytest.approx(integrate(offset, velocity, 0.05)[0], abs=2e-6)
    assert speed[0] == pytest.approx(integrate(offset, velocity, 0.05)[1], abs=2e-4)


def test_full_speed_and_coasting_match_the_simulator() -> None:
    """Measured on LIBERO: 11 to 13 mm a step at full scale, then 9 to 14 mm of coasting."""
    velocity = np.zeros(1)
    for _ in range(20):
        moved, velocity = after_step(np.array([0.05]), velocity, 0.05)
    assert moved[0] == pytest.approx(0.012, abs=0.0015)
    coasted = 0.0
    for _ in range(12):
        moved, velocity = after_step(np.zeros(1), velocity, 0.05)
        coasted += moved[0]
    assert coasted == pytest.approx(0.0115, abs=0.003)


def test_rows_arrive_without_overshoot() -> None:
    ahead = Predictor(SPEC, np.zeros(3), np.eye(3), np.zeros(6))
    target, orientation = np.array([0.10, -0.04, 0.02]), rotation_about_z(0.4)
    furthest = 0.0
    for _ in range(60):
        row = ahead.row(target, orientation, gripper=-1.0, speed=1.0)
        assert (np.abs(row) <= 1.0).all()
        furthest = max(furthest, ahead.position[0])
    assert ahead.position == pytest.approx(target, abs=1e-3)
    assert ahead.rotation == pytest.approx(orientation, abs=1e-2)
    assert furthest < 0.106
