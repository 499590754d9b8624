"""Replays compared bit for bit: what counts as the same, and what is said where it is not."""

import dataclasses
import json
import pathlib
from typing import Any

import numpy as np
import pytest

from robots.fake.env_server import FakeRobot
from rpent_ros.contracts.motion import ActionChunk, Gripper, Waypoint
from rpent_ros.driver import DriverCore
from rpent_ros.errors import BadRecipe, Canceled, EpisodeOver, InvalidRequest
from rpent_ros.geometry import Pose
from rpent_ros.local_env import LocalEnv
from rpent_ros.replay import original, report
from rpent_ros.replay.actions import play_actions
from rpent_ros.replay.compare import Comparison, compare
from rpent_ros.state_log import RecordedStates, StateLog, last_episode


def states(rows: int, *, header: dict[str, Any] | None = None, **changes: float) -> RecordedStates:
    """A log of `rows` control steps; `state_3=1e-9` adds that to step 3."""
    log = RecordedStates(
        pathlib.Path('states_0001.bin'),
        header=header or {'episode': 1, 'robot': 'fake', 'physics': 'fast'},
        times=np.arange(rows + 1.0),
        held=np.zeros(rows + 1, bool),
        actions=np.arange(2.0 * rows + 2).reshape(-1, 2),
        states=np.arange(3.0 * rows + 3).reshape(-1, 3),
    )
    log.actions[0] = np.nan
    for name, change in changes.items():
        field, row = name.split('_')
        getattr(log, f'{field}s')[int(row)] += change
    return log


def test_the_same_states_are_identical() -> None:
    header = {'episode': 7, 'robot': 'fake', 'physics': 'fast'}
    found = compare(states(5), states(5, header=header))
    assert (found.verdict, found.repeats, found.facts) == ('identical', True, {})


@pytest.mark.parametrize(
    ('replay', 'verdict', 'repeats'),
    [
        (states(7), 'went_on', True),
        (states(3), 'stopped_short', False),
        (states(5, state_3=1e-15), 'differs', False),
        (states(5, action_2=1e-15), 'differs', False),
        # Beyond what both have nothing can be compared.
        (states(7, state_6=1.0), 'went_on', True),
    ],
)
def test_verdicts(replay: RecordedStates, verdict: str, repeats: bool) -> None:
    found = compare(states(5), replay)
    assert (found.verdict, found.repeats) == (verdict, repeats)


def test_the_first_difference_is_told() -> None:
    found = compare(states(5), states(5, action_4=0.5, state_4=0.25, state_5=-2.0)).difference
    assert found is not None
    assert (found.control_step, found.action, found.largest, found.at_end) == (4, True, 0.25, 2.0)
    found = compare(states(5), states(5, state_0=1.0)).difference
    assert found is not None
    assert (found.control_step, found.action) == (0, False)


def test_zero_and_minus_zero_are_not_the_same_bits() -> None:
    replay = states(2)
    replay.states[0, 0] = -0.0
    assert compare(states(2), replay).verdict == 'differs'


def test_other_robots_are_not_compared() -> None:
    narrow = states(5)
    with pytest.raises(InvalidRequest, match=r'^replay: expected states of 3 values as in '):
        compare(narrow, dataclasses.replace(narrow, states=narrow.states[:, :2]))


RECIPE = [
    {'recipe': 1, 'robot': 'fake', 'policy': 'oracle'},
    {'turn': 2, 'tool': 'pi0_pick', 'arguments': {}, 'ok': True, 'steps': 2},
    {'turn': 4, 'tool': 'move_to', 'arguments': {}, 'ok': False, 'code': 'OUT_OF_WORKSPACE'},
    {'turn': 5, 'tool': 'release', 'arguments': {}},
]


@pytest.fixture
def run(tmp_path: pathlib.Path) -> original.Original:
    """A run of five control steps that was killed during its third call."""
    text = ''.join(json.dumps(line) + '\n' for line in RECIPE)
    (tmp_path / 'recipe_a.jsonl').write_text(text)
    return original.Original(tmp_path, states=states(5), parameters={}, policy='oracle')


def sentence(run: original.Original, replay: RecordedStates, mode: str = report.RECIPE) -> str:
    return report.sentence(run, compare(run.states, replay), mode)


def test_control_steps_belong_to_tool_calls(run: original.Original) -> None:
    named = [(c.tool, c.first, c.last) for c in run.calls()]
    assert named == [('pi0_pick', 1, 2), ('move_to', 3, 2), ('release', 3, 5)]
    assert [getattr(run.call_at(n), 'turn', None) for n in range(7)] == [
        None, 2, 2, 5, 5, 5, None,
    ]  # fmt: skip


def test_sentences(run: original.Original) -> None:
    other = {'episode': 1, 'robot': 'fake', 'physics': 'exact'}
    assert sentence(run, states(5)) == (
        'identical: all 5 control steps and the final state, bit for bit'
    )
    assert sentence(run, states(9)) == (
        'identical, bit for bit, up to control step 5, where the log of the original ends in tool '
        'call 5 (release); the replay went on to control step 9'
    )
    assert sentence(run, states(2)) == (
        'differs: identical, bit for bit, up to control step 2, where the replay ended; the '
        'original went on to control step 5 in tool call 5 (release)'
    )
    assert sentence(run, states(5, action_2=0.1, state_2=0.5)) == (
        'differs from control step 2 on in tool call 2 (pi0_pick): another action was sent '
        '(largest difference 0.5, at the end 0); --actions plays what the robot did instead of '
        'the tool calls'
    )
    assert sentence(run, states(5, header=other, state_3=0.5, state_5=1.0), report.ACTIONS) == (
        'differs from control step 3 on in tool call 5 (release): the same action led to another '
        'state (largest difference 0.5, at the end 1); what is not the same: physics fast -> exact'
    )
    assert sentence(run, states(5, state_0=1.0)) == (
        'differs from the start: the reset led to another state (largest difference 1, at the '
        'end 0)'
    )


