"""What MCP clients are offered beyond the robot's own tools, and how a tool is shown to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import types

from rpent_ros.tools import schema
from rpent_ros.tools.definition import Effect, ToolDefinition

TASK_PROMPT = types.Prompt(
    name='task', title="The robot's task", description='Role, rules and task; start with this.'
)
TASK_RESOURCE = types.Resource(
    name='task', uri='rpent://task', title="The robot's task", mime_type='text/markdown',
    description='Role, rules and task.',
)  # fmt: skip
# Claude Code moves longer results to a file, which a model without file tools cannot read, and
# shows a model no definition of a tool that it has not searched for.
_FOR_CLAUDE_CODE = {'anthropic/maxResultSizeChars': 500_000, 'anthropic/alwaysLoad': True}


def own_tools(answer_within_s: float, *, with_task: bool) -> dict[str, ToolDefinition]:
    """Tools that exist over MCP only, by name.

    Args:
      answer_within_s: the longest that `wait` waits [s].
      with_task: offer a tool that tells the task, for clients that show neither a server's
        instructions nor its prompts.
    """
    tools = [
        ToolDefinition(
            'wait',
            description='Wait for a tool that was answered with "running": true, and get its '
            'result with the pictures. Returns as soon as the tool ends, or after `seconds` with '
            '"running": true again: then call wait again. A result stays until you have it.',
            arguments={
                'handle': schema.optional_text(
                    'Handle of the call; null: the newest one whose result you do not have.'
                ),
                'seconds': schema.number(
                    f'Longest time to wait [s]; more than {answer_within_s:g} counts as that.',
                    minimum=0.0, default=answer_within_s,
                ),
            },
            effect=Effect.READS,
        ),
        ToolDefinition(
            'cancel',
            description='Stop the robot now. Returns when it holds still. The tool that was '
            'moving it answers with code CANCELED.',
            arguments={
                'handle': schema.optional_text(
                    'Handle of the call to stop; null: whatever moves the robot.'
                ),
            },
            effect=Effect.READS,
        ),
    ]  # fmt: skip
    if with_task:
        tools.insert(0, ToolDefinition(
            'read_task',
            description='Your role, the rules and the task. Read this before anything else.',
            effect=Effect.READS,
        ))
    return {tool.name: tool for tool in tools}


def to_mcp(spec: Mapping[str, Any], *, reads_only: bool) -> types.Tool:
    """A tool's definition as MCP clients take it."""
    return types.Tool(
        name=spec['name'],
        description=spec['description'],
        input_schema=spec['input_schema'],
        annotations=types.ToolAnnotations(
            read_only_hint=reads_only, destructive_hint=False, open_world_hint=False
        ),
        _meta=_FOR_CLAUDE_CODE,
    )
