"""What the fake robot can be asked to do."""

from __future__ import annotations

import dataclasses

from rpent_ros.errors import UnknownTask


@dataclasses.dataclass(frozen=True)
class Task:
    """Put one cube into the bin; `cube` counts from 0."""

    sentence: str
    cube: int


SUITES: dict[str, tuple[Task, ...]] = {
    'fake_pick': (
        Task('pick up the red cube and place it in the bin', 0),
        Task('pick up the blue cube and place it in the bin', 1),
        Task('pick up the green cube and place it in the bin', 2),
    ),
}


def find_task(suite: str, index: int) -> Task:
    """The task of that suite and index.

    Raises:
      UnknownTask: there is none; the message lists what there is.
    """
    if suite not in SUITES:
        raise UnknownTask(f'unknown suite {suite!r}; known suites: {", ".join(SUITES)}')
    tasks = SUITES[suite]
    if not 0 <= index < len(tasks):
        raise UnknownTask(
            f'suite {suite}: expected a task from 0 to {len(tasks) - 1}, got {index}'
        )
    return tasks[index]
