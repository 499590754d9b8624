"""One run under the supervisor: folder, processes, and a result on every way out."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

from rpent_ros import exit_codes, files, run_dir
from rpent_ros.cli.child import Command
from rpent_ros.cli.domain import claimed_domain
from rpent_ros.cli.supervisor import Supervisor
from rpent_ros.ending import Outcome, conclude, exit_code, shown, summary_lines
from rpent_ros.graph import GraphConfig, Process, describe


class SupervisedRun:
    """Runs a graph until its run has ended, and leaves a folder that tells everything.

    Args:
      config: the graph, with an output folder.
      video: render episode.mp4 afterwards.
      processes: the processes of the graph; None: those that `config` describes.
      title: what is run, for people; '' names the planner.

    Raises:
      RpentError: the graph cannot be started as described; nothing has been started.
    """

    def __init__(
        self,
        config: GraphConfig,
        *,
        video: bool = True,
        processes: tuple[Process, ...] | None = None,
        title: str = '',
    ) -> None:
        self._config = config
        self._video = video
        self._processes = processes or describe(config)
        self._title = title or f'cerebrum {config.cerebrum}'
        # The suite may come from a parameter file.
        self._suite = str(self._processes[0].parameters.get('suite', ''))
        tag = run_dir.recipe_tag(self._suite, config.task, config.seed)
        self._folder = run_dir.create(config.output_dir, tag, overwrite=config.overwrite)
        self.result: dict[str, Any] = {}

    def execute(self) -> int:
        """Run; returns the exit code, and leaves the content of result.json in `result`."""
        os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with claimed_domain() as domain:
            os.environ['ROS_DOMAIN_ID'] = str(domain)
            self._announce(domain)
            outcome = self._supervise()
        self.result = self._conclude(outcome)
        code = exit_code(outcome, self.result)
        if self._video and code in (0, 1):
            self._render()
        self._report(self.result)
        if 'unwritten' in self.result:
            told = f'{self.result["unwritten"]}; {self.result.get("error_msg")}'
            print(f'rpent: the result cannot be written: {told}', file=sys.stderr, flush=True)
            return exit_codes.COMPONENT_FAILED
        return code

    def _announce(self, domain: int) -> None:
        config = self._config
        where = 'this machine only'
        if os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] != 'LOCALHOST':
            where = f"discovery range {os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE']}"
        _say(
            f'{config.robot}: {self._suite} task {config.task} seed {config.seed}, {self._title}'
        )
        _say(f'ROS_DOMAIN_ID {domain} ({where}), namespace {self._processes[-1].namespace}')
        _say(f'output: {shown(self._folder.path)}')

    def _supervise(self) -> Outcome:
        logs = self._folder.path / 'logs'
        logs.mkdir(exist_ok=True)
        begun = time.monotonic()

        def show_line(name: str, line: str) -> None:
            if name == self._processes[-1].name and not line.startswith('{'):
                _say(line)

        def show_ready(name: str) -> None:
            _say(f'{name} ready after {time.monotonic() - begun:.1f} s')

        commands = [self._command(process, logs) for process in self._processes]
        return Supervisor(
            commands, log_dir=logs, on_line=show_line, on_ready=show_ready
        ).run()

    def _command(self, process: Process, logs: pathlib.Path) -> Command:
        parameter_file = logs / f'{process.name}.yaml'
        with files.writing(self._folder.path, f'logs/{parameter_file.name}'):
            files.write_bytes(parameter_file, process.parameter_text().encode())
        return Command(
            process.name,
            argv=process.argv(parameter_file),
            after=process.after,
            ready_timeout=process.ready_timeout,
            ends_run=process.ends_run,
            patience=process.patience,
        )

    def _conclude(self, outcome: Outcome) -> dict[str, Any]:
        """Make bag and result.json whole, whatever happened; Ctrl-C waits until that is done."""
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            result = conclude(self._folder.path, outcome)
        finally:
            signal.signal(signal.SIGINT, previous)
        return result

    def _render(self) -> None:
        """Render the video in a process of its own: this one loads no simulator."""
        command = [sys.executable, '-m', 'rpent_ros.cli.main', 'render', str(self._folder.path)]
        log = self._folder.path / 'logs' / 'render.log'
        # Simulators are talkative when they start; what they say matters only after a failure.
        try:
            with (
                open(log, 'wb') as errors,
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors) as process,
            ):
                try:
                    if process.wait():
                        _say(f'no video: {_last_line(log)}')
                except KeyboardInterrupt:
                    process.wait(10)
                    _say('no video: interrupted')
            if not log.stat().st_size:
                log.unlink()
        except OSError as error:
            _say(f'no video: {log}: {error.strerror or error}')

    def _report(self, result: dict[str, Any]) -> None:
        _say('')
        for line in summary_lines(self._folder.path, result):
            _say(line)


def _last_line(log: pathlib.Path) -> str:
    lines = log.read_text(errors='replace').strip().splitlines()
    return lines[-1] if lines else f'see {shown(log)}'


def _say(line: str) -> None:
    print(line, flush=True)
