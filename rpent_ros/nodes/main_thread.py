"""Work for the one thread that owns the simulator and its GL context.

A GL context and most simulators belong to the thread that made them, so callbacks, which run on
the executor's thread, only hand jobs over.  Stop and cancel are flags that a motion looks at
between control steps, not jobs: they would otherwise wait behind the motion that they are to end.
"""

from __future__ import annotations

import concurrent.futures
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from rclpy.executors import Executor
from rclpy.task import Future

from rpent_ros.errors import DeadlineExceeded, Unavailable

T = TypeVar('T')

_SHUTTING_DOWN = 'the driver is shutting down'


class MainThread:
    """A queue of jobs for the thread that calls `run`."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Any, Callable[[], Any]] | None] = queue.SimpleQueue()
        self._closed = threading.Event()

    def submit(self, job: Callable[[], T]) -> concurrent.futures.Future[T]:
        """Queue a job; its result or exception arrives in the returned future.

        Raises:
          Unavailable: the thread has stopped taking jobs.
        """
        if self._closed.is_set():
            raise Unavailable(_SHUTTING_DOWN)
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._jobs.put((future, job))
        return future

    def call(self, job: Callable[[], T], *, timeout_s: float) -> T:
        """Queue a job and wait for its result; for threads that may block.

        Raises:
          DeadlineExceeded: no result in time; the job is dropped if it has not begun.
          Unavailable: the thread has stopped taking jobs.
        """
        future = self.submit(job)
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise DeadlineExceeded(
                f'the main thread gave no answer in {timeout_s:g} s; it may still be busy with '
                'something that takes long'
            ) from None

    async def awaited(self, job: Callable[[], T], executor: Executor) -> T:
        """Queue a job and await its result in a coroutine that `executor` runs."""
        finished = Future()

        def wake(_: Any) -> None:
            finished.set_result(None)
            executor.wake()

        future = self.submit(job)
        future.add_done_callback(wake)
        await finished
        return future.result()

    def wake(self) -> None:
        """Make `run` look at its conditions now; safe in a signal handler."""
        self._jobs.put(None)

    def run_pending(self) -> None:
        """Do the jobs that are queued now; also called by a motion between its control steps."""
        for _ in range(self._jobs.qsize()):
            try:
                self._do(self._jobs.get_nowait())
            except queue.Empty:
                return

    def run(
        self,
        *,
        should_stop: Callable[[], bool],
        idle: Callable[[], None] = lambda: None,
        period_s: float = 0.1,
    ) -> None:
        """Do jobs until told to stop; then refuse those that are left.

        Args:
          should_stop: asked after every job and once per period.
          idle: called after every job and once per period.
          period_s: longest time between two calls of `idle` while there are no jobs [s].
        """
        due = time.monotonic() + period_s
        while not should_stop():
            try:
                self._do(self._jobs.get(timeout=max(0.0, due - time.monotonic())))
            except queue.Empty:
                due = time.monotonic() + period_s
            idle()
        self.close()

    def close(self) -> None:
        """Take no more jobs and fail those that wait."""
        self._closed.set()
        while True:
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                return
            if item is not None and item[0].set_running_or_notify_cancel():
                item[0].set_exception(Unavailable(_SHUTTING_DOWN))

    @staticmethod
    def _do(item: tuple[Any, Callable[[], Any]] | None) -> None:
        if item is None:
            return
        future, job = item
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = job()
        except Exception as error:  # Handed to whoever asked for the job.
            future.set_exception(error)
        except BaseException:  # A signal interrupts the job and ends the process.
            future.set_exception(Unavailable(_SHUTTING_DOWN))
            raise
        else:
            future.set_result(result)
