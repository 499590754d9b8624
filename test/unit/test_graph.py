"""The description of the graph: parameters, order, and refusals."""

import pathlib
import re
from typing import Any

import pytest
import yaml

from rpent_ros.errors import RpentError
from rpent_ros.graph import GraphConfig, Process, describe
from rpent_ros.parameter_files import load_parameters

FAKE = {'suite': 'fake_pick', 'task': 1, 'seed': 7}


def by_name(**choices: Any) -> dict[str, Process]:
    """The fake robot's processes by name."""
    return {process.name: process for process in describe(GraphConfig('fake', **choices))}


def test_processes_and_their_order() -> None:
    processes = describe(GraphConfig('fake', **FAKE))
    assert [p.name for p in processes] == ['driver', 'vla', 'recorder', 'segmenter', 'agent']
    # A planner can begin without a segmenter.
    assert [p.after for p in processes] == [(), (), (), (), ('driver', 'vla', 'recorder')]
    assert [p.ends_run for p in processes] == [False, False, False, False, True]
    assert [p.module for p in processes] == [
        'rpent_ros.nodes.driver',
        'rpent_ros.nodes.vla',
        'rpent_ros.nodes.recorder',
        'rpent_ros.nodes.segmenter',
        'rpent_ros.nodes.agent',
    ]
    assert {p.namespace for p in processes} == {'/fake'}


def test_processes_that_are_not_wanted_are_left_out() -> None:
    processes = by_name(**FAKE, vla='none', segmenter='none', record=False)
    assert list(processes) == ['driver', 'agent']
    assert processes['agent'].after == ('driver',)
    assert processes['agent'].parameters['use_vla'] is False
    assert processes['agent'].parameters['record'] is False


def test_choices_beat_the_parameter_files(tmp_path: pathlib.Path) -> None:
    processes = by_name(
        **FAKE, output_dir=str(tmp_path / 'out'), namespace='lab/left', max_tool_calls=3
    )
    agent, driver = processes['agent'], processes['driver']
    assert agent.parameters['seed'] == 7
    assert agent.parameters['max_tool_calls'] == 3
    assert agent.parameters['output_dir'] == str(tmp_path / 'out')
    assert driver.parameters['task'] == 1  # the robot's params.yaml says 0
    assert driver.parameters['image_size'] == 256  # from the robot's params.yaml
    assert driver.parameters['state_log_dir'] == str(tmp_path / 'out' / 'sim_states')
    assert agent.namespace == '/lab/left'
    assert not [v for p in processes.values() for v in p.parameters.values() if v is None]


def test_a_parameter_file_of_the_user_beats_that_of_the_robot(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'mine.yaml'
    file.write_text('/**/driver:\n  ros__parameters: {image_size: 64, task: 2}\n')
    driver = by_name(**FAKE, params_file=str(file))['driver']
    assert driver.parameters['image_size'] == 64
    assert driver.parameters['task'] == 1  # chosen for this run


def test_suite_comes_from_the_robot_if_nobody_chose() -> None:
    assert by_name()['agent'].parameters['suite'] == 'fake_pick'


def test_command_line_and_parameter_file(tmp_path: pathlib.Path) -> None:
    driver = by_name(**FAKE)['driver']
    file = tmp_path / 'driver.yaml'
    file.write_text(driver.parameter_text())
    assert driver.argv(file)[1:] == (
        '-m',
        'rpent_ros.nodes.driver',
        '--ros-args',
        '-r',
        '__node:=driver',
        '-r',
        '__ns:=/fake',
        '--params-file',
        str(file),
    )
    assert yaml.safe_load(file.read_text()) == {
        '/fake/driver': {'ros__parameters': dict(driver.parameters)}
    }


@pytest.mark.parametrize(
    'choices, message',
    [
        ({'robot': 'libreo'}, "unknown robot 'libreo'; known robots: fake, libero"),
        ({'suite': 'fake_push'}, "unknown suite 'fake_push'; known suites: fake_pick"),
        ({'task': 3}, 'suite fake_pick: expected a task from 0 to 2, got 3'),
        ({'task': -1}, 'task: expected 0 or above, got -1'),
        ({'seed': -1}, 'seed: expected 0 to 4294967295, got -1'),
        ({'vla': 'pi9'}, "unknown vla 'pi9'; known policies: oracle, none"),
        ({'cerebrum': 'gtp'}, "unknown cerebrum 'gtp'; known cerebrums: "),
        ({'recipe': '/nowhere/r.jsonl'}, 'recipe /nowhere/r.jsonl: no such file'),
        ({'params_file': '/nowhere/p.yaml'}, 'params_file /nowhere/p.yaml: no such file'),
        ({'model': 'm1'}, "model: the scripted cerebrum uses no language model, got 'm1'"),
        (
            {'namespace': 'my robot'},
            'namespace: expected names of letters, digits and underscores separated by /, '
            "got 'my robot'",
        ),
        ({'camera_rate': -1.0}, 'camera_rate: expected above 0 Hz, got -1.0'),
        ({'max_seconds': float('inf')}, 'max_seconds: expected 0 or above, got inf'),
        ({'max_seconds': float('nan')}, 'max_seconds: expected 0 or above, got nan'),
    ],
)
def test_refusals(choices: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {'robot': 'fake', **FAKE} | choices
    with pytest.raises(RpentError, match=f'^{re.escape(message)}'):
        describe(GraphConfig(arguments.pop('robot'), **arguments))


def test_later_files_and_narrower_sections_win(tmp_path: pathlib.Path) -> None:
    first, second = tmp_path / 'a.yaml', tmp_path / 'b.yaml'
    first.write_text(
        '/**:\n  ros__parameters: {a: 1, b: 1, deep: {x: 1.0, y: 2.0}}\n'
        '/**/driver:\n  ros__parameters: {b: 2}\n'
    )
    second.write_text('driver:\n  ros__parameters: {c: 3, deep: {x: 5.0}}\n')
    missing = tmp_path / 'none.yaml'
    assert load_parameters([first, missing, second], 'driver') == {
        'a': 1,
        'b': 2,
        'c': 3,
        'deep.x': 5.0,
        'deep.y': 2.0,
    }
    assert load_parameters([first, second], 'vla')['b'] == 1


def test_file_that_is_no_parameter_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'a.yaml').write_text('driver: {rate: 3}\n')
    with pytest.raises(RpentError, match='expected sections with ros__parameters'):
        load_parameters([tmp_path / 'a.yaml'], 'driver')
