"""`rpent run`: one task, from the command line to the result."""

from __future__ import annotations

import argparse
import datetime
import pathlib
import sys
from collections.abc import Sequence

from rpent_ros import exit_codes
from rpent_ros.cli.arguments import Parser, integer, number
from rpent_ros.cli.domain import choose
from rpent_ros.cli.supervised_run import SupervisedRun
from rpent_ros.errors import RpentError
from rpent_ros.graph import GraphConfig
from rpent_ros.run_dir import recipe_tag


def main(argv: Sequence[str]) -> int:
    """Run one task; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        return run(options)
    except RpentError as error:
        print(f'rpent run: {error}', file=sys.stderr)
        return exit_codes.USAGE


def parser(prog: str = 'rpent run') -> Parser:
    """The options of `rpent run`."""
    out = Parser(
        prog=prog,
        description='Run one task through the whole graph and write everything down.',
        allow_abbrev=False,
    )
    add = out.add_argument
    add('--env', '--robot', dest='robot', default='libero', metavar='NAME',
        help='folder below robots/ (default: libero)')
    add('--suite', default='', help="task suite (default: the robot's)")
    add('--task', type=integer, default=0, metavar='N', help='task of the suite (default: 0)')
    add('--seed', type=integer, default=0, metavar='N', help='initial state (default: 0)')
    add('--instruction', default='', metavar='TEXT',
        help="sentence for the planner (default: the task's own)")
    add('--cerebrum', default='scripted', metavar='NAME', help='planner (default: scripted)')
    add('--recipe', default='', metavar='FILE', help='tool calls for the scripted planner to play')
    add('--model', default='', metavar='NAME',
        help="language model, e.g. anthropic:claude-opus-4-8 (default: the planner's)")
    add('--base-url', default='', metavar='URL',
        help="where its provider answers (default: the vendor's address)")
    add('--effort', default='', metavar='LEVEL',
        help='how much it thinks: low, medium, high or max (default: its own)')
    add('--mcp-port', type=integer, metavar='N',
        help='port for MCP clients (default: a free one)')
    add('--vla', default='', metavar='NAME',
        help="policy, or none for no vla node (default: the robot's)")
    add('--vla-endpoint', default='', metavar='ADDRESS', help='model server that already runs')
    add('--segmenter', default='classical', metavar='NAME',
        help='what finds things in images, or none (default: classical)')
    add('--output-dir', default='', metavar='DIR',
        help='folder for everything (default: runs/<time>_<task>)')
    add('--overwrite', action='store_true', help='replace an earlier run in that folder')
    add('--namespace', default='', metavar='NAME', help="ROS namespace (default: robot's name)")
    add('--camera-rate', type=number, metavar='HZ', help='highest rate of each camera topic')
    add('--no-record', action='store_true', help='write no rosbag')
    add('--no-video', action='store_true', help='render no episode.mp4')
    add('--image-size', type=integer, metavar='PX',
        help="longer side of the planner's pictures (default: the robot's)")
    add('--text-only', action='store_true',
        help='give the planner words and numbers in place of pictures')
    add('--memory', action='append', default=[], metavar='DIR',
        help='folder that the file tools may use, DIR:ro for reading only; may be repeated')
    add('--max-tool-calls', type=integer, metavar='N', help='end the run after N tool calls')
    add('--max-seconds', type=number, metavar='S', help='end the run after S seconds')
    add('--max-turns', type=integer, metavar='N', help='end the run after N answers of the model')
    add('--max-tokens', type=integer, metavar='N', help='end the run after N tokens')
    add('--max-usd', type=number, metavar='USD', help='end the run after so many US dollars')
    add('--physics', default='', metavar='NAME', help='how the simulator computes')
    add('--params-file', default='', metavar='FILE', help='ROS parameter file; beats others')
    add('--domain-id', type=integer, metavar='N',
        help='ROS domain (default: ROS_DOMAIN_ID, else a free one)')
    return out  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Carry out what the options ask for; returns the exit code.

    Raises:
      RpentError: wrong usage; nothing has been started.
    """
    choose(options.domain_id)
    config = graph_config(options)
    return SupervisedRun(config, video=not options.no_video).execute()


def graph_config(options: argparse.Namespace) -> GraphConfig:
    """The graph that the options describe, with an output folder of its own."""
    return GraphConfig(
        options.robot,
        suite=options.suite,
        task=options.task,
        seed=options.seed,
        instruction=options.instruction,
        cerebrum=options.cerebrum,
        recipe=options.recipe,
        model=options.model,
        base_url=options.base_url,
        effort=options.effort,
        mcp_port=options.mcp_port,
        vla=options.vla,
        vla_endpoint=options.vla_endpoint,
        segmenter=options.segmenter,
        output_dir=options.output_dir or str(_new_folder(options)),
        overwrite=options.overwrite,
        namespace=options.namespace,
        camera_rate=options.camera_rate,
        record=not options.no_record,
        physics=options.physics,
        image_size=options.image_size,
        text_only=options.text_only,
        memory_dirs=tuple(options.memory),
        max_tool_calls=options.max_tool_calls,
        max_seconds=options.max_seconds,
        max_turns=options.max_turns,
        max_tokens=options.max_tokens,
        max_usd=options.max_usd,
        params_file=options.params_file,
    )


def _new_folder(options: argparse.Namespace) -> pathlib.Path:
    """A folder below runs/ that does not exist yet."""
    tag = recipe_tag(options.suite or options.robot, options.task, options.seed)
    now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
    names = (f'{now}_{tag}{suffix}' for suffix in ('', *(f'_{n}' for n in range(2, 1000))))
    return next(p for p in (pathlib.Path('runs') / name for name in names) if not p.exists())
