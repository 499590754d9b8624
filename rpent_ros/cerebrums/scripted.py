"""A planner without a language model: plays a recipe, or works from the task's sentence.

It sees what any planner sees: tool results.  What the policy behind `pi0_pick` knows is another
matter, and is announced by that policy.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from rpent_ros.cerebrums.base import CerebrumResult, Steering, Tools
from rpent_ros.cerebrums.recipe import Recipe
from rpent_ros.errors import ErrorCode
from rpent_ros.limits import Limits
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.toolkit import Claim

ATTEMPTS = 3
# How far an object is carried up before it is moved sideways, and how far the arm retreats [m].
CARRY_HEIGHT = 0.10
RETREAT_HEIGHT = 0.15
# Kept free below the ceiling of the workspace box [m].
CEILING_MARGIN = 0.02

_PICK_AND_PLACE = re.compile(r'^(pick up .+?) and (?:place|put) it .+$', re.IGNORECASE)
_PLACES = re.compile(r'\b(?:place|put|set|drop|stack)\b', re.IGNORECASE)
# After these, trying again makes no sense.
_HOPELESS = frozenset({
    ErrorCode.EPISODE_OVER,
    ErrorCode.STOPPED,
    ErrorCode.NOT_RESET,
    ErrorCode.BAD_INSTRUCTION,
})


def pick_clause(sentence: str) -> str | None:
    """'pick up X' of 'pick up X and place it in Y'; None for other sentences."""
    match = _PICK_AND_PLACE.match(' '.join(sentence.split()))
    return match.group(1) if match else None


@dataclasses.dataclass(frozen=True)
class ScriptedCerebrum:
    """Plays `recipe`, or carries out `instruction`, or else the task's own sentence."""

    instruction: str = ''
    recipe: Recipe | None = None

    @property
    def name(self) -> str:
        """How it is chosen."""
        return 'scripted'

    def solve(
        self,
        system_prompt: str,
        user_message: str,
        toolkit: Tools,
        limits: Limits,
        steering: Steering,
    ) -> CerebrumResult:
        """See `Cerebrum.solve`; the prompts are for language models and are not read."""
        try:
            if self.recipe is not None:
                return _play(self.recipe, toolkit, steering)
            return _GoalPlan(toolkit, steering, self.instruction).solve()
        except _Interrupted as interrupted:
            # A script that went on would move the robot that somebody has just stopped.
            return _claim(toolkit, 'stuck', f'the operator interrupted{interrupted}')


class _Interrupted(Exception):
    """Somebody has stopped the robot."""


class _GoalPlan:
    """Pick, carry up, place, and start over when something was missed."""

    def __init__(self, toolkit: Tools, steering: Steering, instruction: str) -> None:
        self._toolkit = toolkit
        self._steering = steering
        self._instruction = instruction
        self._state: Mapping[str, Any] = {}
        self._ceiling = 0.0
        self._last = ToolResult()

    def solve(self) -> CerebrumResult:
        """Carry out the sentence and call finish."""
        view = self._call('view_env_state')
        sentence = self._instruction or view.data.get('instruction', '')
        if not sentence:
            return self._finish('stuck', 'the task has no sentence and none was given')
        self._ceiling = view.data['workspace']['max'][2] - CEILING_MARGIN
        pick = pick_clause(sentence)
        for attempt in range(1, ATTEMPTS + 1):
            if attempt > 1:
                self._toolkit.say(f'attempt {attempt} of {ATTEMPTS}')
                self._retreat()
            if self._over:
                break
            if pick is None or self._pick(pick):
                self._call('pi0_doubled', prompt=sentence)
                if _PLACES.search(sentence):
                    self._let_go()
            if self._over:
                break
        return self._conclude(sentence)

    @property
    def _over(self) -> bool:
        data = self._last.data
        ended = any(data.get(flag) for flag in ('success', 'terminated', 'truncated'))
        return ended or self._last.code in _HOPELESS

    def _pick(self, prompt: str) -> bool:
        """Pick and lift; True if something is held and may be carried on."""
        if not self._call('pi0_pick', prompt=prompt).ok or self._over:
            return False
        self._raise_by(CARRY_HEIGHT)
        return not self._over and self._last.data.get('holding') is not False

    def _let_go(self) -> None:
        """Leave open-handed what has been placed; whether it stays there, the driver says."""
        data = self._last.data
        ended = data.get('terminated') or data.get('truncated')
        if data.get('success') and data.get('holding') and not ended:
            self._call('release')
            self._raise_by(RETREAT_HEIGHT)

    def _retreat(self) -> None:
        if not self._over:
            self._call('release')
        if not self._over:
            self._raise_by(RETREAT_HEIGHT)

    def _raise_by(self, height: float) -> None:
        """Straight up, as far as the workspace allows."""
        x, y, z = self._state['ee_position']
        top = min(z + height, self._ceiling)
        if top > z + 0.01:
            self._call('move_to', xyz=[x, y, top])

    def _conclude(self, sentence: str) -> CerebrumResult:
        if self._last.data.get('success'):
            return self._finish('success', f'"{sentence}" is done, says the last result')
        reason = self._last.message or 'the task was not solved in the last attempt'
        status = 'stuck' if self._last.code in _HOPELESS else 'failure'
        return self._finish(status, f'"{sentence}" is not done: {reason}')

    def _call(self, tool: str, **arguments: Any) -> ToolResult:
        _acknowledge(self._toolkit, self._steering)
        self._last = self._toolkit.call(tool, arguments)
        self._state = self._last.data.get('state', self._state)
        return self._last

    def _finish(self, status: str, summary: str) -> CerebrumResult:
        return _claim(self._toolkit, status, summary)


def _play(recipe: Recipe, toolkit: Tools, steering: Steering) -> CerebrumResult:
    recipe.check_tools([spec['name'] for spec in toolkit.specs])
    success = False
    for call in recipe.calls:
        _acknowledge(toolkit, steering)
        # A call that failed when the recipe was made may fail again; the rest still counts.
        result = toolkit.call(call.tool, call.arguments)
        if result.ends_run:
            return _ended(result)
        success = bool(result.data.get('success', success))
    return _finish(toolkit, success, f'played {len(recipe.calls)} calls of {recipe.path}')


def _acknowledge(toolkit: Tools, steering: Steering) -> None:
    notice = steering.acknowledge()
    if notice is not None:
        raise _Interrupted(f': {notice.message}' if notice.message else '')
    for message in steering.take():
        toolkit.say(message, role='user', name='user')
        toolkit.say('this planner follows its script and cannot act on messages')


def _finish(toolkit: Tools, success: bool, summary: str) -> CerebrumResult:
    return _claim(toolkit, 'success' if success else 'failure', summary)


def _claim(toolkit: Tools, status: str, summary: str) -> CerebrumResult:
    return _ended(toolkit.call('finish', {'status': status, 'summary': summary}))


def _ended(result: ToolResult) -> CerebrumResult:
    if not result.ok:
        return CerebrumResult(None, stop_reason=result.message)
    return CerebrumResult(Claim(result.data['status'], result.data['summary']))
