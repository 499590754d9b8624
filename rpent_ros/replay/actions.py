"""Plays the actions of a logged episode through a driver, one control step at a time."""

from __future__ import annotations

from collections.abc import Callable

from rpent_ros.errors import Canceled
from rpent_ros.ports import EnvClient, ShouldStop
from rpent_ros.state_log import RecordedStates


def play_actions(
    env: EnvClient,
    recorded: RecordedStates,
    *,
    should_stop: ShouldStop = lambda: False,
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> bool:
    """Reset the driver to the same episode and send it the same actions.

    Actions go out as single control steps, which carry 64-bit numbers: those of a motion do not
    fit into a chunk, whose numbers have 32 bits.  Where the robot was told to hold, which may
    change its controller's goal, it is told to again.

    Args:
      env: the driver.
      recorded: the episode.
      should_stop: asked before each step.
      on_step: called with (control steps done, control steps in all).

    Returns:
      The verdict of the task's predicate after the last step.

    Raises:
      Canceled: `should_stop` turned true.
      RpentError: the driver refuses, e.g. because the episode ended earlier than the original's.
    """
    header = recorded.header
    env.reset(suite=header['suite'], task=header['task'], seed=header['seed'])
    success = False
    total = len(recorded.actions) - 1
    for n in range(1, total + 1):
        if should_stop():
            raise Canceled(f'the replay was stopped after {n - 1} of {total} control steps')
        if recorded.held[n]:
            env.stop()
            env.resume()
        success = env.step(recorded.actions[n]).success
        on_step(n, total)
    return success
