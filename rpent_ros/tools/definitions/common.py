"""Tools that every robot has, whatever it looks like."""

from __future__ import annotations

from rpent_ros.errors import ErrorCode
from rpent_ros.tools import schema
from rpent_ros.tools.definition import Effect, ToolDefinition

_PATH = (
    "Path below the run's folder, such as notes.md, or <name>:<path> for a memory folder, such as "
    'memory:MEMORY.md.'
)


def read_text_file() -> ToolDefinition:
    """Read notes."""
    return ToolDefinition(
        'read_text_file',
        description='Read a text file of this run or of a memory folder.',
        arguments={
            'path': schema.text(_PATH, maxLength=500),
            'max_chars': schema.integer(
                'Longest text that is returned [characters].',
                minimum=1,
                maximum=200_000,
                default=40_000,
            ),
        },
        results={
            'path': 'as given',
            'size': 'length of the whole text [characters]',
            'content': 'the text, or its beginning',
            'truncated_text': 'true if there is more',
        },
        codes=(ErrorCode.BAD_PATH,),
        effect=Effect.READS,
    )


def write_text_file() -> ToolDefinition:
    """Write notes."""
    return ToolDefinition(
        'write_text_file',
        description='Write a text file, such as notes, into the folder of this run or a memory '
        'folder; an earlier file of that name is replaced.  What the run itself records cannot '
        'be overwritten.',
        arguments={
            'path': schema.text(_PATH, maxLength=500),
            'content': {
                'type': 'string',
                'description': 'The whole text.',
                'maxLength': 200_000,
            },
        },
        results={'path': 'as given', 'bytes_written': 'size of the file [bytes]'},
        codes=(ErrorCode.BAD_PATH,),
        effect=Effect.WRITES_FILES,
    )


def list_dir() -> ToolDefinition:
    """List a folder."""
    return ToolDefinition(
        'list_dir',
        description="List the files of one folder, not of those below it: the run's own folder, "
        'or a memory folder such as memory:.',
        arguments={
            'path': {
                'type': 'string',
                'description': "Folder; empty: the run's own.",
                'maxLength': 500,
                'default': '',
            },
        },
        results={
            'path': 'as given',
            'count': 'number of entries',
            'files': 'name and bytes [bytes] of each, folders with / at the end; the first 200',
            'memory': 'memory folders: name, and whether they may be written',
        },
        codes=(ErrorCode.BAD_PATH,),
        effect=Effect.READS,
    )


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
