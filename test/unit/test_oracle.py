"""The oracle on the fake robot, in process."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from rpent_ros.contracts.motion import Gripper, Waypoint
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


def drive(
    driver: DriverCore,
    policy: OraclePolicy,
    instruction: str,
    *,
    limit: int = 200,
    first: int = 0,
    until: str = 'never',
):
    """Run the policy until it is done, says what is waited for, or the episode is over.

    Returns the last inference; `first` rows of each chunk are executed, 0: all.
    """
    observation = driver.observe()
    for _ in range(limit):
        inference = policy.infer(observation, instruction, 's')
        if inference.done or inference.status.startswith(until):
            return inference
        rows = min(first, inference.chunk.horizon)
        observation = driver.execute_chunk(inference.chunk, first=rows).observation
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


@pytest.mark.parametrize('first', [1, 2, 4])
def test_a_driver_may_execute_a_part_of_each_chunk(driver: DriverCore, oracle, first: int) -> None:
    drive(driver, oracle, driver.observe().instruction, first=first)
    assert driver.state.success
    assert driver.state.step < 100


def test_asked_twice_it_answers_the_same(driver: DriverCore, oracle) -> None:
    """A caller whose request timed out, or whose chunk was refused, asks again."""
    instruction = driver.observe().instruction
    for _ in range(20):
        chunk = oracle.infer(driver.observe(), instruction, 's').chunk
        for _ in range(3):
            again = oracle.infer(driver.observe(), instruction, 's').chunk
            assert (again.data == chunk.data).all()
        driver.execute_chunk(chunk)
    assert driver.observe().step > 20


def test_picks_up_again_what_was_dropped(driver: DriverCore, oracle) -> None:
    instruction = driver.observe().instruction
    inference = drive(driver, oracle, instruction, until='carrying')
    assert inference.status == 'carrying cube_1 to bin_region'
    here = driver.observe().ee_pose
    driver.move_to(Waypoint(here, keep_tilt=True, keep_yaw=True, gripper=Gripper.OPEN))
    assert driver.scene().touching('cube_1').isdisjoint({'finger_left', 'finger_right'})
    drive(driver, oracle, instruction)
    assert driver.state.success


def test_lifts_what_is_in_the_hand_already(driver: DriverCore, oracle) -> None:
    scene = driver.scene()
    cube = scene.goals[0].arguments[0]
    before = scene.body(cube).pose.position[2]
    colour = driver.observe().instruction.split(' cube')[0].split()[-1]
    drive(driver, oracle, f'pick up the {colour} cube', until='lifting')
    oracle.reset('s')
    assert drive(driver, oracle, f'pick up the {colour} cube').done
    lifted = driver.scene().body(cube).pose.position[2]
    assert lifted - before == pytest.approx(0.09, abs=0.02)
    # Asked once more, it does not go up for ever.
    oracle.reset('s')
    assert drive(driver, oracle, f'pick up the {colour} cube').done
    assert driver.scene().body(cube).pose.position[2] - lifted < 0.02


def test_leaves_alone_what_lies_where_it_belongs(driver: DriverCore, oracle) -> None:
    instruction = driver.observe().instruction
    drive(driver, oracle, instruction)
    oracle.reset('s')
    inference = oracle.infer(driver.observe(), instruction, 's')
    assert (inference.done, inference.status) == (True, 'done')


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
    with pytest.raises(BadObservation, match=r'^oracle: no driver is connected yet; start'):
        OraclePolicy().infer(driver.observe(), 'pick up the red cube', '')
    joints = dataclasses.replace(driver.spec.action, names=tuple('abcdefg'))
    robot = dataclasses.replace(driver.spec, action=joints)
    with pytest.raises(ContractMismatch, match=r'got a b c d e f g$'):
        OraclePolicy().connect(robot, lambda episode, step: driver.scene())
    with pytest.raises(InvalidRequest, match=r"^unknown policy 'pi9'; known policies: oracle$"):
        make_policy('pi9', {})
