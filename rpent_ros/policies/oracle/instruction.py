"""Which object and which place an instruction means, in the scene at hand."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from rpent_ros.contracts.scene import Scene, SceneGoal
from rpent_ros.errors import BadInstruction

_PICK = re.compile(r'^(?:pick(?: up)?|grasp|grab|get|take|lift)(?: up)? (?P<object>.+)$')
_PLACE = re.compile(
    r'^(?:place|put|set|drop)(?: down)? (?:(?P<it>it|this|that)|(?P<object>.+?)) '
    r'(?P<how>on top of|on to|onto|on|into|inside|in|to) (?P<target>.+)$'
)
_THEN = re.compile(r',? (?:and|then|and then) (?=(?:place|put|set|drop) )')
# More than one object, or something to do besides.
_MORE = re.compile(r'\bboth\b|\band (?:then )?(?:open|close|turn|push|pull|pick)\b')
# Words that begin a description of where the object is.
_WHERE = re.compile(
    r' (?:between|next to|near|from|on|in|at|of|under|behind|beside|inside|left|right|closest)\b'
)
_ARTICLES = frozenset({'the', 'a', 'an', 'top', 'it'})
_PLACEMENT = ('on', 'in')


@dataclasses.dataclass(frozen=True)
class Task:
    """What to do.

    Attributes:
      object: name of the body to pick; '' for whatever is held.
      target: name of the region, object or fixture to place it on or in; '' to pick only.
      goal: the clause of the task's predicate that says the same; None for an instruction of the
        caller's own.
    """

    object: str
    target: str = ''
    goal: SceneGoal | None = None


def understand(instruction: str, scene: Scene, held: str) -> Task:
    """What an instruction asks for.

    Args:
      instruction: e.g. 'pick up the milk', 'put the bowl on the plate', 'place it in the basket'.
      scene: where it is to be done.
      held: name of the object in the hand; '' for none.

    Raises:
      BadInstruction: it names nothing in the scene, or more than one thing, or asks for more than
        one thing to be done.
    """
    sentence = re.sub(r'[^a-z0-9 ]', ' ', instruction.lower())
    sentence = ' '.join(sentence.split())
    clauses = _THEN.split(sentence)
    pick = _PICK.match(clauses[0])
    place = _PLACE.match(clauses[-1])
    if len(clauses) > (2 if pick else 1) or _MORE.search(sentence):
        # Half of it would be done and called done.
        raise BadInstruction(
            f'oracle: expected one object to pick and place, got {instruction!r}; ask for one '
            'after the other'
        )
    if not pick and not place:
        raise BadInstruction(
            f"oracle: expected 'pick up X', 'put X on Y' or 'pick up X and place it in Y', got "
            f'{instruction!r}; objects: {_known(scene)}'
        )
    phrase = (pick['object'] if pick else place and place['object']) or ''
    if phrase:
        name = _object(_without_place(phrase), scene, held)
    elif held:
        name = held
    else:
        raise BadInstruction(f"oracle: {instruction!r} says 'it', but nothing is held; pick first")
    if not place:
        return Task(name)
    return _target(name, place['target'], scene)


def _target(name: str, phrase: str, scene: Scene) -> Task:
    goals = [g for g in scene.goals if g.predicate in _PLACEMENT and g.arguments[0] == name]
    words = _words(phrase)
    for goal in goals:
        if words & _name_words(goal.arguments[1]):
            return Task(name, goal.arguments[1], goal)
    names = {body.parent for body in scene.bodies} - {name}
    best = _best(_without_place(phrase), sorted(names))
    if len(best) != 1:
        what = 'nothing' if not best else 'any of ' + ', '.join(best)
        raise BadInstruction(
            f'oracle: {phrase!r} could be {what}; places: {", ".join(sorted(names))}'
        )
    return Task(name, best[0])


def _object(phrase: str, scene: Scene, held: str) -> str:
    best = _best(phrase, [body.name for body in scene.bodies if body.movable])
    if held in best:
        return held
    if len(best) > 1:
        # Two black bowls: the task's predicate knows which of them is meant.
        for goals in ([g for g in scene.goals if not g.satisfied], scene.goals):
            subjects = {g.arguments[0] for g in goals if g.arguments}
            best = [name for name in best if name in subjects] or best
    if len(best) != 1:
        what = 'nothing' if not best else 'any of ' + ', '.join(best)
        raise BadInstruction(
            f'oracle: {phrase!r} could be {what} here; objects: {_known(scene)}'
        )
    return best[0]


def _best(phrase: str, names: Sequence[str]) -> list[str]:
    """Names that share most words with a phrase; empty if none shares any."""
    words = _words(phrase)
    shared = {name: len(words & _name_words(name)) for name in names}
    most = max(shared.values(), default=0)
    if most == 0:
        return []
    best = [name for name in names if shared[name] == most]
    # 'milk' is milk_1 rather than milk_carton_1: fewer words left over.
    fewest = min(len(_name_words(name)) for name in best)
    return [name for name in best if len(_name_words(name)) == fewest]


def _without_place(phrase: str) -> str:
    return _WHERE.split(phrase, maxsplit=1)[0]


def _words(phrase: str) -> set[str]:
    return _singular(word for word in phrase.split() if word not in _ARTICLES)


def _name_words(name: str) -> set[str]:
    return _singular(word for word in name.lower().split('_') if not word.isdigit())


def _singular(words: Iterable[str]) -> set[str]:
    return {word[:-1] if len(word) > 3 and word.endswith('s') else word for word in words}


def _known(scene: Scene) -> str:
    return ', '.join(body.name for body in scene.bodies if body.movable)
