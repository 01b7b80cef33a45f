"""Read a log: lines of many producers in one file, shared out among the line dialects.

Each line that is not empty ends as a row, as part of one, or as a reject. A text in which nobody
finds anything is no log of ours, and one reject.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from collectors.lines import LINE_DIALECTS
from collectors.log_blocks import LogReader, log_name
from collectors.readings import Reading, join_readings
from collectors.sniffing import Head, ReadOptions
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import line_blocks

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Read at once; memory is a few times this and what the rows of a block take."""


def wants_logs(head: Head) -> float:
    """Return how sure it is that a head is a log: any text may be one, so barely."""
    return 0.0 if head.is_binary else 0.05


def read_logs(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what all line dialects find in a log; see `stream_logs`."""
    return join_readings(stream_logs(path, source, options))


def stream_logs(
    path: Path, source: str, options: ReadOptions, block_bytes: int = BLOCK_BYTES
) -> Iterator[Reading]:
    """Yield what all line dialects find in a log, a block at a time.

    Args:
        path: The file, plain or packed; of a torn packed one what can be unpacked.
        source: The name to quote.
        options: Zone and year of stamps that carry none.
        block_bytes: About how much is read at once.

    Yields:
        The frames of all dialects, and at the end the rejects of the whole log. `rank` and `host`
        that no line says are taken from a file name that is a rank's or a host's; ranks whose host
        is told are placements.

    Raises:
        OSError: The file cannot be read.
    """
    reader = LogReader(name=log_name(path.name, source), options=options, dialects=LINE_DIALECTS)
    with open_unpacked(path) as stream:
        yield from reader.read(line_blocks(stream, block_bytes))


def resume_logs(path: Path, source: str, options: ReadOptions, seen: int) -> Iterator[Reading]:
    """Yield what the end of a log says; the first `seen` lines were told before.

    See `stream_logs`. Positions count from the first line of the file that is given.
    """
    reader = LogReader(name=log_name(path.name, source), options=options, dialects=LINE_DIALECTS)
    with open_unpacked(path) as stream:
        yield from reader.read(line_blocks(stream, BLOCK_BYTES), seen)


def read_log_lines(data: bytes, name: str, source: str, options: ReadOptions) -> Reading:
    """Return what all line dialects find in the bytes of a log; see `stream_logs`."""
    reader = LogReader(name=log_name(name, source), options=options, dialects=LINE_DIALECTS)
    return join_readings(reader.read([data]))
