"""What happens in a run, told to whoever listens: ROS topics, run.log, a person's terminal."""

from __future__ import annotations

import dataclasses
import logging
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rpent_ros import files
from rpent_ros.tools.dump import StepDump

RUN_STARTED = 'run_started'
TOOL_CALL = 'tool_call'
TOOL_RESULT = 'tool_result'
MESSAGE = 'message'
WARNING = 'warning'
USAGE = 'usage'
INTERRUPT = 'interrupt'
RUN_FINISHED = 'run_finished'


@dataclasses.dataclass(frozen=True)
class Event:
    """One thing that happened.

    Attributes:
      kind: run_started, tool_call, tool_result, message, warning, usage, interrupt or
        run_finished.
      run_id: run that it belongs to.
      turn: tool call number from 1; 0: not tied to a call.
      name: tool name or sender; '' for none.
      data: details in JSON types.
    """

    kind: str
    _: dataclasses.KW_ONLY
    run_id: str
    turn: int = 0
    name: str = ''
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Sink(Protocol):
    """Somebody who follows runs.  Must return quickly and must not raise."""

    def event(self, event: Event) -> None:
        """Something happened."""

    def step(self, run_id: str, dump: StepDump) -> None:
        """A state dump was written."""


class Fanout:
    """Several sinks as one, told in order."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def event(self, event: Event) -> None:
        """Pass on."""
        for sink in self._sinks:
            sink.event(event)

    def step(self, run_id: str, dump: StepDump) -> None:
        """Pass on."""
        for sink in self._sinks:
            sink.step(run_id, dump)


class LineSink:
    """One short line per event, for terminals and logs."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._calls: dict[int, str] = {}

    def event(self, event: Event) -> None:
        """Write the event; a call and its result share one line."""
        if event.kind == TOOL_CALL:
            self._calls[event.turn] = f'{event.name} {short(event.data.get("arguments", {}))}'
            return
        if event.kind == TOOL_RESULT:
            call = self._calls.pop(event.turn, event.name)
            self._write(f'{event.turn:3d}  {call}\n     {summary(event.data)}')
            return
        self._write(_LINES[event.kind](event))

    def step(self, run_id: str, dump: StepDump) -> None:
        """Dumps show up in the results."""


class LogSink:
    """The same lines in a run's log file, with time; closes with `close`.

    Raises:
      BadOutputDir: the file cannot be made.
    """

    def __init__(self, path: pathlib.Path) -> None:
        with files.writing(path.parent, path.name):
            self._handler = _LineHandler(files.LineFile(path))
        self._handler.setFormatter(logging.Formatter('%(asctime)s %(levelname)s %(message)s'))
        self._logger = logging.getLogger('rpent_ros')
        self._logger.addHandler(self._handler)
        self._logger.setLevel(min(self._logger.getEffectiveLevel(), logging.INFO))
        self._lines = LineSink(self._emit)

    def event(self, event: Event) -> None:
        """Write the event."""
        self._lines.event(event)

    def step(self, run_id: str, dump: StepDump) -> None:
        """Write where the dump's pictures are."""
        self._emit(f'state dump {dump.index}: {", ".join(dump.entry["artifacts"])}')

    def close(self) -> None:
        """Detach from the logger and close the file."""
        self._logger.removeHandler(self._handler)
        self._handler.close()

    def _emit(self, line: str) -> None:
        # Straight to the file: on the terminal these lines would show twice.
        record = logging.LogRecord(
            'rpent_ros', logging.INFO, __file__, 0, line.replace('\n     ', ' -> '), (), None
        )
        self._handler.handle(record)


class _LineHandler(logging.Handler):
    """Writes log records as whole lines; says once on stderr when it can no longer."""

    def __init__(self, file: files.LineFile) -> None:
        super().__init__()
        self._file = file
        self._failed = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._failed:
            return
        try:
            self._file.write(self.format(record))
        except OSError as error:
            self._failed = True
            print(
                f'{self._file.path} cannot be written: {error.strerror or error}; nothing more is '
                'logged there',
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def short(arguments: Any) -> str:
    """Arguments on one line: numbers to 3 digits, nothing that is null, long text cut."""
    if not isinstance(arguments, Mapping):
        # What a planner wrote in place of arguments.
        return _value(arguments)
    return ' '.join(
        f'{name}={_value(value)}' for name, value in arguments.items() if value is not None
    )


def summary(data: Mapping[str, Any]) -> str:
    """A tool result on one line."""
    parts = ['ok']
    if not data.get('ok', True):
        parts = [f'{data.get("code", "UNKNOWN")}: {data.get("message", "")}']
    if data.get('steps') is not None:
        parts.append(f'{data["steps"]} steps')
    if data.get('seconds') is not None:
        parts.append(f'{data["seconds"]:.1f} s')
    for name in ('distance_left', 'xyz', 'holding', 'stopped_by', 'clamped', 'success', 'status'):
        value = data.get(name)
        if value not in (None, False, '', []):
            parts.append(f'{name}={_value(value)}')
    if data.get('privileged'):
        parts.append('privileged')
    if data.get('image_paths'):
        parts.append(str(data['image_paths'][0]))
    return '  '.join(parts)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f'{value:.3f}'
    if isinstance(value, (list, tuple)):
        return '[' + ', '.join(_value(item) for item in value) + ']'
    text = str(value)
    return text if len(text) <= 60 else text[:57] + '...'


def _usage(data: Mapping[str, Any]) -> str:
    read = data['input_tokens'] + data['cache_read_tokens'] + data['cache_write_tokens']
    cached = f' ({data["cache_read_tokens"]} from cache)' if data['cache_read_tokens'] else ''
    price = '' if data['usd'] is None else f', {data["usd"]:.4f} US dollars'
    total = data['total']
    so_far = f'{total["tokens"]} tokens'
    if total['usd'] is not None:
        so_far += f', {total["usd"]:.2f} US dollars'
    return (
        f'{data["model"]}: {read} tokens read{cached}, {data["output_tokens"]} written{price}; '
        f'so far {so_far}'
    )


def _interrupt(data: Mapping[str, Any]) -> str:
    said = f': {data["message"]}' if data['message'] else ''
    if not data['tool']:
        return f'interrupted while nothing moved{said}'
    return f'interrupted {data["tool"]}, still after {data["standstill_s"]:.2f} s{said}'


_LINES: Mapping[str, Callable[[Event], str]] = {
    RUN_STARTED: lambda e: f'run {e.run_id}: {e.data.get("instruction", "")}',
    MESSAGE: lambda e: f'{e.name}: {e.data.get("text", "")}',
    WARNING: lambda e: f'warning: {e.data.get("text", "")}',
    USAGE: lambda e: _usage(e.data),
    INTERRUPT: lambda e: _interrupt(e.data),
    RUN_FINISHED: lambda e: (
        f'run {e.run_id}: {e.data.get("reason")}, claimed: {e.data.get("claimed") or "nothing"}, '
        f'achieved: {str(e.data.get("achieved")).lower()}'
    ),
}
