"""`rpent mcp`: the robot's tools on stdin and stdout, for clients that start servers themselves.

Stdout carries nothing but the protocol.  The command serves until its stdin ends, also after the
run has ended: many clients would start it again, and with it another run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rpent_ros import exit_codes
from rpent_ros.cli import mcp_config, run
from rpent_ros.cli.arguments import Parser
from rpent_ros.errors import RpentError

_DESCRIPTION = """\
Serve a robot to an MCP client (Claude Code, Claude Desktop, Cursor, Codex ...) that starts this
command and speaks over its stdin and stdout.

  rpent mcp                  hand on the tools of the run or graph that is served on this machine
  rpent mcp --env NAME ...   start `rpent run --cerebrum mcp` with these options and hand on its
                             tools; takes all options of rpent run; ends the run with stdin
"""


def main(argv: Sequence[str]) -> int:
    """Serve, or print what was asked for; returns the exit code."""
    options, rest = _parser().parse_known_args(argv)
    try:
        if options.print_config:
            _check_run_options(rest, options)
            print(mcp_config.snippet(options.print_config, [*_given(options), *rest]))
            return exit_codes.ACHIEVED
        if options.list:
            return _list()
        # The libraries of the protocol take half a second to import.
        from rpent_ros.cli import mcp_serve

        if not _starts_run(rest):
            _refuse_others(rest)
            return mcp_serve.serve_running(options.namespace, options.url)
        _check_run_options(rest, options)
        return mcp_serve.serve_new([*_given(options), *rest])
    except RpentError as error:
        print(f'rpent mcp: {error}', file=sys.stderr)
        return exit_codes.USAGE


def _parser() -> Parser:
    out = Parser(
        prog='rpent mcp',
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = out.add_argument
    add('--namespace', default='', metavar='NAME', help='choose among several that are served')
    add('--url', default='', metavar='URL', help='likewise')
    add('--list', action='store_true', help='print what is served on this machine')
    add('--print-config', choices=mcp_config.CLIENTS, metavar='CLIENT',
        help=f'print how to add this command to a client: {", ".join(mcp_config.CLIENTS)}')
    return out  # fmt: skip


def _given(options: argparse.Namespace) -> list[str]:
    """The options that were given and that a client must repeat."""
    out = []
    if options.namespace:
        out += ['--namespace', options.namespace]
    if options.url:
        out += ['--url', options.url]
    return out


def _starts_run(rest: Sequence[str]) -> bool:
    return any(word.partition('=')[0] in ('--env', '--robot') for word in rest)


def _refuse_others(rest: Sequence[str]) -> None:
    if rest:
        _parser().error(f'{rest[0]} starts a run and needs --env NAME')


def _check_run_options(rest: Sequence[str], options: argparse.Namespace) -> None:
    """End the process with a sentence if `rpent run` would not take these options."""
    if not _starts_run(rest):
        _refuse_others(rest)
        return
    if options.url:
        _parser().error('--url names a server that runs, and --env starts another one')
    parsed = run.parser('rpent mcp').parse_args(rest)
    if parsed.cerebrum not in ('scripted', 'mcp'):
        _parser().error(f'--cerebrum {parsed.cerebrum}: over MCP the client is the planner')


def _list() -> int:
    from rpent_ros.mcp import endpoint

    for found in endpoint.running():
        print(found)
    return exit_codes.ACHIEVED
