"""Serving of `rpent mcp`: the server that runs, or a run of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.abc

from rpent_ros import exit_codes
from rpent_ros.errors import RpentError, Unavailable
from rpent_ros.mcp import endpoint
from rpent_ros.mcp.bridge import Bridge, connected, first_cause, gone

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup

_STARTING = (
    'A robot is being started for you; its tools answer as soon as it is ready. Call read_task '
    'before anything else: it tells your role, the rules and the task.'
)
_POLL_S = 0.2
# How long the run may take to end after each signal [s]; it writes its files meanwhile.
_LADDER = ((signal.SIGINT, 10.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 2.0))
_PR_SET_PDEATHSIG = 1
_MEANINGS = {
    exit_codes.ACHIEVED: 'achieved',
    exit_codes.NOT_ACHIEVED: 'not achieved',
    exit_codes.USAGE: 'wrong usage',
    exit_codes.COMPONENT_FAILED: 'a component failed',
    exit_codes.INTERRUPTED: 'interrupted',
}


def serve_running(namespace: str, url: str) -> int:
    """Hand on the tools of the server that runs; returns the exit code when stdin ends.

    Raises:
      RpentError: there is none, or not exactly one.
    """
    found = endpoint.choose(namespace, url)

    async def work() -> int:
        async with anyio.create_task_group() as tasks:
            bridge = await tasks.start(_follow, found)
            await bridge.serve()
            tasks.cancel_scope.cancel()
        return exit_codes.ACHIEVED

    return _run(work)


def serve_new(options: Sequence[str]) -> int:
    """Start a run and hand on its tools; ends the run when stdin ends.

    Args:
      options: of `rpent run`.

    Returns:
      The exit code of `rpent run`.
    """
    command = [
        sys.executable, '-m', 'rpent_ros.cli.main', 'run', *options, '--cerebrum', 'mcp',
    ]  # fmt: skip
    # Its output goes where people may look: stdout belongs to the protocol.
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), start_new_session=True,
        preexec_fn=_interrupt_with_parent,
    )  # fmt: skip

    async def work() -> int:
        bridge = Bridge(_STARTING)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hand_on, bridge, child)
            await bridge.serve()
            tasks.cancel_scope.cancel()
        return exit_codes.ACHIEVED

    try:
        _run(work, child)
    finally:
        _end(child)
    return child.returncode if child.returncode >= 0 else exit_codes.INTERRUPTED


async def _follow(
    found: endpoint.Endpoint, *, task_status: anyio.abc.TaskStatus[Bridge]
) -> None:
    """Connect a bridge to a server, and tell its clients when that has gone.

    Raises:
      Unavailable: the server does not answer in the first place.
    """
    bridge: Bridge | None = None
    try:
        async with connected(found) as client:
            bridge = Bridge(client.instructions)
            bridge.attach(client)
            task_status.started(bridge)
            await anyio.sleep_forever()
    except Unavailable as error:
        if bridge is None:
            raise
        bridge.end(gone(error))


async def _hand_on(bridge: Bridge, child: subprocess.Popen[bytes]) -> None:
    """Connect to the run when it serves, and tell when it has ended."""
    with contextlib.suppress(RpentError):
        found = await _endpoint_of(child)
        if found is not None:
            async with connected(found) as client:
                bridge.attach(client)
                await _exit_of(child)
    await _exit_of(child)
    bridge.end(Unavailable(
        f'rpent run has ended with exit code {child.returncode} '
        f'({_MEANINGS.get(child.returncode, "killed")}); start this MCP server again for another '
        'run'
    ))  # fmt: skip


async def _endpoint_of(child: subprocess.Popen[bytes]) -> endpoint.Endpoint | None:
    while child.poll() is None:
        for found in endpoint.running():
            if found.kind == 'run' and found.descends_from(child.pid):
                return found
        await anyio.sleep(_POLL_S)
    return None


async def _exit_of(child: subprocess.Popen[bytes]) -> None:
    while child.poll() is None:
        await anyio.sleep(_POLL_S)


def _run(work: Callable[[], Awaitable[int]], child: subprocess.Popen[bytes] | None = None) -> int:
    async def main() -> int:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_on_signal, child)
            code = await work()
            tasks.cancel_scope.cancel()
        return code

    try:
        return anyio.run(main)
    except BaseExceptionGroup as group:
        raise first_cause(group) from None


async def _end_on_signal(child: subprocess.Popen[bytes] | None) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            if child is not None:
                _end(child)
            # A thread waits for the next line of stdin and cannot be told to stop.
            os._exit(exit_codes.INTERRUPTED)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Have the run end, if it has not, and wait for it."""
    for number, seconds in _LADDER:
        if child.poll() is not None:
            return
        child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)


def _interrupt_with_parent() -> None:
    """Have the kernel interrupt this process when its parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
