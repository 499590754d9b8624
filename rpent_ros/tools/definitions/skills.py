"""Skills of a learned policy."""

from __future__ import annotations

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import ToolDefinition
from rpent_ros.tools.definitions.shared import MOTION_CODES, MOTION_KEYS, MOTION_RESULT

_RESULTS = {
    'stopped_by': 'success, lifted, dropped, policy_done, max_chunks, episode_over, cancelled or '
    'error',
    'policy': 'name of the policy',
    'policy_status': 'what the policy said it was doing',
    'privileged': 'present and true if the policy reads simulator state that no real robot has',
    'chunks': 'inferences made',
    'descent': 'how far the tool went down from its start [m]',
    'lift': 'how far it is above its lowest point [m]',
    **{
        key: meaning
        for key, meaning in MOTION_KEYS.items()
        if key not in ('settled', 'distance_left', 'angle_left')
    },
}
_CODES = (
    ErrorCode.NOT_GRASPED,
    *(code for code in MOTION_CODES if code != ErrorCode.NOT_REACHED),
    ErrorCode.BAD_INSTRUCTION,
    ErrorCode.NO_PLAN,
    ErrorCode.BAD_OBSERVATION,
    ErrorCode.INFERENCE_FAILED,
)


def _prompt() -> schema.Schema:
    return schema.text(
        'What the policy shall do, worded like the task sentence, e.g. "pick up the milk".',
        maxLength=500,
    )


def _max_chunks(default: int) -> schema.Schema:
    return schema.integer(
        'Longest motion, in chunks of 10 steps.', minimum=1, maximum=200, default=default
    )


def pi0_pick() -> ToolDefinition:
    """Learned pick."""
    return ToolDefinition(
        'pi0_pick',
        description='Let the learned policy pick up an object, chunk after chunk, until the arm '
        'has gone down, closed on something and lifted it, and the fingers still hold it when '
        'they rest.  Start high above the scene.  Ends with NOT_GRASPED if nothing was lifted.  '
        + MOTION_RESULT,
        arguments={'prompt': _prompt(), 'max_chunks': _max_chunks(40)},
        results=_RESULTS,
        codes=_CODES,
    )


def pi0_doubled() -> ToolDefinition:
    """Learned skill without a verdict of its own."""
    return ToolDefinition(
        'pi0_doubled',
        description='Let the learned policy carry out an instruction (push, turn, open, place), '
        'chunk after chunk, until the task is solved, the policy says it is done, or the chunks '
        'are used up; `stopped_by` tells which.  Ends with NOT_GRASPED when a hand that carried '
        'something has become empty.  ' + MOTION_RESULT,
        arguments={'prompt': _prompt(), 'max_chunks': _max_chunks(60)},
        results=_RESULTS,
        codes=_CODES,
    )
