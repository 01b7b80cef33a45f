"""Read kernel logs: a few lines that matter among millions that do not, in bounded memory.

Source: formats of GPU and host streams, section 5. A kernel log may be any size: it is read by
blocks, and what may go on after one (a storm, a report of several lines) is carried along.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import REJECTS, TIME, conform
from collectors.hosts.kernel_blocks import count_years, record_blocks, text_lines
from collectors.hosts.kernel_clocks import Clocks, set_clocks
from collectors.hosts.kernel_envelopes import open_envelopes
from collectors.hosts.kernel_finds import Told, find_kernel_lines
from collectors.hosts.kernel_folds import close_records, finish_records, join_records
from collectors.hosts.kernel_records import RECORDS, event_frame
from collectors.line_reading import LineReading
from collectors.port_logs.switch_logs import read_switch_logs
from collectors.port_logs.switch_phrases import SWITCH_HINT
from collectors.readings import (
    MAX_REJECT_CHARACTERS,
    MAX_REJECT_EXAMPLES,
    Reading,
    count_lines,
    fold_rejects,
    join_readings,
    reading_of,
)
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.envelope import LINES
from collectors.texts.packed_files import is_packed

BLOCK_BYTES: Final = 16 * 1024 * 1024
"""Read at once; memory is some times this."""

NO_EVENT: Final = "no event of ours in the kernel log"

MIN_SHARE: Final = 0.5
"""Share of a head's lines that a kernel must have printed: other logs quote it now and then."""

_KERNEL: Final = (
    r"NVRM: |nvidia-nvswitch\d+: |\bkernel(?:\[\d+\])?(?::| - - -) |"
    r"^\s*(?:<\d+>)?\[ *\d+\.\d{6}\] |"
    r"^\d{1,3},\d+,\d+,[^;]*;|^kern +: *\w+ *: |^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} "
    r'|"(?:_TRANSPORT|SYSLOG_IDENTIFIER)"\s*:\s*"kernel"|"MESSAGE"\s*:\s*\[\d|'
    r": AER: |: PCIe Bus Error: |^mce: \[|^EDAC |"
    r"^nfs: server |^INFO: task .*blocked for more|\bS?Xid \([^)]*\): \d"
)
"""What a line of a kernel log looks like."""

_CONTINUED: Final = r"^ (?:SUBSYSTEM|DEVICE)="
"""A line of kmsg that goes on with the record before says nothing of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is carried from block to block."""

    told: Told
    position: int = 0
    open: pl.DataFrame = field(default_factory=RECORDS.to_frame)
    rejects: pl.DataFrame = field(default_factory=REJECTS.to_frame)


def wants_kernel_log(head: Head) -> float:
    """Return how sure it is that a head is mainly a kernel's log."""
    if head.is_binary:
        return 0.0
    lines = pl.Series(head.lines, dtype=pl.String)
    own = lines.filter(~lines.str.contains(_CONTINUED))
    if own.is_empty():
        return 0.0
    return 0.7 if own.str.contains(_KERNEL).sum() >= MIN_SHARE * len(own) else 0.0


