"""The verdict about a replay: one sentence for people, one document for programs."""

from __future__ import annotations

import pathlib
from typing import Any

from rpent_ros.replay.compare import Comparison
from rpent_ros.replay.original import Call, Original

FILE = 'replay.json'
SCHEMA_VERSION = 1
RECIPE, ACTIONS = 'recipe', 'actions'


def sentence(original: Original, comparison: Comparison, mode: str) -> str:
    """The verdict in words."""
    steps = comparison.original
    if comparison.verdict == 'identical':
        return f'identical: all {steps} control steps and the final state, bit for bit'
    if comparison.verdict == 'went_on':
        return (
            f'identical, bit for bit, up to control step {steps}, where the log of the original '
            f'ends{_in_call(original.call_at(steps))}; the replay went on to control step '
            f'{comparison.replayed}'
        )
    if comparison.verdict == 'stopped_short':
        return (
            f'differs: identical, bit for bit, up to control step {comparison.replayed}, where '
            f'the replay ended; the original went on to control step {steps}'
            + _in_call(original.call_at(comparison.replayed + 1))
        )
    return _differs(original, comparison, mode)


def document(
    original: Original,
    comparison: Comparison,
    *,
    mode: str,
    folder: pathlib.Path,
    result: dict[str, Any],
) -> dict[str, Any]:
    """The content of replay.json."""
    found = comparison.difference
    call = original.call_at(found.control_step) if found is not None else None
    return {
        'schema_version': SCHEMA_VERSION,
        'mode': mode,
        'original': str(original.folder),
        'replay': str(folder),
        'verdict': comparison.verdict,
        'repeats': comparison.repeats,
        'sentence': sentence(original, comparison, mode),
        'control_steps': {'original': comparison.original, 'replay': comparison.replayed},
        'first_difference': None if found is None else {
            'control_step': found.control_step,
            'turn': call.turn if call else None,
            'tool': call.tool if call else None,
            'other_action': found.action,
            'largest_state_difference': found.largest,
            'largest_state_difference_at_end': found.at_end,
        },
        'other_facts': {
            name: {'original': pair[0], 'replay': pair[1]}
            for name, pair in comparison.facts.items()
        },
        'run': {name: result.get(name) for name in ('status', 'achieved', 'error_msg')},
    }  # fmt: skip


def _differs(original: Original, comparison: Comparison, mode: str) -> str:
    found = comparison.difference
    assert found is not None
    if found.control_step == 0:
        where = 'differs from the start: the reset led to another state'
    else:
        call = original.call_at(found.control_step)
        what = (
            'another action was sent' if found.action else 'the same action led to another state'
        )
        where = f'differs from control step {found.control_step} on{_in_call(call)}: {what}'
    parts = [
        f'{where} (largest difference {found.largest:.3g}, at the end {found.at_end:.3g})'
    ]
    if comparison.facts:
        changes = ', '.join(f'{name} {a} -> {b}' for name, (a, b) in comparison.facts.items())
        parts.append(f'what is not the same: {changes}')
    if mode == RECIPE and found.action:
        parts.append('--actions plays what the robot did instead of the tool calls')
    return '; '.join(parts)


def _in_call(call: Call | None) -> str:
    return f' in tool call {call.turn} ({call.tool})' if call else ''
