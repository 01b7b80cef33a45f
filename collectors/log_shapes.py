"""Know a log by another one: thousands of ranks print the same lines with other numbers.

Fifty formats look at the head of a file before it is taken for a log. Heads whose lines differ in
their numbers alone are of one format, so those looks are spent on the first of them.
"""

from dataclasses import dataclass, field
from typing import Final

from collectors.sniffing import Dialect, Head, choose

_DIGITS: Final = bytes.maketrans(b"123456789abcdef", b"0" * 15)
"""Digits, also those of hexadecimal numbers, become zeros; so do some letters of words."""

_RUNS: Final = (b"0" * 8, b"0" * 4, b"0" * 2, b"0" * 2, b"0" * 2)
"""Runs of zeros of so many become one, from long to short."""

Shape = tuple[bytes, bytes, frozenset[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHeads:
    """Finds the format of files, and remembers what the heads of plain logs look like.

    Attributes:
        dialects: In order of specificity.
        log: The one of plain logs.
    """

    dialects: tuple[Dialect, ...]
    log: Dialect
    _shapes: set[Shape] = field(default_factory=set[Shape])

    def choose(self, head: Head) -> Dialect | None:
        """Return the dialect that is surest of a head; null when none wants it."""
        shape = _shape_of(head)
        if shape in self._shapes:
            return self.log
        dialect = choose(head, self.dialects)
        if dialect is self.log:
            self._shapes.add(shape)
        return dialect


def _shape_of(head: Head) -> Shape:
    """Return a head without its numbers: name, first line, and which lines follow."""
    # A line that the head's end cuts is as any other that begins so.
    lines = _numberless(head.data).split(b"\n")
    return _numberless(head.name.encode(errors="replace")), lines[0], frozenset(lines[:-1])


def _numberless(text: bytes) -> bytes:
    bare = text.translate(_DIGITS)
    for run in _RUNS:
        bare = bare.replace(run, b"0")
    return bare
