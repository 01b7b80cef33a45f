"""What the watch says while it runs: single lines for a log, and one line on a terminal.

In a pipe nothing is said of a tick that changed nothing. Each line is `key=value` pairs, so that a
machine reads it, and holds no line break, whatever an error or a title holds.
"""

import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, TextIO

from alerts.storing.records import Change

_LOG: Final = logging.getLogger("paceline")
_ANEW: Final = "\r\x1b[2K"
"""Makes a terminal's line empty."""

_CALM: Final = frozenset({"standing", "updated"})


class LineFormatter(logging.Formatter):
    """A record as one line of `key=value` pairs; of an exception, what and where."""

    def __init__(self, before: str = "") -> None:
        """Format lines.

        Args:
            before: What each line begins with.
        """
        super().__init__()
        self._before = before

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        pairs: dict[str, object] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1]:
            error = record.exc_info[1]
            pairs["error"] = f"{type(error).__name__}: {error}"
            pairs["where"] = _where(record.exc_info[2])
        extra: Mapping[str, object] = getattr(record, "pairs", {})
        return self._before + line_of({**pairs, **extra})


def line_of(pairs: Mapping[str, object]) -> str:
    """Return pairs as one line; what could be taken for something else stands in quotes."""
    return " ".join(f"{name}={_value(value)}" for name, value in pairs.items())


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    is_plain = text.isprintable() and text and not set(text) & set(' "=\\')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _where(trace: TracebackType | None) -> str:
    """Return the place where an error was raised."""
    frames = traceback.extract_tb(trace)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


@dataclass(slots=True, kw_only=True)
class Teller:
    """Says what ticks did.

    Attributes:
        stream: Where to; a terminal gets a line that is written over.
    """

    stream: TextIO
    _broken: frozenset[str] = field(default=frozenset())

    def tick(self, now: datetime, facts: Mapping[str, object]) -> None:
        """Say on a terminal what the last tick did."""
        if self.stream.isatty():
            line = line_of({"tick": f"{now:%H:%M:%S}", **facts})[:119]
            self.stream.write(f"{_ANEW}{line}")
            self.stream.flush()

    def changes(self, changes: Sequence[Change]) -> None:
        """Log what happened to incidents."""
        for change in changes:
            after = change.after
            is_retitled = change.before is not None and change.before.title != after.title
            if change.kind not in _CALM or is_retitled:
                pairs = {
                    "incident": after.number,
                    "id": after.id,
                    "severity": after.severity,
                    "state": after.state,
                    "title": after.title,
                }
                _LOG.info("incident %s", change.kind, extra={"pairs": pairs})

    def problems(self, problems: Mapping[str, Sequence[str]]) -> None:
        """Log which sources began to fail, and which work again; a failure that lasts, once."""
        failing = frozenset(problems)
        for name in sorted(failing - self._broken):
            pairs = {"source": name, "problem": problems[name][0], "count": len(problems[name])}
            _LOG.warning("source fails", extra={"pairs": pairs})
        for name in sorted(self._broken - failing):
            _LOG.info("source works again", extra={"pairs": {"source": name}})
        self._broken = failing

    def done(self) -> None:
        """End the line on a terminal."""
        if self.stream.isatty():
            self.stream.write("\n")


def log_line(message: str, **pairs: object) -> None:
    """Log one line of what the process itself does."""
    _LOG.info(message, extra={"pairs": pairs})


def begin_logging(stream: TextIO) -> None:
    """Log everything from INFO on in single lines; libraries from WARNING on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(_ANEW if stream.isatty() else ""))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    _LOG.setLevel(logging.INFO)
    logging.getLogger("alerts").setLevel(logging.INFO)
