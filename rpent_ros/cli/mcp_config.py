"""How to add `rpent mcp` to MCP clients."""

from __future__ import annotations

import json
import pathlib
import shlex
import sys
from collections.abc import Sequence

CLIENTS = ('claude-code', 'claude-desktop', 'codex', 'cursor')


def snippet(client: str, options: Sequence[str]) -> str:
    """A line for a shell, or JSON for the client's file of servers.

    Args:
      client: one of CLIENTS.
      options: of `rpent mcp`.
    """
    command = [*_rpent(), 'mcp', *options]
    if client == 'claude-code':
        return shlex.join(['claude', 'mcp', 'add', 'rpent', '--', *command])
    if client == 'codex':
        return shlex.join(['codex', 'mcp', 'add', 'rpent', '--', *command])
    # Claude Desktop: claude_desktop_config.json; Cursor: ~/.cursor/mcp.json.
    entry = {'command': command[0], 'args': command[1:]}
    return json.dumps({'mcpServers': {'rpent': entry}}, indent=2)


def _rpent() -> list[str]:
    """The entry script of the checkout, or this interpreter if the package was installed."""
    script = pathlib.Path(__file__).resolve().parents[2] / 'rpent'
    if script.is_file():
        return [str(script)]
    return [sys.executable, '-m', 'rpent_ros.cli.main']
