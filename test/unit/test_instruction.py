"""Which object and place an instruction means, over the benchmark's own sentences."""

from __future__ import annotations

import re

import pytest

from rpent_ros.contracts.scene import Scene, SceneBody, SceneGoal, SceneRegion
from rpent_ros.errors import BadInstruction
from rpent_ros.geometry import Pose
from rpent_ros.policies.oracle.instruction import understand

OBJECTS = (
    'alphabet_soup_1', 'basket_1', 'salad_dressing_1', 'cream_cheese_1', 'milk_1',
    'tomato_sauce_1', 'butter_1', 'bbq_sauce_1', 'ketchup_1', 'chocolate_pudding_1',
    'orange_juice_1',
)  # fmt: skip
TABLE = (
    'akita_black_bowl_1', 'akita_black_bowl_2', 'cookies_1', 'glazed_rim_porcelain_ramekin_1',
    'plate_1',
)  # fmt: skip
FIXTURES = ('wooden_cabinet_1', 'flat_stove_1')
SPATIAL = (
    'between the plate and the ramekin', 'next to the ramekin', 'from table center',
    'on the cookie box', 'in the top drawer of the wooden cabinet', 'on the ramekin',
    'next to the cookie box', 'on the stove', 'next to the plate', 'on the wooden cabinet',
)  # fmt: skip


def scene(names, goal: tuple[str, ...], fixtures=()) -> Scene:
    """A scene with these objects and fixtures, and one clause of its predicate."""
    here = Pose((0.0, 0.0, 0.0))
    bodies = [SceneBody(n, parent=n, movable=True, pose=here) for n in names]
    bodies += [SceneBody(f'{n}_base', parent=n, movable=False, pose=here) for n in fixtures]
    return Scene(
        stamp=0, frame_id='world', episode=1, step=0,
        bodies=tuple(bodies),
        regions=(
            SceneRegion('basket_1_contain_region', parent='basket_1', pose=here,
                        half_size=(0.1, 0.1, 0.1)),
        ),
        goals=(SceneGoal(goal[0], arguments=goal[1:], satisfied=False),),
    )  # fmt: skip


@pytest.mark.parametrize('name', [n for n in OBJECTS if n != 'basket_1'])
def test_every_sentence_of_libero_object(name: str) -> None:
    here = scene(OBJECTS, ('in', name, 'basket_1_contain_region'))
    words = name.removesuffix('_1').replace('_', ' ')
    task = understand(f'pick up the {words} and place it in the basket', here, '')
    assert (task.object, task.target) == (name, 'basket_1_contain_region')
    assert task.goal is here.goals[0]
    assert understand(f'pick up the {words}', here, '').target == ''


@pytest.mark.parametrize('where', SPATIAL)
def test_every_sentence_of_libero_spatial(where: str) -> None:
    here = scene(TABLE, ('on', 'akita_black_bowl_2', 'plate_1'), FIXTURES)
    task = understand(f'pick up the black bowl {where} and place it on the plate', here, '')
    assert (task.object, task.target) == ('akita_black_bowl_2', 'plate_1')


@pytest.mark.parametrize(
    ('sentence', 'held', 'wanted'),
    [
        ('place it in the basket', 'milk_1', ('milk_1', 'basket_1')),
        ('Put the ketchup on top of the butter.', '', ('ketchup_1', 'butter_1')),
        ('grab the orange juice', '', ('orange_juice_1', '')),
        ('pick up the tomato sauce, and then put it into the basket', '',
         ('tomato_sauce_1', 'basket_1')),
    ],
)  # fmt: skip
def test_sentences_of_the_callers_own(sentence: str, held: str, wanted) -> None:
    here = scene(OBJECTS, ('in', 'alphabet_soup_1', 'basket_1_contain_region'))
    task = understand(sentence, here, held)
    assert (task.object, task.target) == wanted
    assert task.goal is None


def test_the_object_in_hand_is_meant() -> None:
    here = scene(TABLE, ('on', 'akita_black_bowl_1', 'plate_1'), FIXTURES)
    assert understand('put the black bowl on the plate', here, 'akita_black_bowl_2').object == (
        'akita_black_bowl_2'
    )


@pytest.mark.parametrize(
    'sentence',
    [
        'put both the milk and the butter in the basket',
        'put the milk in the basket and close it',
        'put the milk in the basket and put the butter in the basket',
        'pick up the milk and put it in the basket and then put the butter in the basket',
        'turn on the stove and put the milk on it',
    ],
)
def test_half_of_what_was_asked_is_not_done(sentence: str) -> None:
    here = scene(OBJECTS, ('in', 'milk_1', 'basket_1_contain_region'))
    with pytest.raises(BadInstruction) as caught:
        understand(sentence, here, '')
    assert str(caught.value) == (
        f'oracle: expected one object to pick and place, got {sentence!r}; ask for one after the '
        'other'
    )


@pytest.mark.parametrize(
    ('sentence', 'message'),
    [
        ('sing a song',
         "oracle: expected 'pick up X', 'put X on Y' or 'pick up X and place it in Y', got "
         "'sing a song'; objects: plate_1, milk_1, milk_2"),
        ('pick up the spoon',
         "oracle: 'the spoon' could be nothing here; objects: plate_1, milk_1, milk_2"),
        ('pick up the milk',
         "oracle: 'the milk' could be any of milk_1, milk_2 here; "
         'objects: plate_1, milk_1, milk_2'),
        ('place it on the plate',
         "oracle: 'place it on the plate' says 'it', but nothing is held; pick first"),
        ('put the plate on the moon',
         "oracle: 'the moon' could be nothing; places: milk_1, milk_2"),
    ],
)  # fmt: skip
def test_what_it_cannot_understand(sentence: str, message: str) -> None:
    here = scene(('plate_1', 'milk_1', 'milk_2'), ('open', 'drawer'))
    with pytest.raises(BadInstruction, match=f'^{re.escape(message)}$'):
        understand(sentence, here, '')
