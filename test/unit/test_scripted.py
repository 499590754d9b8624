"""The scripted planner: what it reads out of a sentence, and how it recovers."""

import pytest

from rpent_ros.cerebrums.base import Steering
from rpent_ros.cerebrums.scripted import ScriptedCerebrum, pick_clause
from rpent_ros.errors import ErrorCode
from rpent_ros.limits import Limits
from rpent_ros.tools.result import ToolResult


@pytest.mark.parametrize(
    ('sentence', 'clause'),
    [
        ('pick up the milk and place it in the basket', 'pick up the milk'),
        (
            'pick up the black bowl between the plate and the ramekin and place it on the plate',
            'pick up the black bowl between the plate and the ramekin',
        ),
        ('Pick up the book and  put it in the caddy', 'Pick up the book'),
        ('put the bowl on the stove', None),
        ('put both moka pots on the stove', None),
        ('open the top drawer and put the bowl inside', None),
        ('', None),
    ],
)
def test_pick_clause(sentence, clause):
    assert pick_clause(sentence) == clause


class Tools:
    """Answers each call with the next scripted result for that tool, by default OK."""

    specs = ()

    def __init__(self, sentence, z=0.2, **answers):
        self.calls = []
        self.said = []
        self._answers = {name: list(results) for name, results in answers.items()}
        self._view = {
            'instruction': sentence,
            'workspace': {'min': [0, -1, 0], 'max': [1, 1, 0.6]},
            'state': {'ee_position': [0.4, 0.1, z]},
        }

    def call(self, name, arguments):
        self.calls.append((name, dict(arguments)))
        if name == 'view_env_state':
            return ToolResult(data=self._view)
        if name == 'finish':
            return ToolResult(data=dict(arguments), ends_run=True)
        queue = self._answers.get(name)
        result = queue.pop(0) if queue else ToolResult()
        data = {'state': self._view['state'], **result.data}
        return ToolResult(result.code, result.message, data)

    def say(self, text, *, role='assistant', name=''):
        self.said.append(text)


def solve(tools, **kwargs):
    planner = ScriptedCerebrum(**kwargs)
    return planner.solve('', '', tools, Limits(), Steering())


PICK_AND_PLACE = 'pick up the milk and place it in the basket'
MISSED = ToolResult(ErrorCode.NOT_GRASPED, 'nothing was lifted')
DONE = ToolResult(data={'success': True, 'terminated': True})


def test_pick_carry_place():
    tools = Tools(PICK_AND_PLACE, pi0_doubled=[DONE])
    result = solve(tools)
    assert tools.calls[1:4] == [
        ('pi0_pick', {'prompt': 'pick up the milk'}),
        ('move_to', {'xyz': [0.4, 0.1, pytest.approx(0.3)]}),
        ('pi0_doubled', {'prompt': PICK_AND_PLACE}),
    ]
    assert result.finish.status == 'success'
    assert result.finish.summary == f'"{PICK_AND_PLACE}" is done, says the last result'


def test_an_empty_hand_places_nothing():
    lost = ToolResult(data={'holding': False})
    unknown = ToolResult(data={'holding': None})
    tools = Tools(PICK_AND_PLACE, move_to=[lost, ToolResult(), unknown], pi0_doubled=[DONE])
    assert solve(tools).finish.status == 'success'
    assert [name for name, _ in tools.calls] == [
        'view_env_state', 'pi0_pick', 'move_to',
        'release', 'move_to', 'pi0_pick', 'move_to', 'pi0_doubled', 'finish',
    ]  # fmt: skip


PLACED = ToolResult(data={'success': True, 'terminated': False, 'holding': True})


def test_what_was_placed_is_let_go_of():
    left = ToolResult(data={'success': True, 'holding': False})
    tools = Tools(
        PICK_AND_PLACE, pi0_doubled=[PLACED], release=[left], move_to=[ToolResult(), left]
    )
    assert solve(tools).finish.status == 'success'
    assert [name for name, _ in tools.calls] == [
        'view_env_state', 'pi0_pick', 'move_to', 'pi0_doubled', 'release', 'move_to', 'finish',
    ]  # fmt: skip


