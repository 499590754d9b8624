"""`rpent replay`: play a finished run again in a fresh graph, and compare what came out."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from rpent_ros import exit_codes, files, run_dir
from rpent_ros.cli.arguments import Parser, integer
from rpent_ros.cli.domain import choose
from rpent_ros.cli.supervised_run import SupervisedRun
from rpent_ros.ending import shown
from rpent_ros.errors import RpentError
from rpent_ros.graph import GraphConfig, describe, describe_replay
from rpent_ros.replay import original, report
from rpent_ros.replay.compare import compare
from rpent_ros.video import logged_episode

# Options that say how to play.
_OF_REPLAYS = ('actions', 'output_dir', 'overwrite', 'record', 'domain_id')


def main(argv: Sequence[str]) -> int:
    """Replay; 0 the same, 1 not the same, 2 wrong usage, 3 the replay failed, 130 Ctrl-C.

    With --verify: 0 achieved, 1 not achieved.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    given = [name for name in _OF_REPLAYS if getattr(options, name)]
    if options.verify and given:
        parser.error(f'--verify plays nothing, so --{given[0].replace("_", "-")} means nothing')
    try:
        if options.verify:
            return _verify(options.folder)
        choose(options.domain_id)
        return _replay(options)
    except RpentError as error:
        print(f'rpent replay: {error}', file=sys.stderr)
        return exit_codes.USAGE


def _parser() -> Parser:
    out = Parser(
        prog='rpent replay',
        description='Play the recipe of a finished run in a fresh graph, and tell whether the '
        "simulator's states come out the same, bit for bit.",
        allow_abbrev=False,
    )
    add = out.add_argument
    add('folder', metavar='RUN_DIR', help='output folder of the run')
    add('--actions', action='store_true',
        help='play the recorded actions, control step by control step, instead of the recipe')
    add('--verify', action='store_true',
        help="play nothing: ask the task's own predicate about the logged states; exit code 0 if "
        'it holds in the final one, 1 if not')
    add('--output-dir', default='', metavar='DIR',
        help='folder for the replay (default: <RUN_DIR>_replay, or the next free number)')
    add('--overwrite', action='store_true', help='replace an earlier run in that folder')
    add('--record', action='store_true', help='write a rosbag of the replay')
    add('--domain-id', type=integer, metavar='N',
        help='ROS domain (default: ROS_DOMAIN_ID, else a free one)')
    return out  # fmt: skip


def _verify(folder: str) -> int:
    """Say what the predicate says; returns the exit code."""
    # Imported here: it loads a simulator into this process, which no other replay does.
    from rpent_ros.replay.verify import verify

    verdict = verify(folder)
    print(f'verify: {verdict}', flush=True)
    said = run_dir.read_result(pathlib.Path(folder).expanduser()).get('achieved')
    if isinstance(said, bool) and said != verdict.achieved:
        print(f'verify: result.json says achieved: {str(said).lower()}', flush=True)
    return exit_codes.ACHIEVED if verdict.achieved else exit_codes.NOT_ACHIEVED


def _replay(options: argparse.Namespace) -> int:
    run = original.load(options.folder)
    mode = report.ACTIONS if options.actions else report.RECIPE
    folder = pathlib.Path(options.output_dir or _new_folder(run.folder)).absolute()
    config = _graph_config(run, mode, folder, options)
    if options.actions:
        processes = describe_replay(config, run.states.path)
    else:
        processes = describe(config)
    supervised = SupervisedRun(
        config, video=False, processes=processes, title=f'replay of {shown(run.folder)} ({mode})'
    )
    code = supervised.execute()
    if code == exit_codes.INTERRUPTED:
        return code
    return _judge(run, mode, folder, supervised.result)


def _judge(run: original.Original, mode: str, folder: pathlib.Path, result: dict[str, Any]) -> int:
    """Compare, tell and write down; returns the exit code."""
    try:
        comparison = compare(run.states, logged_episode(folder))
    except RpentError as error:
        print(f'rpent replay: there is nothing to compare with: {error}', file=sys.stderr)
        return exit_codes.COMPONENT_FAILED
    told = report.document(run, comparison, mode=mode, folder=folder, result=result)
    with files.writing(folder, report.FILE):
        files.write_json(folder / report.FILE, told)
    print(f'\nreplay: {told["sentence"]}', flush=True)
    return exit_codes.ACHIEVED if comparison.repeats else exit_codes.NOT_ACHIEVED


def _graph_config(
    run: original.Original, mode: str, folder: pathlib.Path, options: argparse.Namespace
) -> GraphConfig:
    """The original's graph, with the scripted planner and without limits on what it may spend."""
    header = run.states.header
    return GraphConfig(
        str(header['robot']),
        suite=str(header['suite']),
        task=int(header['task']),
        seed=int(header['seed']),
        recipe=str(run.recipe_path) if mode == report.RECIPE else '',
        vla=run.policy or 'none',
        # A recipe holds what moves; nothing in it looks.
        segmenter='none',
        output_dir=str(folder),
        overwrite=options.overwrite,
        record=options.record,
        max_tool_calls=0,
        max_seconds=0.0,
        parameters=run.parameters,
    )


def _new_folder(folder: pathlib.Path) -> pathlib.Path:
    """A folder beside the original's that does not exist yet."""
    numbers = ('', *(f'_{n}' for n in range(2, 1000)))
    paths = (folder.parent / f'{folder.name}_replay{number}' for number in numbers)
    return next(path for path in paths if not path.exists())

