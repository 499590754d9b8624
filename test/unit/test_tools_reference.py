"""docs/tools.md says what the code does, and real answers hold what it says."""

import pathlib

import pytest

from robots.libero.toolkit import TOOLS
from rpent_ros.tools import reference
from rpent_ros.tools.definitions import manipulation_tools
from rpent_ros.tools.reference import COMMON_RESULTS


def test_the_page_is_up_to_date():
    page = pathlib.Path(reference.PATH).read_text(encoding='utf-8')
    assert page == reference.reference(TOOLS), (
        'make it anew: ./rpent exec python -m rpent_ros.tools.reference'
    )


def test_every_argument_and_result_is_described():
    for tool in manipulation_tools(('agentview', 'wrist')):
        assert tool.results, tool.name
        assert tool.codes, tool.name
        for name, given in tool.arguments.items():
            assert given.get('description'), f'{tool.name}.{name}'


@pytest.mark.parametrize(
    ('text', 'parts'),
    [
        ('finger width [m]', ('finger width', 'm')),
        ('Target [x, y, z] in the base frame [m].', ('Target [x, y, z] in the base frame.', 'm')),
        ('sec [s], nanosec [ns]', ('sec [s], nanosec [ns]', '')),
    ],
)
def test_units_are_taken_from_the_description(text, parts):
    assert reference._split_unit(text) == parts


def test_common_results_are_those_of_the_transcript(make_toolkit):
    answer = make_toolkit().call('view_env_state', {}).to_json()
    declared = {*COMMON_RESULTS, *make_toolkit().tool('view_env_state').definition.results}
    assert set(answer) <= declared
