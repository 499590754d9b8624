"""The oracle on the fake robot, in process."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from rpent_ros.driver import DriverCore
from rpent_ros.errors import BadInstruction, BadObservation, ContractMismatch, InvalidRequest
from rpent_ros.policies.oracle.policy import OraclePolicy
from rpent_ros.policies.registry import make_policy


@pytest.fixture
def driver() -> DriverCore:
    driver = DriverCore(FakeRobot(image_size=32), privileged=True)
    driver.reset(suite='fake_pick', task=0, seed=3)
    return driver


@pytest.fixture
def oracle(driver: DriverCore) -> OraclePolicy:
    policy = OraclePolicy()
    policy.connect(driver.spec, lambda episode, step: driver.scene())
    return policy


def drive(driver: DriverCore, policy: OraclePolicy, instruction: str, limit: int = 100):
    """Run the policy until it is done or the episode is over; returns the last inference."""
    observation = driver.observe()
    for _ in range(limit):
        inference = policy.infer(observation, instruction, 's')
        if inference.done:
            return inference
        observation = driver.execute_chunk(inference.chunk).observation
        if driver.state.terminated:
            return inference
    raise AssertionError(f'not done after {limit} chunks: {inference.status}')


@pytest.mark.parametrize('task', [0, 1, 2])
@pytest.mark.parametrize('seed', [0, 1, 2])
def test_carries_out_whole_tasks(driver: DriverCore, oracle, task: int, seed: int) -> None:
    observation, _ = driver.reset(suite='fake_pick', task=task, seed=seed)
    drive(driver, oracle, observation.instruction)
    assert driver.state.success
    assert driver.state.step < 200


def test_picks_lifts_and_then_holds(driver: DriverCore, oracle) -> None:
    cube = driver.scene().goals[0].arguments[0]
    before = driver.scene().body(cube).pose.position[2]
    colour = driver.observe().instruction.split(' cube')[0].split()[-1]
    inference = drive(driver, oracle, f'pick up the {colour} cube')
    assert inference.done
    assert driver.scene().body(cube).pose.position[2] > before + 0.05
    assert inference.chunk.data[:, :6] == pytest.approx(0.0)
    assert (inference.chunk.data[:, 6] == 1.0).all()


def test_goes_on_after_somebody_else_moved_the_robot(driver: DriverCore, oracle) -> None:
    instruction = driver.observe().instruction
    for _ in range(4):
        driver.execute_chunk(oracle.infer(driver.observe(), instruction, 's').chunk)
    for _ in range(10):
        driver.step(np.array([-1.0, 0.5, 1.0, 0.0, 0.0, 0.0, -1.0]))
    drive(driver, oracle, instruction)
    assert driver.state.success


def test_sessions_do_not_know_of_each_other(driver: DriverCore, oracle) -> None:
    instruction = driver.observe().instruction
    first = oracle.infer(driver.observe(), instruction, 'one')
    second = oracle.infer(driver.observe(), instruction, 'two')
    assert (first.chunk.data == second.chunk.data).all()
    oracle.reset('one')
    oracle.reset('never used')


def test_says_that_it_is_privileged(driver: DriverCore, oracle) -> None:
    assert oracle.spec.privileged
    assert oracle.infer(driver.observe(), driver.observe().instruction, '').privileged


def test_refuses_what_it_cannot_do(driver: DriverCore, oracle) -> None:
    with pytest.raises(BadInstruction, match="'the teapot' could be nothing here"):
        oracle.infer(driver.observe(), 'pick up the teapot', '')
    with pytest.raises(BadObservation, match=r'^oracle: not connected to a driver yet$'):
        OraclePolicy().infer(driver.observe(), 'pick up the red cube', '')
    joints = dataclasses.replace(driver.spec.action, names=tuple('abcdefg'))
    robot = dataclasses.replace(driver.spec, action=joints)
    with pytest.raises(ContractMismatch, match=r'got a b c d e f g$'):
        OraclePolicy().connect(robot, lambda episode, step: driver.scene())
    with pytest.raises(InvalidRequest, match=r"^unknown policy 'pi9'; known policies: oracle$"):
        make_policy('pi9', {})
