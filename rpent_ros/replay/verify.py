"""Whether a run solved its task, from its folder alone: the task's own predicate is asked."""

from __future__ import annotations

import dataclasses
import pathlib

from rpent_ros.errors import InvalidRequest
from rpent_ros.robot import JudgesStates
from rpent_ros.video import logged_episode, rebuild


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the predicate says about the states of an episode.

    Attributes:
      steps: control steps that were logged; the final state is the one after the last.
      achieved: the predicate holds in the final state.
      begun: first control step of the last stretch in which it holds; None: it never does.
      ended: last control step of that stretch.
    """

    steps: int
    _: dataclasses.KW_ONLY
    achieved: bool
    begun: int | None
    ended: int | None

    def __str__(self) -> str:
        final = f'in the final state, after control step {self.steps}'
        if self.achieved:
            since = 'in no state before' if self.begun == self.steps else (
                f'in every state since control step {self.begun}'
            )  # fmt: skip
            return f"achieved: the task's predicate holds {final}, and {since}"
        if self.begun is None:
            return f"not achieved: the task's predicate does not hold {final}, nor in any before"
        return (
            f"not achieved: the task's predicate does not hold {final}; it held last from control "
            f'step {self.begun} to {self.ended}'
        )


def verify(folder: pathlib.Path | str) -> Verdict:
    """Put the simulator into the logged states of a run's last episode, the last one first.

    Raises:
      InvalidRequest: it is no run folder, logged no states, or its robot cannot judge them.
    """
    folder = pathlib.Path(folder).expanduser().absolute()
    recorded = logged_episode(folder)
    robot = rebuild(folder, recorded.header)
    try:
        if not isinstance(robot, JudgesStates):
            raise InvalidRequest(
                f'robot {recorded.header["robot"]}: expected a method judge, found none; whether '
                'its tasks are solved cannot be told from a log'
            )
        steps = len(recorded.states) - 1
        begun = ended = None
        for step in range(steps, -1, -1):
            if robot.judge(recorded.states[step]):
                begun, ended = step, step if ended is None else ended
            elif ended is not None:
                break
    finally:
        robot.close()
    return Verdict(steps, achieved=ended == steps, begun=begun, ended=ended)