def read_kernel_log(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a kernel log says; see `stream_kernel_log`."""
    whole = join_readings(stream_kernel_log(path, source, options))
    return replace(whole, events=whole.events.sort("position", maintain_order=True))


def stream_kernel_log(
    path: Path, source: str, options: ReadOptions, block_bytes: int = BLOCK_BYTES
) -> Iterator[Reading]:
    """Yield what a kernel log says, a block at a time.

    Args:
        path: The file, plain or packed.
        source: The name to quote.
        options: Zone and year of stamps that carry none, start of the host, table of Xids; the
            host of a log that names none, which its path may tell as well.
        block_bytes: About how much is read at once.

    Yields:
        `EVENTS` of faults that are over, `ALIASES` of GPUs, and at the end the `REJECTS`: all
        other lines, folded over the whole log.

    Raises:
        OSError: The file or the table of Xids cannot be read.
        XidTableError: The table is none.
    """
    end = count_years(path, block_bytes) if _is_long(path, options, block_bytes) else None
    state = _State(told=Told(clocks=Clocks(end=end)))
    host = taken_on(source, options)
    for block in record_blocks(path, block_bytes):
        reading, state = _read_block(block, source, options, host, state)
        yield reading
    events = event_frame(finish_records(state.open), source)
    yield reading_of(events=events, rejects=state.rejects)


def _is_long(path: Path, options: ReadOptions, block_bytes: int) -> bool:
    """Return whether a log may have several blocks and stamps whose year depends on its end."""
    is_long = is_packed(path) or path.stat().st_size > block_bytes
    return is_long and (options.year is not None or options.taken is not None)


def _read_block(
    block: bytes, source: str, options: ReadOptions, host: str | None, state: _State
) -> tuple[Reading, _State]:
    """Return what a block says, and what is carried to the next."""
    lines = text_lines(block, state.position).with_columns(
        line=pl.col("position"), time=pl.lit(None, dtype=TIME), host=pl.lit(None, dtype=pl.String)
    )
    found = find_kernel_lines(lines, options, state.told, host)
    over, still = close_records(join_records(pl.concat([state.open, found.records])))
    left = lines.filter(~pl.col("line").is_in(found.used.implode()))
    ports = _ports(left, options, found.told.clocks, host)
    noise = left.filter(~pl.col("line").is_in(ports.claimed.implode()))
    events = pl.concat([event_frame(over, source), ports.reading.events])
    reading = reading_of(
        events=events.with_columns(source=pl.lit(source)),
        aliases=found.aliases.with_columns(source=pl.lit(source)),
    )
    after = _State(
        told=found.told,
        position=state.position + block.count(b"\n"),
        open=still,
        rejects=fold_rejects(pl.concat([state.rejects, _rejects(noise, source)])),
    )
    return count_lines(reading, len(found.used) + len(ports.claimed)), after


def _ports(
    lines: pl.DataFrame, options: ReadOptions, clocks: Clocks, host: str | None
) -> LineReading:
    """Return what the drivers of NICs say of their ports, whose reader is that of switch logs."""
    hits = lines.filter(pl.col("text").str.contains(SWITCH_HINT))
    if hits.is_empty():
        return LineReading()
    named = hits.with_columns(host=pl.lit(host, dtype=pl.String))
    dated, _ = set_clocks(open_envelopes(named), options, Clocks(boots=clocks.boots))
    timed = named.with_columns(time=pl.when(dated["uptime"].is_not_null()).then(dated["time"]))
    return read_switch_logs(conform(timed.lazy(), LINES).collect(), _dated(options, clocks))


def _dated(options: ReadOptions, clocks: Clocks) -> ReadOptions:
    """Return options for one block alone, whose newest stamp may be of an earlier year."""
    if options.year is None or clocks.end is None:
        return options
    return replace(options, year=options.year - clocks.end.newest + clocks.walk.newest)


def _rejects(noise: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return rejects of lines without an event, the bulk of them as one row already."""
    shown = noise.head(MAX_REJECT_EXAMPLES + 1).with_row_index("at")
    rest = noise.height - MAX_REJECT_EXAMPLES
    is_rest = pl.col("at") == MAX_REJECT_EXAMPLES
    rows = shown.with_columns(
        pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS),
        source=pl.lit(source),
        reason=pl.lit(NO_EVENT),
        count=pl.when(is_rest).then(rest).otherwise(1),
    )
    return conform(rows.lazy(), REJECTS).collect()


def read_kernel_lines(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the kernel's lines inside a log of many producers.

    Args:
        lines: `LINES`.
        options: Zone and year of stamps that carry none.
    """
    found = find_kernel_lines(lines, options, Told())
    rows = finish_records(join_records(found.records))
    reading = reading_of(events=event_frame(rows, ""), aliases=found.aliases)
    return LineReading(reading=reading, claimed=found.used)
