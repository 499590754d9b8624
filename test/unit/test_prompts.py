"""Prompt sections, placeholders, and that the robots' prompts name what exists."""

import importlib
import re

import pytest

from rpent_ros.errors import InvalidRequest
from rpent_ros.prompt_sections import sight
from rpent_ros.prompts import BulletList, Numbered, PromptBundle, render
from rpent_ros.robot import load_robot_package

VARIABLES = {
    'suite': 'libero_object', 'task': 2, 'seed': 0, 'recipe_tag': 'object_t2_s0',
    'output_dir': '/runs/x', 'instruction': 'pick up the milk', 'robot': 'libero',
    'base_frame': 'world', 'cameras': 'agentview, wrist', 'workspace': 'x 0 to 1 m',
    'tools': 'move_to, finish', 'max_tool_calls': 100, **sight(False, 512),
}  # fmt: skip


def test_sections_become_headings_and_lists():
    sections = {
        'Role': 'You move {{ what }}.',
        'Rules': {'First': BulletList(['look', 'think']), 'Then': Numbered(['go', 'stop'])},
    }
    assert render(sections, {'what': 'cubes'}) == (
        '# Role\n\nYou move cubes.\n\n# Rules\n\n## First\n\n- look\n- think\n\n'
        '## Then\n\n1. go\n2. stop'
    )


def test_unknown_placeholder_is_refused():
    bundle = PromptBundle(system=lambda: {'Goal': '{{goal}}'}, user=lambda: {})
    with pytest.raises(InvalidRequest) as error:
        bundle.render({'task': 1, 'suite': 's'})
    assert str(error.value) == (
        "prompt section 'Goal': no value for {{goal}}; known values: suite, task"
    )


@pytest.mark.parametrize('robot', ['fake', 'libero'])
def test_prompts_name_only_tools_and_codes_that_exist(robot):
    from rpent_ros.errors import ErrorCode

    package = load_robot_package(robot)
    system, user = package.get_env_spec().prompts.render(VARIABLES)
    tools = importlib.import_module(f'robots.{robot}.toolkit').TOOLS
    known = {tool.name for tool in tools} | {'mcp__rpent__move_to'}
    for tool in tools:
        words = ' '.join(tool.results.values())
        known |= {*tool.arguments, *tool.results, *re.findall(r'\b[a-z]+_[a-z_]+\b', words)}
    named = set(re.findall(r'\b[a-z0-9]+_+[a-z0-9_]+\b', system))
    assert named - known == set()
    assert {'back_project', 'move_to'} <= named
    codes = set(re.findall(r'\b[A-Z]+_[A-Z_]+\b', system))
    assert codes - {code.name for code in ErrorCode} == set()
    assert 'pick up the milk' in user
    assert 'up to 512 pixels wide' in system
    assert 'libero_object' in user


@pytest.mark.parametrize('robot', ['fake', 'libero'])
def test_without_pictures_the_prompt_names_no_tool_that_shows_some(robot):
    bundle = load_robot_package(robot).get_env_spec().prompts
    system, _ = bundle.render({**VARIABLES, **sight(True, 512)})
    assert 'You see no pictures.' in system
    assert 'read_image' not in system
    assert 'the images' not in system
    assert 'both images' not in system
