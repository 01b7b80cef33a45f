"""Take the events out of a Chrome trace of any size, a block at a time, as far as it goes.

Source: formats of progress streams, section 13.2; the Trace Event Format of Chromium: an object
with `traceEvents`, or the bare array. A trace of a killed job ends within an event. Whole traces
become many times their size as Python objects, so never more than a block is held.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final, cast

import orjson

BLOCK_BYTES: Final = 4 * 2**20

MAX_EVENT_CHARACTERS: Final = 64 * 2**20
"""An event that is longer is none; its trace is not read on."""

MAX_FRAME_CHARACTERS: Final = 2**20
"""What stands around the events is kept up to here, at both ends."""

_START: Final = re.compile(r'"traceEvents"\s*:\s*\[|\A\s*\[')

_BETWEEN: Final = re.compile(r"[\s,]*")

_MARK: Final = re.compile(r'\}\s*,\s*\{\s*"[^"]*"\s*:')

MAX_BETWEEN_CHARACTERS: Final = 200

_DECODER: Final = json.JSONDecoder()


@dataclass(slots=True, kw_only=True)
class TraceText:
    """A trace that is being read.

    Attributes:
        stream: Its bytes.
        wanted: Found in the text of the events that are asked for.
        around: The text before the events and, once they are over, after them.
        torn: Whether the text ended within the events, or went on with something else.
        event_count: Events taken so far.
    """

    stream: IO[bytes]
    wanted: re.Pattern[str]
    around: str = ""
    torn: bool = False
    event_count: int = 0
    _text: str = ""
    _between: str = ""
    _decode: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")(errors="replace")
    )

    def _more(self) -> bool:
        """Take another block; false at the end."""
        data = self.stream.read(BLOCK_BYTES)
        self._text += self._decode.decode(data, final=not data)
        return bool(data)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events in their order whose text `wanted` is found in."""
        at = self._begin()
        while at is not None:
            values, end = self._together(at) or self._one(at)
            yield from (cast("dict[str, Any]", one) for one in values if isinstance(one, dict))
            at = self._on_from(end) if end == at else end

    def _one(self, at: int) -> tuple[list[object], int]:
        """Return the event that begins at a place, and where it ends; there, if it is torn."""
        found = _BETWEEN.match(self._text, at)
        start = found.end() if found else at
        try:
            value, end = _DECODER.raw_decode(self._text, start)
        except (ValueError, RecursionError):
            return [], at
        self.event_count += 1
        self._between = self._text[end - 1 : end + MAX_BETWEEN_CHARACTERS]
        return ([value] if self.wanted.search(self._text, start, end) else []), end

    def _together(self, at: int) -> tuple[list[object], int] | None:
        """Return the wanted ones of all whole events of the block; null where they are not alike.

        Writers put the same text between all events: from the end of one to the first key of the
        next. Splitting there and leaving out what nobody wants is many times faster.
        """
        mark = _MARK.match(self._between)
        if mark is None:
            return None
        head = mark[0][mark[0].index("{") :]
        start, end = self._text.find("{", at), self._text.rfind(mark[0], at)
        if end <= start or not self._text.startswith(head, start):
            return None
        bodies = self._text[start + len(head) : end].split(mark[0])
        kept = ",".join(f"{head}{body}}}" for body in bodies if self.wanted.search(body))
        try:
            values = orjson.loads(f"[{kept}]")
        except orjson.JSONDecodeError:
            self._between = ""
            return None
        self.event_count += len(bodies)
        return values, end + 1

    def _begin(self) -> int | None:
        """Return where the first event begins; null if the text has none."""
        while not (found := _START.search(self._text)):
            if len(self._text) > MAX_FRAME_CHARACTERS or not self._more():
                self.torn = True
                return None
        self.around = self._text[: found.start()]
        return found.end()

    def _on_from(self, at: int) -> int | None:
        """Return where to go on where no whole event begins; null at the end of the events."""
        self._text = self._text[at:].lstrip(" \t\r\n,")
        if self._text[:1] == "]":
            self._take_end()
            return None
        if len(self._text) <= MAX_EVENT_CHARACTERS and self._more():
            return 0
        self.torn = True
        return None

    def _take_end(self) -> None:
        while len(self._text) < MAX_FRAME_CHARACTERS and self._more():
            pass
        self.around += self._text[:MAX_FRAME_CHARACTERS]
