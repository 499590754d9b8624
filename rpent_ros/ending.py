"""How a run ended, and making its folder whole whatever happened.

For whoever started the processes, the supervisor or a launch file, once all of them are gone.
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from rpent_ros import exit_codes, files, run_dir
from rpent_ros.errors import BagFailed, ErrorCode

_BY_STATUS = {
    'achieved': exit_codes.ACHIEVED,
    'not_achieved': exit_codes.NOT_ACHIEVED,
    'refused': exit_codes.USAGE,
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a supervised run ended.

    Attributes:
      returncode: exit status of the process that ends the run; None: it did not end by itself.
      interrupted: somebody pressed Ctrl-C or sent SIGTERM.
      failure: what went wrong, in one sentence; '' if nothing did.
      survivors: ids of processes that could not be killed.
      last_line: last line that the process that ends the run printed; '' for none.
    """

    returncode: int | None = None
    _: dataclasses.KW_ONLY
    interrupted: bool = False
    failure: str = ''
    survivors: tuple[int, ...] = ()
    last_line: str = dataclasses.field(default='', compare=False)


def conclude(folder: pathlib.Path, outcome: Outcome) -> dict[str, Any]:
    """Close what the processes left open and make sure that result.json says what happened.

    Returns:
      The content of result.json; if that could not be written, `unwritten` in it says why.
    """
    reason, detail, code = 'component_failed', outcome.failure, ErrorCode.PEER_DIED
    if outcome.interrupted:
        reason, detail, code = 'interrupted', 'the run was interrupted', ErrorCode.CANCELED
    elif not detail:
        detail = f'the agent ended with {outcome.returncode} and left no result'
        if outcome.last_line:
            detail += f'; the last that it said: {outcome.last_line}'
    if outcome.survivors:
        left = ', '.join(str(pid) for pid in outcome.survivors)
        detail = f'{detail}; these processes could not be killed: {left}'.removeprefix('; ')
    found = run_dir.outcome(folder, reason, detail, code=code)
    result = dict(found)
    if outcome.failure and not outcome.interrupted and result.get('error_msg') != detail:
        # The agent only saw that it was told to end; what made us do so is known here.
        result |= {
            'status': 'failed',
            'reason': reason,
            'error_code': int(code),
            'error_name': code.name,
            'error_msg': detail,
        }
    bag = folder / 'bag'
    if bag.is_dir() and not _told(result.get('bag')):
        result['bag'] = _readable(bag) | _failure_of(result.get('bag'))
    if result != found or not (folder / 'result.json').exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.write_json(folder / 'result.json', result)
        except OSError as error:
            result['unwritten'] = f'{folder / "result.json"}: {error.strerror or error}'
    return result


def exit_code(outcome: Outcome, result: dict[str, Any]) -> int:
    """Exit code of a run that ended like this with this result.json."""
    if outcome.interrupted or outcome.returncode == exit_codes.INTERRUPTED:
        return exit_codes.INTERRUPTED
    if outcome.failure or outcome.survivors:
        return exit_codes.COMPONENT_FAILED
    return _BY_STATUS.get(str(result.get('status')), exit_codes.COMPONENT_FAILED)


def summary_lines(folder: pathlib.Path, result: dict[str, Any]) -> list[str]:
    """What came of a run, and where everything lies."""
    lines = [
        f'achieved: {str(bool(result.get("achieved"))).lower()}',
        f'claimed: {result.get("claimed") or "nothing"}, '
        f'{result.get("tool_calls", 0)} tool calls, {result.get("steps", 0)} control steps'
        + (f', {result["seconds"]:.1f} s' if result.get('seconds') else ''),
    ]
    if result.get('privileged'):
        lines.append('privileged: yes, simulator state was read that a real robot lacks')
    if result.get('reason') not in (None, '', 'finished'):
        lines.append(f'reason: {result["reason"]}')
    if result.get('error_msg'):
        lines.append(f'{result["error_msg"]}')
    if 'unwritten' in result:
        lines.append(f'result.json cannot be written: {result["unwritten"]}')
    lines.append(f'everything is in {shown(folder)}:')
    kept = (
        ('result', 'result.json'),
        ('configuration', 'run.yaml'),
        ('states', 'states.json'),
        ('images', 'images'),
        ('transcript', 'transcript_*.json'),
        ('recipe', 'recipe_*.jsonl'),
        ('log', 'run.log'),
        ('process logs', 'logs'),
        ('rosbag', 'bag'),
        ('video', 'episode.mp4'),
    )
    for title, pattern in kept:
        lines += [f'  {title:14s} {path.name}' for path in sorted(folder.glob(pattern))]
    return lines


def _told(bag: Any) -> bool:
    """True if the agent knows from the recorder that the bag was closed and read back."""
    return isinstance(bag, dict) and 'messages' in bag


def _failure_of(bag: Any) -> dict[str, str]:
    """What the recorder said went wrong, if it did."""
    return {'error': bag['error']} if isinstance(bag, dict) and 'error' in bag else {}


def _readable(bag: pathlib.Path) -> dict[str, Any]:
    from rpent_ros.bag import repair

    try:
        summary = repair(bag)
    except BagFailed as error:
        return {'path': str(bag), 'error': str(error)}
    told: dict[str, Any] = {'path': str(bag), 'messages': summary.messages}
    return told | {'repaired': True} if 'repaired' in summary.custom else told


def shown(path: pathlib.Path) -> str:
    """A path as short as it can be from here."""
    try:
        return str(path.relative_to(pathlib.Path.cwd()))
    except ValueError:
        return str(path)
