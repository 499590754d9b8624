"""One node, one process: start-up, executor thread, signals, exit code."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import rclpy
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    MultiThreadedExecutor,
    SingleThreadedExecutor,
)
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from rpent_ros.errors import RpentError
from rpent_ros.nodes.node_name import refuse_duplicate, refuse_taken_name

EXIT_OK = 0
EXIT_USAGE = 2
EXIT_FAILED = 3

# How long the main loop may take to end by itself after a signal [s].
_GRACE_S = 1.0
_MAX_FAILURES_IN_A_ROW = 20
_PR_SET_PDEATHSIG = 1


class Shutdown:
    """Set by SIGINT and SIGTERM; the main loop looks at it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._timer: threading.Timer | None = None

    def requested(self) -> bool:
        """True once the process is to end."""
        return self._event.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Sleep until the process is to end; False after `timeout_s`."""
        return self._event.wait(timeout_s)

    def on_request(self, callback: Callable[[], None]) -> None:
        """Call `callback` inside the signal handler, e.g. to wake a loop."""
        self._callbacks.append(callback)

    def request(self) -> None:
        """Ask the process to end."""
        self._event.set()
        for callback in self._callbacks:
            callback()

    def _on_signal(self, signum: int, frame: Any) -> None:
        if self._event.is_set():
            raise KeyboardInterrupt
        self.request()
        # Work that does not look at the flag, such as building a simulator, is interrupted.
        main = threading.main_thread().ident
        self._timer = threading.Timer(_GRACE_S, signal.pthread_kill, [main, signal.SIGINT])
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Shutdown:
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        # Cleaning up must not be interrupted half-way; whoever started us has SIGKILL.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self._timer is not None:
            self._timer.cancel()


class SpinThread:
    """Spins one node on a thread of its own; survives exceptions in callbacks by logging them.

    Args:
      node: the node; its `executor` is set on return.
      threads: 1: callbacks run one after another, which is fastest; more: callbacks may block.
      on_failure: called when the executor cannot go on.
    """

    def __init__(
        self, node: Node, *, threads: int = 1, on_failure: Callable[[], None] = lambda: None
    ) -> None:
        self._node = node
        self._on_failure = on_failure
        self.executor: Executor = (
            SingleThreadedExecutor(context=node.context)
            if threads == 1
            else MultiThreadedExecutor(threads, context=node.context)
        )
        self.executor.add_node(node)
        self._stopping = False
        self._thread = threading.Thread(target=self._spin, name='executor', daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        failures = 0
        while self._node.context.ok() and not self._stopping:
            try:
                self.executor.spin_once()
                failures = 0
            except (ExternalShutdownException, ROSInterruptException):
                return
            except Exception:
                if self._stopping or not self._node.context.ok():
                    return
                # The edge of the process: a callback failed; the node lives on and says why.
                self._node.get_logger().error(traceback.format_exc())
                failures += 1
                if failures == _MAX_FAILURES_IN_A_ROW:
                    self._on_failure()
                    return

    def stop(self) -> None:
        """End the thread and shut the executor down."""
        self._stopping = True
        # Waking is not enough: `spin_once` returns only after doing some work.
        self.executor.create_task(lambda: None)
        self._thread.join(timeout=2.0)
        self.executor.shutdown(timeout_sec=0.0)

    def __enter__(self) -> SpinThread:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def run_node(
    name: str,
    make_node: Callable[[], Node],
    argv: Sequence[str] | None = None,
    *,
    main_loop: Callable[[Any, Shutdown], None] | None = None,
    threads: int = 1,
) -> int:
    """Run one node until SIGINT or SIGTERM.

    Args:
      name: the node's own name, before remapping.
      make_node: makes it, on the main thread, once its name is known to be free.
      argv: command line with ROS arguments; None takes the process's own.
      main_loop: what the main thread does with the node; it returns soon after
        `shutdown.requested()` turns true.  None: it sleeps.
      threads: callbacks that may run at the same time.

    Returns:
      Exit code: 0 ended by a signal, 2 wrong usage, 3 failed (the sentence is on stderr).
    """
    arguments = list(sys.argv if argv is None else argv)
    try:
        extra = remove_ros_args(arguments)[1:]
        if extra:
            return _fail(f'unexpected arguments {" ".join(extra)}', EXIT_USAGE)
        prepare_environment()
        _die_with_parent()
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy has no common base class for malformed arguments.
        return _fail(_first_line(error), EXIT_USAGE)
    with Shutdown() as shutdown:
        return _serve(name, make_node, main_loop, threads, shutdown)


def _serve(
    name: str,
    make_node: Callable[[], Node],
    main_loop: Callable[[Any, Shutdown], None] | None,
    threads: int,
    shutdown: Shutdown,
) -> int:
    node: Node | None = None
    spin: SpinThread | None = None
    claim: socket.socket | None = None
    failed = threading.Event()

    def executor_failed() -> None:
        failed.set()
        shutdown.request()

    try:
        claim = refuse_taken_name(name)
        node = make_node()
        refuse_duplicate(node)
        spin = SpinThread(node, threads=threads, on_failure=executor_failed)
        announce(node)
        if main_loop is None:
            shutdown.wait()
        else:
            main_loop(node, shutdown)
        return EXIT_FAILED if failed.is_set() else EXIT_OK
    except KeyboardInterrupt:
        return EXIT_OK
    except RpentError as error:
        return _fail(f'{name}: {error}', EXIT_FAILED)
    except Exception as error:  # The edge of the process.
        traceback.print_exc()
        return _fail(f'{name}: {_first_line(error)}', EXIT_FAILED)
    finally:
        shutdown.__exit__()
        if spin is not None:
            spin.stop()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        if claim is not None:
            claim.close()


def prepare_environment() -> None:
    """Choose the middleware settings of this project unless the user chose others."""
    if 'FASTDDS_DEFAULT_PROFILES_FILE' not in os.environ:
        profile = pathlib.Path(__file__).with_name('fastdds.xml')
        os.environ.setdefault('FASTRTPS_DEFAULT_PROFILES_FILE', str(profile))
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')


def announce(node: Node) -> None:
    """Tell whoever started this process, in one JSON line on stdout, that the node serves."""
    name, namespace = node.get_name(), node.get_namespace()
    services = sorted(
        service
        for service, types in node.get_service_names_and_types_by_node(name, namespace)
        if not types[0].startswith(('rcl_interfaces/', 'type_description_interfaces/'))
        and '/_action/' not in service
    )
    actions = sorted(
        action for action, _ in get_action_server_names_and_types_by_node(node, name, namespace)
    )
    event = {
        'event': 'transport_ready',
        'kind': 'ros2',
        'node': node.get_fully_qualified_name(),
        'services': services,
        'actions': actions,
        'pid': os.getpid(),
    }
    print(json.dumps(event), flush=True)


def _die_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent ends, if RPENT_PARENT_WATCH has its id.

    The signal comes when the *thread* that started this process ends, so a supervisor must start
    its children on a thread that lives as long as it does.
    """
    parent = os.environ.get('RPENT_PARENT_WATCH', '')
    if not parent:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'prctl(PR_SET_PDEATHSIG) failed')
    # In a container the parent itself can be process 1.
    if os.getppid() == 1 and parent != '1':
        raise RpentError('the parent process ended before this one had started')


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _fail(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr, flush=True)
    return code
