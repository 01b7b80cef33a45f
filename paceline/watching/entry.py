"""Run an instance with real time and real signals: the only place of the watch that has either."""

import signal
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from types import FrameType

from paceline.settings import Settings
from paceline.watching.grid import Pace
from paceline.watching.running import in_background
from paceline.watching.serving import address_of, app_of, listen, serve
from paceline.watching.telling import begin_logging, log_line
from paceline.watching.wiring import Wired, wired


def run_instance(settings: Settings, environ: Mapping[str, str], *, is_check: bool) -> None:
    """Run until SIGTERM or SIGINT; the tick that is under way is finished and committed.

    Args:
        settings: The settings.
        environ: The environment, for secrets.
        is_check: Make everything, and run nothing.

    Raises:
        SettingsError: Something cannot be used; in one line.
    """
    begin_logging(sys.stderr)
    with ExitStack() as stack:
        parts = stack.enter_context(wired(settings, environ, _now))
        wait: Callable[[], object] = parts.stop.wait
        if settings.service is not None:
            app = app_of(parts.instance, settings, environ, _now)
            listening = stack.enter_context(listen(settings.service))
            wait = partial(serve, app, listening)
            if not is_check:
                log_line("serving", address=address_of(listening))
        if is_check:
            return
        stack.enter_context(_ending(parts.stop))
        log_line("watching", cluster=settings.cluster, resumed=parts.is_resumed)
        _run_all(parts, settings, wait)
    log_line("stopped", cluster=settings.cluster)


def _now() -> datetime:
    return datetime.now(UTC)


def _run_all(parts: Wired, settings: Settings, wait: Callable[[], object]) -> None:
    """Run the watch and what works beside it in threads, and wait in this one."""
    pace = Pace(every=settings.watch.tick, clock=_now, stop=parts.stop)
    loops = {"watch": lambda: pace.run(parts.instance.tick), **parts.background}
    with ExitStack() as stack:
        for name, loop in loops.items():
            stack.enter_context(in_background(name, loop, parts.stop))
        wait()
        parts.stop.set()
    parts.instance.teller.done()


@contextmanager
def _ending(stop: threading.Event) -> Generator[None]:
    """Set `stop` on SIGTERM and SIGINT for as long as the block lasts."""

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, end) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
