"""What a finished run's folder says about how to play it again."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from rpent_ros import run_dir
from rpent_ros.cerebrums import recipe
from rpent_ros.errors import BadRecipe
from rpent_ros.state_log import RecordedStates
from rpent_ros.video import logged_episode

# Nodes whose parameters a replay takes over, and which of them; None: all.
_NODES: Mapping[str, tuple[str, ...] | None] = {
    'driver': None,
    'vla': None,
    'agent': ('image_size', 'instruction', 'wait_s'),
}


@dataclasses.dataclass(frozen=True)
class Call:
    """A tool call of a recipe, and the control steps that it took."""

    turn: int
    tool: str
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class Original:
    """A finished run.

    Attributes:
      folder: its output folder.
      states: its last episode.
      parameters: parameters of its nodes, by node; without those that were not kept.
      policy: policy that took part, as the vla node calls it; '' if none did.
    """

    folder: pathlib.Path
    _: dataclasses.KW_ONLY
    states: RecordedStates
    parameters: Mapping[str, Mapping[str, Any]]
    policy: str

    @property
    def recipe_path(self) -> pathlib.Path:
        """The recipe.

        Raises:
          BadRecipe: there is none.
        """
        found = sorted(self.folder.glob('recipe_*.jsonl'))
        if not found:
            raise BadRecipe(
                f'{self.folder}: expected a recipe_<tag>.jsonl, found none; the run ended before '
                'its planner began, or was driven by hand'
            )
        return found[0]

    def calls(self) -> tuple[Call, ...]:
        """The tool calls and their control steps; the last one takes what is left over."""
        try:
            played = recipe.load(self.recipe_path).calls
        except BadRecipe:
            return ()
        out: list[Call] = []
        begun = 0
        for number, call in enumerate(played, start=1):
            steps = call.notes.get('steps', 0)
            if number == len(played) or 'ok' not in call.notes:
                steps = max(steps, len(self.states.states) - 1 - begun)
            turn = int(call.notes.get('turn', number))
            out.append(Call(turn, call.tool, begun + 1, begun + steps))
            begun += steps
        return tuple(out)

    def call_at(self, control_step: int) -> Call | None:
        """The tool call in which a control step was made; None if it cannot be told."""
        found = [call for call in self.calls() if call.first <= control_step <= call.last]
        return found[0] if found else None


def load(folder: pathlib.Path | str) -> Original:
    """Read a run's folder.

    Raises:
      InvalidRequest: it is no run folder, or has no simulator states to compare with.
    """
    folder = pathlib.Path(folder).expanduser().absolute()
    states = logged_episode(folder)
    parameters = {node: _saved(folder, node) for node in _NODES}
    policy = str(parameters['vla'].get('policy', ''))
    if not policy and not parameters['driver']:
        # A run whose nodes somebody else started: all that is known is in the recipe.
        policy = _policy_of_recipe(folder)
    return Original(folder, states=states, parameters=parameters, policy=policy)


def _saved(folder: pathlib.Path, node: str) -> dict[str, Any]:
    """The parameters of one node that a replay takes over; empty if none were kept."""
    wanted = _NODES[node]
    parameters = run_dir.saved_parameters(folder, node)
    return {k: v for k, v in parameters.items() if wanted is None or k in wanted}


def _policy_of_recipe(folder: pathlib.Path) -> str:
    for path in sorted(folder.glob('recipe_*.jsonl')):
        try:
            return str(recipe.load(path).facts.get('policy') or '')
        except BadRecipe:
            continue
    return ''