def test_what_falls_off_again_is_placed_again():
    fell = ToolResult(data={'success': False, 'holding': False})
    tools = Tools(
        PICK_AND_PLACE, pi0_doubled=[PLACED, DONE], release=[fell], move_to=[ToolResult(), fell]
    )
    assert solve(tools).finish.status == 'success'
    assert [name for name, _ in tools.calls][4:8] == ['release', 'move_to', 'release', 'move_to']
    assert tools.said == ['attempt 2 of 3']


@pytest.mark.parametrize(
    ('sentence', 'answer'),
    [
        # Nothing is held any more, or the episode has ended, or it is about holding.
        (PICK_AND_PLACE, ToolResult(data={'success': True, 'holding': False})),
        (PICK_AND_PLACE, ToolResult(data={**PLACED.data, 'terminated': True})),
        ('hold up the milk', PLACED),
    ],
)
def test_what_need_not_be_let_go_of(sentence, answer):
    tools = Tools(sentence, pi0_doubled=[answer])
    assert solve(tools).finish.status == 'success'
    assert 'release' not in [name for name, _ in tools.calls]


def test_the_carry_stays_below_the_ceiling():
    tools = Tools(PICK_AND_PLACE, z=0.55, pi0_doubled=[DONE])
    solve(tools)
    assert tools.calls[2] == ('move_to', {'xyz': [0.4, 0.1, pytest.approx(0.58)]})
    high = Tools(PICK_AND_PLACE, z=0.575, pi0_doubled=[DONE])
    solve(high)
    assert [name for name, _ in high.calls] == [
        'view_env_state', 'pi0_pick', 'pi0_doubled', 'finish',
    ]  # fmt: skip


def test_other_sentences_go_to_the_policy_whole():
    tools = Tools('turn on the stove', pi0_doubled=[ToolResult(), DONE])
    assert solve(tools).finish.status == 'success'
    assert [name for name, _ in tools.calls] == [
        'view_env_state', 'pi0_doubled', 'release', 'move_to', 'pi0_doubled', 'finish',
    ]  # fmt: skip
    assert tools.said == ['attempt 2 of 3']


def test_three_attempts_and_the_reason():
    tools = Tools(PICK_AND_PLACE, pi0_pick=[MISSED] * 3)
    result = solve(tools)
    assert [name for name, _ in tools.calls].count('pi0_pick') == 3
    assert result.finish.status == 'failure'
    assert result.finish.summary == f'"{PICK_AND_PLACE}" is not done: nothing was lifted'


@pytest.mark.parametrize(
    ('answer', 'status'),
    [
        (ToolResult(ErrorCode.STOPPED, 'stopped by a person'), 'stuck'),
        (ToolResult(ErrorCode.BAD_INSTRUCTION, 'what is a fridge?'), 'stuck'),
        (ToolResult(ErrorCode.EPISODE_OVER, 'the step limit'), 'stuck'),
        (ToolResult(ErrorCode.OK, '', {'truncated': True}), 'failure'),
    ],
)
def test_what_ends_the_episode_ends_the_attempts(answer, status):
    tools = Tools(PICK_AND_PLACE, pi0_pick=[answer])
    assert solve(tools).finish.status == status
    assert [name for name, _ in tools.calls] == ['view_env_state', 'pi0_pick', 'finish']


def test_success_during_the_pick_is_success():
    tools = Tools(PICK_AND_PLACE, pi0_pick=[DONE])
    assert solve(tools).finish.status == 'success'


def test_a_task_without_a_sentence():
    result = solve(Tools(''))
    assert (result.finish.status, result.finish.summary) == (
        'stuck', 'the task has no sentence and none was given',
    )  # fmt: skip
