"""Starts the processes of a graph, watches them, and leaves none behind.

For machines without launch_ros.  One thread and one event loop: output, exits and signals all
wake the same selector, so nothing polls.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from rpent_ros.cli.child import Child, Command, is_ready_line
from rpent_ros.cli.input_pipe import InputPipe
from rpent_ros.ending import Outcome

# Signal, and how long it is given before the next stronger one is sent [s].  With the head start
# of the process that ends the run, this stays under the five seconds in which an aborted run
# promises to be gone.
_LADDER = ((signal.SIGINT, 1.8), (signal.SIGTERM, 0.6), (signal.SIGKILL, 0.5))
_HEAD_START = 1.6
_IMPATIENT_GRACE = 0.3
_NO_SIGNAL = 0


class Person(Protocol):
    """Somebody who steers a run while it goes on; called on the supervisor's loop."""

    def fileno(self) -> int:
        """A file that is readable when the person has said something."""

    def attend(self) -> None:
        """Take in what the person has said."""

    def pressed(self) -> bool:
        """SIGINT has come; True: it is dealt with, False: it shall end the run."""


class Supervisor:
    """Runs the processes of one graph.

    Args:
      commands: what to start.
      log_dir: folder for <name>.log; created.
      env: environment of the processes.
      on_line: called with (name, line) for every line that a process prints.
      on_ready: called with the name of a process that has become ready.

    Raises:
      ValueError: a command waits for one that does not exist, none ends the run, or several take
        input.
    """

    def __init__(
        self,
        commands: Iterable[Command],
        *,
        log_dir: pathlib.Path,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str, str], None] = lambda name, line: None,
        on_ready: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._commands = tuple(commands)
        known: set[str] = set()
        for command in self._commands:
            if not known.issuperset(command.after):
                raise ValueError(f'{command.name}: expected {command.after} to come before it')
            known.add(command.name)
        if sum(command.ends_run for command in self._commands) != 1:
            raise ValueError('expected exactly one command that ends the run')
        if sum(command.stdin for command in self._commands) > 1:
            raise ValueError('expected at most one command with stdin')
        self._log_dir = log_dir
        # Nodes that see this end when the supervisor is gone, even if it was killed.
        self._env = dict(os.environ if env is None else env)
        self._env['RPENT_PARENT_WATCH'] = str(os.getpid())
        self._on_line = on_line
        self._on_ready = on_ready
        self._children: dict[str, Child] = {}
        self._selector = selectors.DefaultSelector()
        self._input = InputPipe(self._selector)
        self._person: Person | None = None
        self._interrupts = 0
        self._failure = ''
        self._stopping = False

    def run(self) -> Outcome:
        """Start everything, wait for the end, stop everything.

        Returns when no process is left.  Must be called from the main thread.
        """
        self._log_dir.mkdir(parents=True, exist_ok=True)
        returncode, last_line = None, ''
        with self._catch_signals(), self._selector:
            try:
                self._start_all()
                self._pump_until(self._over)
                if not self._aborted:
                    returncode = self._ending.process.returncode
                    if returncode < 0:
                        self._fail(self._ending.describe_exit())
            finally:
                self._stop_all()
                survivors = self._sweep()
                last_line = self._last_line()
                self._input.abandon()
                for child in self._children.values():
                    child.close()
        return Outcome(
            returncode,
            interrupted=self._interrupts > 0,
            failure=self._failure,
            survivors=survivors,
            last_line=last_line,
        )

    def listen(self, person: Person) -> None:
        """Let a person steer the run; called before `run`."""
        self._person = person
        self._selector.register(person.fileno(), selectors.EVENT_READ, person.attend)

    def send(self, data: bytes) -> bool:
        """Write to the process that takes input; False if it has ended or its input was closed.

        Returns at once; what is sent before the process is started waits for it.
        """
        return self._input.send(data)

    def close_input(self) -> None:
        """Close that process's input after what has been sent."""
        self._input.close()

    def interrupt(self) -> None:
        """End the run as Ctrl-C does."""
        self._interrupts += 1

    @property
    def _ending(self) -> Child:
        return next(c for c in self._children.values() if c.command.ends_run)

    def _last_line(self) -> str:
        """The last words of the process that ends the run; '' if it said nothing."""
        ending = [child for child in self._children.values() if child.command.ends_run]
        return ending[0].last_line if ending else ''

    @property
    def _aborted(self) -> bool:
        return self._interrupts > 0 or self._failure != ''

    def _over(self) -> bool:
        return self._aborted or not self._ending.running

    def _start_all(self) -> None:
        """Start each process as soon as those it waits for are ready."""
        waiting = list(self._commands)
        while waiting and not self._aborted:
            ready = self._ready()
            for command in [c for c in waiting if ready.issuperset(c.after)]:
                waiting.remove(command)
                self._start(command)
            if waiting:
                self._pump_until(self._changed_since(ready))

    def _changed_since(self, ready: set[str]) -> Callable[[], bool]:
        return lambda: self._aborted or self._ready() != ready

    def _ready(self) -> set[str]:
        return {child.name for child in self._children.values() if child.ready}

    def _start(self, command: Command) -> None:
        try:
            child = Child(command, self._log_dir / f'{command.name}.log', self._env)
        except OSError as error:
            self._fail(f'{command.name} cannot be started: {error}')
            return
        self._children[command.name] = child
        self._selector.register(child.output, selectors.EVENT_READ, self._read_output(child))
        self._selector.register(child.exit_fd, selectors.EVENT_READ, self._note_exit(child))
        if child.process.stdin is not None:
            self._input.attach(child.process.stdin)

    def _read_output(self, child: Child) -> Callable[[], None]:
        def read() -> None:
            lines = child.read()
            if lines is None:
                self._selector.unregister(child.output)
                return
            for line in lines:
                if not child.ready and is_ready_line(line):
                    child.ready = True
                    self._on_ready(child.name)
                self._on_line(child.name, line)

        return read

    def _note_exit(self, child: Child) -> Callable[[], None]:
        def note() -> None:
            self._selector.unregister(child.exit_fd)
            child.process.wait()
            self._drain(child)
            if child.command.stdin:
                self._input.abandon()
            if not child.command.ends_run and not self._stopping:
                self._fail(child.describe_exit())

        return note

    def _drain(self, child: Child) -> None:
        """Read what an ended process left in its pipe, without waiting for its own children."""
        if child.output not in self._selector.get_map():
            return
        os.set_blocking(child.output.fileno(), False)
        read = self._read_output(child)
        while child.output in self._selector.get_map():
            try:
                read()
            except BlockingIOError:
                return

    def _fail(self, sentence: str) -> None:
        # The first failure is the cause; what comes after it are its consequences.
        if not self._aborted:
            self._failure = sentence

    def _pump_until(self, done: Callable[[], bool], timeout: float | None = None) -> None:
        """Handle events until `done()`, at most `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not done():
            limits = [] if deadline is None else [deadline]
            if not self._stopping:
                limits += [c.ready_deadline for c in self._children.values() if c.is_awaited]
            remaining = max(0.0, min(limits) - time.monotonic()) if limits else None
            for key, _ in self._selector.select(remaining):
                if key.fileobj in self._selector.get_map():
                    key.data()
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return
            for child in self._children.values():
                if child.is_awaited and now >= child.ready_deadline and not self._stopping:
                    self._fail(child.describe_silence())

    def _stop_all(self) -> None:
        """End every process; after a run that went wrong, within five seconds."""
        self._stopping = True
        everyone = tuple(self._children.values())
        if not self._aborted:
            patient = [c for c in everyone if c.command.patience > 0]
            for child in patient:
                child.signal_group(signal.SIGINT)
            self._climb(_LADDER, [c for c in everyone if c not in patient])
            wait = max((c.command.patience for c in patient), default=0.0)
            self._climb(((_NO_SIGNAL, wait), *_LADDER[1:]), patient)
            return
        ending = [child for child in everyone if child.command.ends_run]
        self._climb(((signal.SIGINT, _HEAD_START),), ending)
        self._climb(_LADDER, everyone)

    def _climb(self, ladder: Sequence[tuple[int, float]], children: Sequence[Child]) -> None:
        """Send each signal to those that still run and give them its time.

        Whoever presses Ctrl-C again does not want to wait: the times become short.
        """
        for number, grace in ladder:
            for child in children:
                if child.running:
                    child.signal_group(number)
            impatient = self._interrupts > 1
            self._pump_until(
                self._gone_or_pressed(children),
                min(grace, _IMPATIENT_GRACE) if impatient else grace,
            )

    def _gone_or_pressed(self, children: Sequence[Child]) -> Callable[[], bool]:
        before = self._interrupts
        return lambda: self._interrupts > before or not any(c.running for c in children)

    def _sweep(self) -> tuple[int, ...]:
        """Kill what the processes started and did not end themselves."""
        sessions = {child.process.pid for child in self._children.values()}
        for child in self._children.values():
            child.signal_group(signal.SIGKILL)
        deadline = time.monotonic() + 0.5
        while (left := processes_in_sessions(sessions)) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        return left

    @contextlib.contextmanager
    def _catch_signals(self) -> Iterator[None]:
        """Turn SIGINT and SIGTERM into events of the loop."""
        receiver, sender = socket.socketpair()
        receiver.setblocking(False)
        sender.setblocking(False)
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        previous = {n: signal.signal(n, lambda *_: None) for n in numbers}
        wakeup = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)

        def note_signals() -> None:
            for number in receiver.recv(64):
                pressed = number == signal.SIGINT and not self._stopping
                if not (pressed and self._person is not None and self._person.pressed()):
                    self._interrupts += 1

        self._selector.register(receiver, selectors.EVENT_READ, note_signals)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in previous.items():
                signal.signal(number, handler)
            receiver.close()
            sender.close()


def processes_in_sessions(sessions: Iterable[int]) -> tuple[int, ...]:
    """Ids of the living processes whose session leader is one of these."""
    wanted = set(sessions)
    found = []
    for entry in pathlib.Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # After the command's closing bracket: state, parent, group, session.
            fields = (entry / 'stat').read_text().rpartition(')')[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) in wanted and fields[0] not in 'ZX':
            found.append(int(entry.name))
    return tuple(found)
