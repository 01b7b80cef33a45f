"""End cleanly on SIGTERM and SIGINT: what is being committed is finished, a wait is cut short."""

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


class StoppedError(KeyboardInterrupt):
    """A signal came while nothing was being written; no library takes it for a failed try."""


@dataclass(slots=True)
class Stop:
    """Whether somebody asked this process to end.

    Attributes:
        is_asked: Whether a signal came.
        is_idle: Whether it may break off what is being done.
    """

    is_asked: bool = False
    is_idle: bool = False

    @contextmanager
    def idle(self) -> Generator[None, None, None]:
        """Do something that a signal may break off, such as to wait for a server.

        Raises:
            StoppedError: A signal came, now or before.
        """
        self.is_idle = True
        try:
            if self.is_asked:
                raise StoppedError
            yield
        finally:
            self.is_idle = False

    def wait(self, seconds: float) -> None:
        """Wait, unless or until a signal comes.

        Raises:
            StoppedError: A signal came, now or before.
        """
        with self.idle():
            time.sleep(seconds)

    def check(self) -> None:
        """Go on, unless a signal came.

        Raises:
            StoppedError: A signal came.
        """
        if self.is_asked:
            raise StoppedError

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        self.is_asked = True
        if self.is_idle:
            self.is_idle = False
            raise StoppedError


@contextmanager
def stop_on_signals() -> Generator[Stop, None, None]:
    """Give a `Stop` that SIGTERM and SIGINT set; the handlers before it come back at the end."""
    stop = Stop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, stop.on_signal) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
