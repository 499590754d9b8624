"""One request to a model at a time: retried while that may help, given up at once when it must."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

import tenacity
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.usage import RequestUsage

from rpent_ros.cerebrums.api.faults import CutOff, Fault, classify
from rpent_ros.cerebrums.api.models import LanguageModel
from rpent_ros.cerebrums.base import Steering
from rpent_ros.errors import Canceled
from rpent_ros.usage import Usage

# How often it is asked whether to give up [s].
_POLL_S = 0.05
# How long an abandoned request may take to say what it has cost [s].
_SETTLE_S = 0.1
# Pauses between tries: from, factor, to, and what is added by chance, so that many robots that
# were refused together do not come back together [s].
_PAUSE = tenacity.wait_exponential_jitter(multiplier=0.5, exp_base=2, max=30, jitter=0.5)


class Run(Protocol):
    """What a request has to know of the run that it belongs to; see `Tools`."""

    def check(self) -> None:
        """Return if the model may be asked."""

    def should_stop(self) -> bool:
        """True if the request shall be given up."""

    def spend(self, usage: Usage) -> None:
        """Count an answer."""

    def warn(self, text: str) -> None:
        """Tell people that something is not as it should be."""


class Interrupted(Exception):
    """Raised when somebody interrupts while the model is asked."""


class _Failed(Exception):
    """One try failed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.happened)
        self.fault = fault


class _Attempt:
    """One try, as seen from both threads."""

    def __init__(self) -> None:
        self.stream: StreamedResponse | None = None
        self.over = threading.Event()


class Line:
    """The line to a model.  Use it as a context manager.

    The request runs on a thread of its own, so that giving it up never waits for the network.

    Args:
      language_model: who is asked.
      run: told what is spent and what goes wrong; says when the run is over.
      steering: interrupts end a request.
      max_retries: how often a request that failed for a passing reason is made again.
    """

    def __init__(
        self, language_model: LanguageModel, run: Run, steering: Steering, *, max_retries: int
    ) -> None:
        self._model = language_model
        self._run = run
        self._steering = steering
        self._max_retries = max_retries
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f'ask {language_model.endpoint.name}', daemon=True
        )

    def __enter__(self) -> Line:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        closing = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        concurrent.futures.wait([closing], timeout=1.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(1.0)
        if not self._thread.is_alive():
            self._loop.close()

    def ask(
        self,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        *,
        pictures: bool,
    ) -> ModelResponse:
        """Ask for the next answer.

        Args:
          messages: the conversation; it ends with a request.
          parameters: the tools.
          pictures: the conversation holds some.

        Raises:
          Interrupted: by an operator; what was said so far is lost.
          RpentError: the run is over, or the model cannot be asked.
        """
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._max_retries + 1),
            retry=tenacity.retry_if_exception(_passes),
            wait=_pause,
            sleep=self._sleep,
            before_sleep=self._tell,
            reraise=True,
        )
        started = time.monotonic()
        try:
            return retrying(self._try, messages, parameters, pictures)
        except _Failed as failed:
            error = failed.fault.error
            tries = retrying.statistics.get('attempt_number', 1)
            if tries > 1:
                seconds = time.monotonic() - started
                error = type(error)(f'{error} ({tries} tries in {seconds:.0f} s)')
            raise error from failed.__cause__

    def _try(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters, pictures: bool
    ) -> ModelResponse:
        self._run.check()
        attempt = _Attempt()
        future = asyncio.run_coroutine_threadsafe(
            self._stream(attempt, messages, parameters), self._loop
        )
        try:
            self._wait(lambda seconds: bool(concurrent.futures.wait([future], seconds).done))
        except BaseException:
            future.cancel()
            attempt.over.wait(_SETTLE_S)
            self._spend(attempt)
            raise
        self._spend(attempt)
        try:
            return future.result()
        except Exception as error:
            fault = classify(error, self._model.endpoint, pictures=pictures)
            raise _Failed(fault) from error

    async def _stream(
        self,
        attempt: _Attempt,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        settings = self._model.settings
        try:
            async with self._model.model.request_stream(
                list(messages), settings, parameters
            ) as stream:
                attempt.stream = stream
                async for _ in stream:
                    pass
                answer = stream.get()
        finally:
            attempt.over.set()
        if answer.state != 'complete':
            raise CutOff
        return answer

    def _spend(self, attempt: _Attempt) -> None:
        """Count what a try has cost, whole or not, as far as the provider has said so."""
        if attempt.stream is None:
            return
        used = attempt.stream.usage
        if used.total_tokens:
            name = attempt.stream.model_name or self._model.endpoint.model
            self._run.spend(_usage(name, used))

    def _sleep(self, seconds: float) -> None:
        """Pause between tries."""
        deadline = time.monotonic() + seconds

        def passed(step: float) -> bool:
            time.sleep(max(0.0, min(step, deadline - time.monotonic())))
            return time.monotonic() >= deadline

        self._wait(passed)

    def _wait(self, done: Callable[[float], bool]) -> None:
        """Wait in short steps, so that the run can end and people can interrupt."""
        while not done(_POLL_S):
            if self._run.should_stop():
                self._run.check()
                raise Canceled('the run was asked to end')
            if self._steering.interrupted:
                raise Interrupted

    def _tell(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if not isinstance(error, _Failed):
            return
        self._run.warn(
            f'{error.fault.happened}; trying again in {state.upcoming_sleep:.1f} s, '
            f'{state.attempt_number} of {self._max_retries}'
        )

    async def _close(self) -> None:
        """End what is left on the loop."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        client = getattr(self._model.model, 'client', None)
        if client is not None:
            await client.close()


def _passes(error: BaseException) -> bool:
    return isinstance(error, _Failed) and error.fault.passing


def _pause(state: tenacity.RetryCallState) -> float:
    """What the provider asks for, or else longer and longer [s]."""
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, _Failed) and error.fault.retry_after_s is not None:
        return error.fault.retry_after_s
    return _PAUSE(state)


def _usage(model: str, used: RequestUsage) -> Usage:
    """What an answer took; pydantic-ai counts what was cached as input, too."""
    cached = used.cache_read_tokens + used.cache_write_tokens
    return Usage(
        model,
        input_tokens=max(0, used.input_tokens - cached),
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        output_tokens=used.output_tokens,
    )
