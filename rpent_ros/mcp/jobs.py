"""Tool calls of MCP clients, each on a thread of its own, so that none is lost with a connection.

A call outlives the request that began it: it has a handle, and its result stays until it is asked
for.  Whoever serves the tools decides what a lost client means for a call that moves the robot.
"""

from __future__ import annotations

import concurrent.futures
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from rpent_ros.cerebrums.base import Steering, Tools
from rpent_ros.errors import Busy, InvalidRequest, RpentError
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.toolkit import Claim

LOG = logging.getLogger('rpent_ros.mcp')

# Calls that may run at a time: one moves, the others look.
MAX_RUNNING = 8
# Finished calls whose results are kept.
MAX_KEPT = 200
# A tool that has only just been started does not hear a request to stop, so it is repeated [s].
_CANCEL_PERIOD_S = 0.02


class Job:
    """One tool call.

    Attributes:
      handle: what clients call it by.
      name: the tool.
      reads_only: it neither moves the robot nor ends the run.
      future: its result; never an exception.
      failed: the call ended the run with an error, which is in the result.
      fetched: a client was given the result.
      followers: requests that wait for the result now.
    """

    def __init__(self, handle: str, name: str, *, reads_only: bool) -> None:
        self.handle = handle
        self.name = name
        self.reads_only = reads_only
        self.future: concurrent.futures.Future[ToolResult] = concurrent.futures.Future()
        self.failed = False
        self.fetched = False
        self.followers = 0
        self.stopping = False
        self._started = time.monotonic()
        self._seconds = 0.0

    @property
    def done(self) -> bool:
        """True once the result is there."""
        return self.future.done()

    @property
    def seconds(self) -> float:
        """How long it has run, or took [s]."""
        return self._seconds or time.monotonic() - self._started

    def finish(self, result: ToolResult) -> None:
        """Hand over the result."""
        self._seconds = time.monotonic() - self._started
        self.future.set_result(result)


class ToolJobs:
    """Runs the tool calls of MCP clients.  Safe to use from several threads.

    Args:
      tools: the tools of the run.
      steering: messages from people, handed over with the next result; None: the planner hands
        them over itself.

    Attributes:
      over: set when a tool has ended the run or the run is over.
      error: why the run is over; None: it is not, or a tool has ended it.
      claim: what the planner claimed when it finished.
      calls: tool calls so far.
    """

    def __init__(self, tools: Tools, steering: Steering | None = None) -> None:
        self.over = threading.Event()
        self.error: RpentError | None = None
        self.claim: Claim | None = None
        self.calls = 0
        self._tools = tools
        self._steering = steering
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._threads: dict[str, threading.Thread] = {}

    @property
    def specs(self) -> list[dict[str, Any]]:
        """Name, description and input_schema of each tool."""
        return self._tools.specs

    def reads_only(self, name: str) -> bool:
        """True if the tool neither moves the robot nor ends the run."""
        known = getattr(self._tools, 'reads_only', None)
        return bool(known is not None and known(name))

    @property
    def moving(self) -> Job | None:
        """The call that may be moving the robot: of those that may, the one that began first."""
        with self._lock:
            for job in self._jobs.values():
                if not job.reads_only and not job.done:
                    return job
        return None

    def start(self, name: str, arguments: Mapping[str, Any]) -> Job:
        """Call a tool; returns at once.

        Raises:
          RpentError: the run is over.
          Busy: too many calls are running.
        """
        with self._lock:
            if self.over.is_set():
                raise self._why_over(name)
            running = sum(not job.done for job in self._jobs.values())
            if running >= MAX_RUNNING:
                raise Busy(f'{name}: {running} calls are running; wait for their results')
            self.calls += 1
            job = Job(f'h{self.calls}', name, reads_only=self.reads_only(name))
            self._jobs[job.handle] = job
            self._forget_oldest()
            thread = threading.Thread(
                target=self._run, args=(job, dict(arguments)), name=f'tool {job.handle}',
                daemon=True,
            )  # fmt: skip
            self._threads[job.handle] = thread
        thread.start()
        return job

    def find(self, handle: str | None) -> Job:
        """The call of that handle; None: the newest one that runs or whose result nobody has.

        Raises:
          InvalidRequest: there is none.
        """
        with self._lock:
            if handle is not None and handle in self._jobs:
                return self._jobs[handle]
            left = [job for job in self._jobs.values() if not job.fetched]
        if handle is not None:
            known = ', '.join(job.handle for job in left) or 'none'
            raise InvalidRequest(f'unknown handle {handle!r}; calls without a result: {known}')
        if not left:
            raise InvalidRequest('no call is running, and every result has been given')
        return left[-1]

    def cancel(self, job: Job) -> None:
        """Stop the robot if this call moves it; returns at once."""
        with self._lock:
            if job.stopping or job.done or job.reads_only:
                return
            job.stopping = True
        threading.Thread(
            target=self._stop, args=(job,), name=f'stop {job.handle}', daemon=True
        ).start()

    def cancel_all(self) -> None:
        """Stop the robot, whatever moves it; returns at once."""
        self._tools.cancel()
        job = self.moving
        if job is not None:
            self.cancel(job)

    def take_messages(self) -> list[str]:
        """Remove and return what people have to say to the planner; noted as handed over."""
        if self._steering is None:
            return []
        acknowledge = getattr(self._steering, 'acknowledge', lambda: None)
        interrupt = acknowledge()
        messages = [interrupt.message] if interrupt is not None and interrupt.message else []
        messages += self._steering.take()
        for message in messages:
            self._tools.say(message, role='user', name='user')
        return messages

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop the robot and take no more calls; returns when no call runs.

        Args:
          timeout_s: how long the calls that run may take to stop [s].
        """
        self.over.set()
        self.cancel_all()
        deadline = time.monotonic() + timeout_s
        for thread in list(self._threads.values()):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, job: Job, arguments: Mapping[str, Any]) -> None:
        try:
            result = self._tools.call(job.name, arguments)
        except RpentError as error:
            result = self._end(job, error)
        except Exception as error:
            # The edge of a thread: the client gets an answer, the log the traceback.
            LOG.exception('%s failed', job.name)
            result = self._end(job, RpentError(f'{type(error).__name__}: {error}'))
        if result.ends_run:
            self.claim = Claim(result.data['status'], result.data['summary'])
            self.over.set()
        job.finish(result)
        with self._lock:
            self._threads.pop(job.handle, None)

    def _end(self, job: Job, error: RpentError) -> ToolResult:
        """The run is over; what failed first is the cause."""
        with self._lock:
            if self.error is None and not self.over.is_set():
                self.error = error
            self.over.set()
        job.failed = True
        return ToolResult.refused(error)

    def _stop(self, job: Job) -> None:
        while not job.done:
            if self.moving is job:
                self._tools.cancel()
            concurrent.futures.wait([job.future], timeout=_CANCEL_PERIOD_S)

    def _why_over(self, name: str) -> RpentError:
        if self.error is not None:
            return self.error
        claimed = f' with {self.claim.status}' if self.claim is not None else ''
        return InvalidRequest(f'{name}: the run has ended{claimed}; nothing more can be done')

    def _forget_oldest(self) -> None:
        finished = [job for job in self._jobs.values() if job.done]
        for job in finished[: max(0, len(finished) - MAX_KEPT)]:
            del self._jobs[job.handle]
