"""Arguments that do not fit are refused in one sentence before anything moves."""

import math

import pytest

from rpent_ros.errors import BadArguments
from rpent_ros.tools import definitions, schema

TOOLS = definitions.manipulation_tools(('agentview', 'wrist'))
SPECS = {tool.name: tool.spec() for tool in TOOLS}
XYZ = [0.4, 0.0, 0.2]

REFUSED = [
    ('move_to', [1], 'move_to: expected arguments as a JSON object, got [1] (a list)'),
    (
        'move_to',
        {'xyz': XYZ, 'speeed': 1},
        "move_to: unknown argument 'speeed'; known arguments: xyz, yaw, gripper, speed",
    ),
    ('move_to', {}, "move_to: argument 'xyz' is missing; expected 3 numbers"),
    ('move_to', {'xyz': [0.4, 0.0]}, 'move_to: xyz: expected 3 numbers, got 2'),
    (
        'move_to',
        {'xyz': [0.4, '0.0', 0.2]},
        "move_to: xyz[1]: expected a finite number, got '0.0' (a string)",
    ),
    (
        'move_to',
        {'xyz': [0.4, 0.0, math.nan]},
        'move_to: xyz[2]: expected a finite number, got nan',
    ),
    (
        'move_to',
        {'xyz': XYZ, 'yaw': -math.inf},
        'move_to: yaw: expected a finite number, got -inf',
    ),
    (
        'move_to',
        {'xyz': XYZ, 'speed': 1.5},
        'move_to: speed: expected a finite number above 0 up to 1 or null, got 1.5',
    ),
    (
        'move_to',
        {'xyz': XYZ, 'speed': 0},
        'move_to: speed: expected a finite number above 0 up to 1 or null, got 0',
    ),
    (
        'move_to',
        {'xyz': XYZ, 'speed': True},
        'move_to: speed: expected a finite number above 0 up to 1 or null, got True (a boolean)',
    ),
    (
        'move_to',
        {'xyz': XYZ, 'gripper': 'shut'},
        "move_to: gripper: expected one of keep, open, close, got 'shut' (a string)",
    ),
    ('move_to', {'xyz': None}, 'move_to: xyz: expected 3 numbers, got null'),
    (
        'pi0_pick',
        {'prompt': ''},
        "pi0_pick: prompt: expected a string that is not empty, got '' (a string)",
    ),
    (
        'pi0_pick',
        {'prompt': 'pick up the milk', 'max_chunks': 2.5},
        'pi0_pick: max_chunks: expected a whole number from 1 up to 200, got 2.5',
    ),
    (
        'back_project',
        {'camera': 'top', 'pixel': [1, 2]},
        "back_project: camera: expected one of agentview, wrist, got 'top' (a string)",
    ),
    (
        'back_project',
        {'camera': 'wrist', 'pixel': [-1, 2]},
        'back_project: pixel[0]: expected a whole number from 0, got -1',
    ),
    (
        'back_project',
        {'camera': 'wrist', 'region': {'rows': [1, 2]}},
        "back_project: region: key 'columns' is missing; expected 2 whole numbers",
    ),
    (
        'back_project',
        {'camera': 'wrist', 'region': {'rows': [1, 2], 'columns': [1, 2], 'z': 1}},
        "back_project: region: unknown key 'z'; known keys: rows, columns, z_min, z_max",
    ),
    (
        'finish',
        {'status': 'done', 'summary': 'x'},
        "finish: status: expected one of success, failure, stuck, got 'done' (a string)",
    ),
]


@pytest.mark.parametrize(('tool', 'given', 'message'), REFUSED, ids=[m for _, _, m in REFUSED])
def test_refusals(tool, given, message):
    with pytest.raises(BadArguments) as error:
        schema.check(tool, SPECS[tool]['input_schema'], given)
    assert str(error.value) == message


def test_defaults_are_filled_in():
    given = schema.check('move_to', SPECS['move_to']['input_schema'], {'xyz': XYZ})
    assert given == {'xyz': XYZ, 'yaw': None, 'gripper': 'keep', 'speed': None}


def test_whole_numbers_become_integers():
    prompt = {'prompt': 'pick up the milk', 'max_chunks': 3.0}
    checked = schema.check('pi0_pick', SPECS['pi0_pick']['input_schema'], prompt)
    assert checked['max_chunks'] == 3
    assert isinstance(checked['max_chunks'], int)
    pixel = schema.check(
        'back_project',
        SPECS['back_project']['input_schema'],
        {'camera': 'wrist', 'pixel': [3.0, 4]},
    )['pixel']
    assert pixel == [3, 4]
    assert all(isinstance(value, int) for value in pixel)


@pytest.mark.parametrize('name', sorted(SPECS))
def test_every_argument_is_described_and_defaults_fit(name):
    properties = SPECS[name]['input_schema']['properties']
    for argument, definition in properties.items():
        assert definition['description'], argument
    required = {
        'xyz': XYZ, 'command': 'open', 'prompt': 'pick it up', 'camera': 'wrist',
        'status': 'stuck', 'summary': 'no way', 'path': 'notes.md', 'content': '',
        'dxyz': [0.0, 0.0, 0.1], 'pitch': 0.1, 'yaw': -0.1,
    }  # fmt: skip
    given = {k: v for k, v in required.items() if k in SPECS[name]['input_schema']['required']}
    assert set(schema.check(name, SPECS[name]['input_schema'], given)) == set(properties)
