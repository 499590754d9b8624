"""People who steer a running planner: messages, and interrupts that stop the robot."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable


class Interrupt:
    """Somebody wants the robot to hold still and the planner to read a message.

    Attributes:
      message: for the planner; '' for none.
      at: when it came [s, monotonic clock].
      tool: the tool that was running; '' if none was or it is not known yet.
      standstill_s: time from the interrupt until that tool had ended [s]; None: not yet.
    """

    def __init__(self, message: str = '') -> None:
        self.message = message
        self.at = time.monotonic()
        self.tool = ''
        self.standstill_s: float | None = None
        self._settled = threading.Event()

    def settle(self, tool: str = '') -> None:
        """The robot holds still; only the first call counts."""
        if not self._settled.is_set():
            self.tool = tool
            self.standstill_s = time.monotonic() - self.at if tool else 0.0
            self._settled.set()

    def wait(self, timeout_s: float) -> float | None:
        """Wait until the robot holds still; returns `standstill_s`."""
        self._settled.wait(timeout_s)
        return self.standstill_s


@dataclasses.dataclass(frozen=True)
class Notice:
    """What a planner is told about interrupts: the messages, '' for none."""

    message: str = ''

    def __str__(self) -> str:
        said = f' and says: {self.message}' if self.message else ' without a word'
        return (
            f'The operator interrupted you{said}. The robot was told to hold still. Look at its '
            'state before you move it again, and heed what was said.'
        )


class Steering:
    """What people want of a running planner, in order.  Safe to use from several threads.

    Args:
      interactive: somebody sits at a terminal and answers: a planner that has nothing to do waits.
    """

    def __init__(self, *, interactive: bool = False) -> None:
        self.interactive = interactive
        self._lock = threading.Lock()
        self._something = threading.Condition(self._lock)
        self._messages: collections.deque[str] = collections.deque()
        self._interrupts: list[Interrupt] = []
        self._callbacks: list[Callable[[Interrupt], None]] = []

    def push(self, message: str) -> None:
        """Add a message."""
        with self._something:
            self._messages.append(message)
            self._something.notify_all()

    def take(self) -> list[str]:
        """Remove and return all messages."""
        with self._lock:
            taken = list(self._messages)
            self._messages.clear()
        return taken

    def wait(self, timeout_s: float) -> bool:
        """Wait for a message or an interrupt; returns True if there is one."""
        with self._something:
            return self._something.wait_for(
                lambda: bool(self._messages or self._interrupts), timeout_s
            )

    def interrupt(self, message: str = '') -> Interrupt:
        """Have the robot hold still and the planner read a message; returns at once."""
        interrupt = Interrupt(message)
        with self._something:
            self._interrupts.append(interrupt)
            callbacks = list(self._callbacks)
            self._something.notify_all()
        for callback in callbacks:
            callback(interrupt)
        if not callbacks:
            # Nobody runs tools yet, or any more.
            interrupt.settle()
        return interrupt

    @property
    def interrupted(self) -> bool:
        """True while there is an interrupt that the planner has not been told of."""
        return bool(self._interrupts)

    def acknowledge(self) -> Notice | None:
        """Take the interrupts: whoever calls this tells the planner.  None: there are none."""
        with self._lock:
            taken, self._interrupts = self._interrupts, []
        if not taken:
            return None
        return Notice('\n'.join(i.message for i in taken if i.message))

    def on_interrupt(self, callback: Callable[[Interrupt], None]) -> Callable[[], None]:
        """Have a function called at every interrupt, on the thread that interrupts.

        Returns:
          A function that ends this.
        """
        with self._lock:
            self._callbacks.append(callback)

        def remove() -> None:
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks.remove(callback)

        return remove