def test_the_document_for_programs(run: original.Original) -> None:
    comparison = compare(run.states, states(5, state_2=0.5))
    told = report.document(
        run, comparison, mode='recipe', folder=pathlib.Path('/x'), result={'status': 'achieved'}
    )
    assert told['verdict'] == 'differs'
    assert told['repeats'] is False
    assert told['control_steps'] == {'original': 5, 'replay': 5}
    assert told['first_difference'] == {
        'control_step': 2, 'turn': 2, 'tool': 'pi0_pick', 'other_action': False,
        'largest_state_difference': 0.5, 'largest_state_difference_at_end': 0.0,
    }  # fmt: skip
    assert json.loads(json.dumps(told)) == told


def test_a_run_without_a_recipe(tmp_path: pathlib.Path) -> None:
    bare = original.Original(tmp_path, states=states(5), parameters={}, policy='')
    assert bare.calls() == ()
    with pytest.raises(BadRecipe) as error:
        _ = bare.recipe_path
    assert str(error.value) == (
        f'{tmp_path}: expected a recipe_<tag>.jsonl, found none; the run ended before its planner '
        'began, or was driven by hand'
    )


def test_parameters_are_taken_over_but_not_the_places(tmp_path: pathlib.Path) -> None:
    driver = DriverCore(FakeRobot(image_size=64), state_log=StateLog(tmp_path / 'sim_states'))
    driver.reset(suite='fake_pick', task=0, seed=0)
    driver.close()
    (tmp_path / 'logs').mkdir()
    for node, parameters in (
        ('driver', {'robot': 'fake', 'max_steps': 50}),
        ('vla', {'policy': 'oracle'}),
        ('agent', {'output_dir': '/elsewhere', 'image_size': 128, 'memory_dirs': ['/gone']}),
    ):
        document = {f'/fake/{node}': {'ros__parameters': parameters}}
        (tmp_path / 'logs' / f'{node}.yaml').write_text(json.dumps(document))
    loaded = original.load(tmp_path)
    assert loaded.policy == 'oracle'
    assert loaded.parameters == {
        'driver': {'robot': 'fake', 'max_steps': 50},
        'vla': {'policy': 'oracle'},
        'agent': {'image_size': 128},
    }


def drive(folder: pathlib.Path, *, stop_at: int = 6, **parameters: Any) -> RecordedStates:
    """An episode with chunks, a move, a cancelled move (which holds) and more steps."""
    driver = DriverCore(FakeRobot(image_size=64, **parameters), state_log=StateLog(folder))
    driver.reset(suite='fake_pick', task=0, seed=4)
    driver.execute_chunk(ActionChunk(np.full((5, 7), 0.3, np.float32)))
    driver.move_to(Waypoint(Pose(np.array([0.5, 0.1, 0.3])), gripper=Gripper.CLOSE, speed=0.7))
    asked = iter(range(stop_at))
    moved = driver.move_to(
        Waypoint(Pose(np.array([0.3, -0.2, 0.1]))), should_stop=lambda: next(asked, None) is None
    )
    assert moved.code == Canceled.code
    for _ in range(5):
        driver.step(np.array([0.1, 0, 0, 0, 0, 0.2, -1.0]))
    driver.close()
    return last_episode(folder)


def replayed(recorded: RecordedStates, folder: pathlib.Path, **parameters: Any) -> Comparison:
    driver = DriverCore(FakeRobot(image_size=64, **parameters), state_log=StateLog(folder))
    play_actions(LocalEnv(driver), recorded)
    driver.close()
    return compare(recorded, last_episode(folder))


def test_recorded_actions_lead_to_the_same_states(tmp_path: pathlib.Path) -> None:
    recorded = drive(tmp_path / 'a')
    assert recorded.held.sum() == 1
    found = replayed(recorded, tmp_path / 'b')
    assert (found.verdict, found.original) == ('identical', len(recorded.states) - 1)
    again = last_episode(tmp_path / 'b')
    assert again.held.tolist() == recorded.held.tolist()


def test_without_the_hold_they_would_not(tmp_path: pathlib.Path) -> None:
    recorded = drive(tmp_path / 'a')
    found = replayed(
        dataclasses.replace(recorded, held=np.zeros_like(recorded.held)), tmp_path / 'b'
    )
    assert found.difference is not None
    assert found.difference.control_step == int(np.flatnonzero(recorded.held)[0])
    assert not found.difference.action


def test_a_replay_that_ends_early_says_why(tmp_path: pathlib.Path) -> None:
    recorded = drive(tmp_path / 'a')
    driver = DriverCore(
        FakeRobot(image_size=64, max_episode_steps=10), state_log=StateLog(tmp_path / 'b')
    )
    with pytest.raises(EpisodeOver, match=r'^episode 1 was truncated after 10 control'):
        play_actions(LocalEnv(driver), recorded)


def test_a_replay_can_be_stopped(tmp_path: pathlib.Path) -> None:
    recorded = drive(tmp_path / 'a')
    driver = DriverCore(FakeRobot(image_size=64), state_log=StateLog(tmp_path / 'b'))
    done = []
    with pytest.raises(Canceled) as error:
        play_actions(
            LocalEnv(driver),
            recorded,
            should_stop=lambda: len(done) == 3,
            on_step=lambda n, total: done.append(n),
        )
    total = len(recorded.states) - 1
    assert str(error.value) == f'the replay was stopped after 3 of {total} control steps'
