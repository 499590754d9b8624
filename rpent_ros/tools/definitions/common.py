"""Tools that every robot has, whatever it looks like."""

from __future__ import annotations

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import Effect, ToolDefinition


def finish() -> ToolDefinition:
    """End the run."""
    return ToolDefinition(
        'finish',
        description='End the run and say how it went.  The claim is recorded beside the verdict '
        "of the task's own predicate, which you cannot change.  Refused while a motion runs, and "
        'for a claim of success before anything has moved.',
        arguments={
            'status': schema.choice('How it went.', ('success', 'failure', 'stuck')),
            'summary': schema.text('What was done and seen, in a few sentences.', maxLength=4000),
        },
        results={'status': 'as given', 'summary': 'as given'},
        codes=(ErrorCode.INVALID_REQUEST,),
        effect=Effect.ENDS,
    )
