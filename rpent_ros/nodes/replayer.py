"""ReplayerNode: commands a driver as a logged episode was, one control step at a time.

It takes the agent's place in the graph of `rpent replay --actions`.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from rpent_ros import files, run_dir
from rpent_ros.errors import Canceled, ErrorCode, InvalidRequest, RpentError
from rpent_ros.nodes.env_client import env_client_of
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.parameters import declare, parameter
from rpent_ros.nodes.process import Shutdown, run_node
from rpent_ros.replay.actions import play_actions
from rpent_ros.robot import load_robot_package
from rpent_ros.run import RunResult
from rpent_ros.state_log import RecordedStates, read_state_log

CEREBRUM = 'recorded actions'
_PROGRESS_PERIOD_S = 2.0


@dataclasses.dataclass(frozen=True)
class ReplayerParameters:
    """The parameters of a ReplayerNode."""

    robot: str = parameter('fake', 'Robot package that the driver drives.')
    recording: str = parameter('', 'File of simulator states whose actions are played.')
    output_dir: str = parameter('', 'Folder for run.yaml and result.json.')
    wait_s: float = parameter(120.0, 'How long to wait for the driver to appear [s].', low=0.0)


class ReplayerNode(Node):
    """Plays one recording.

    Raises:
      InvalidRequest: a parameter is missing, or the recording cannot be read.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('replayer', **kwargs)
        self._p = declare(self, ReplayerParameters)
        for name in ('recording', 'output_dir'):
            if not getattr(self._p, name):
                raise InvalidRequest(f'parameter {name}: expected a path, got an empty string')
        client = env_client_of(load_robot_package(self._p.robot))
        self._env = client(self, wait_s=self._p.wait_s)
        self._recorded = read_state_log(self._p.recording)
        self.result: RunResult | None = None

    def main_loop(self, shutdown: Shutdown) -> None:
        """Play, and write down what came of it."""
        begun = time.monotonic()
        header = self._recorded.header
        tag = run_dir.recipe_tag(header['suite'], header['task'], header['seed'])
        folder = run_dir.RunDir(pathlib.Path(self._p.output_dir), tag)
        facts = _facts(self._p, self._recorded, run_dir.new_run_id(tag))
        run_dir.write_config(folder, facts)
        progress = _Progress()
        code, message, achieved = ErrorCode.OK, '', False
        try:
            achieved = play_actions(
                self._env, self._recorded, should_stop=shutdown.requested, on_step=progress
            )
        except RpentError as error:
            code, message = error.code, str(error)
        interrupted = code == Canceled.code
        self.result = RunResult(
            facts['run_id'],
            output_dir=str(folder.path),
            status=_status(code, achieved),
            reason='interrupted' if interrupted else _reason(code),
            achieved=achieved,
            steps=progress.done,
            seconds=time.monotonic() - begun,
            code=code if code or achieved else ErrorCode.NOT_ACHIEVED,
            message=message or ('' if achieved else "the task's predicate does not hold"),
            details={key: value for key, value in facts.items() if key != 'run_id'}
            | {'ended': run_dir.now()},
        )
        with files.writing(folder.path, folder.result.name):
            files.write_json(folder.result, self.result.to_json())


class _Progress:
    """Counts control steps and prints now and then how far the replay is."""

    def __init__(self) -> None:
        self.done = 0
        self._due = time.monotonic() + _PROGRESS_PERIOD_S

    def __call__(self, done: int, total: int) -> None:
        self.done = done
        if time.monotonic() >= self._due or done == total:
            self._due = time.monotonic() + _PROGRESS_PERIOD_S
            print(f'control step {done} of {total}', flush=True)


def _facts(p: ReplayerParameters, recorded: RecordedStates, run_id: str) -> dict[str, Any]:
    return {
        'run_id': run_id,
        'robot': p.robot,
        **{key: recorded.header[key] for key in ('suite', 'task', 'seed', 'instruction')},
        'cerebrum': CEREBRUM,
        'recording': p.recording,
        'started': run_dir.now(),
    }


def _status(code: ErrorCode, achieved: bool) -> str:
    if code not in (ErrorCode.OK, ErrorCode.CANCELED):
        return 'failed'
    return 'achieved' if achieved else 'not_achieved'


def _reason(code: ErrorCode) -> str:
    return 'finished' if code == ErrorCode.OK else 'component_failed'


def main(argv: Sequence[str] | None = None) -> int:
    """Play the recording; 0 achieved, 1 not achieved, 3 failed, 130 interrupted."""
    nodes: list[ReplayerNode] = []

    def make() -> ReplayerNode:
        nodes.append(ReplayerNode())
        return nodes[-1]

    code = run_node('replayer', make, argv, main_loop=ReplayerNode.main_loop)
    if code == 0 and nodes and nodes[0].result is not None:
        return nodes[0].result.exit_code
    return code


if __name__ == '__main__':
    sys.exit(main())
