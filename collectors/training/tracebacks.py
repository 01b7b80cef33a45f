"""Read Python tracebacks as one event each: what ended a process, or what it died of in passing.

Source: Python's traceback layout; PyTorch's `[rankN]:` excepthook (formats of NCCL and
PyTorch-distributed logs, sections 1.2 and 8); gloo's transport errors. An error about the other
end is a cascade: its rank is a victim, and where to look is the peer.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading, printer
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.phrases import Phrase, match_phrases

TRACEBACK_START: Final = r"Traceback \(most recent call last\):"

_EXCEPTION: Final = (
    r"^(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Timeout|Failure)"
    r"|Empty|Full|StopIteration)(?::.*)?$"
)
"""The last line of a traceback, also where the lines before it are lost."""

EXCEPTION_HINT: Final = rf"{TRACEBACK_START}|{_EXCEPTION}|above exception"

_LINK: Final = (
    r"^(?:During handling of the above exception, another exception occurred:|"
    r"The above exception was the direct cause of the following exception:)"
)

_NAME: Final = r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?::|$)"

_PHRASES: Final = (
    Phrase(
        kind="oom",
        pattern=r"OutOfMemoryError|CUDA out of memory|CUDA error: out of memory",
        severity="critical",
        code="out of memory",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"Rank (?P<peer>\d+) failed to pass monitoredBarrier",
        severity="error",
        code="barrier",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"Ranks? (?P<peer>\d+(?:, ?\d+)*)(?:[^\]\d].*)? failed to pass monitoredBarrier",
        severity="error",
        code="barrier",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"(?i)connection (?:closed|reset) by (?:remote )?peer"
        r"(?:[ :]+\[?(?P<peer>[^\s\]<]+))?",
        severity="warning",
        code="peer_closed",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"(?i)timed out waiting \d+ ?ms|wait timeout after \d+ ?ms|timed out after \d+ ?ms"
        r"|watchdog .*timeout|collective operation timeout",
        severity="warning",
        code="timeout",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"(?i)connect(?:ion)? (?:refused|failed|timeout)|failed to connect|broken pipe",
        severity="warning",
        code="connect",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"DistBackendError|DistNetworkError|DistStoreError|NCCL error|ncclRemoteError"
        r"|ncclSystemError|ncclInternalError|unhandled system error|gloo/",
        severity="warning",
        code="backend",
    ),
    Phrase(kind="signal", pattern=r"^KeyboardInterrupt", severity="warning", code="SIGINT"),
    Phrase(kind="cuda_error", pattern=r"CUDA error: (?P<code>[^.\n]+)", severity="critical"),
    Phrase(
        kind="traceback", pattern=r"^(?:[A-Za-z_]\w*\.)*(?P<code>[A-Za-z_]\w*)", severity="critical"
    ),
)


def read_tracebacks(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return one event for each traceback and for each exception line without one.

    Args:
        lines: `LINES`.

    Returns:
        `EVENTS` of kind traceback (code is the exception's class), oom, cuda_error, signal, or
        comm_error, whose codes are timeout (this rank waited), peer_closed, connect, barrier and
        backend, and whose `peer` is the address or rank that is named. The message is the last
        line; a traceback that the log cuts short has its last line seen.
    """
    marked = _marked(lines)
    blocks = (
        marked.filter(pl.col("part") != "none")
        .group_by("printer", "block", maintain_order=True)
        .agg(
            pl.col("line", "position", "time", "host", "rank").first(),
            pl.col("text").last().str.strip_chars(),
        )
        .sort("line")
    )
    events = match_phrases(blocks, _PHRASES).with_columns(message="text", count=pl.lit(1))
    links = lines.filter(pl.col("text").str.contains(_LINK))["line"]
    claimed = marked.filter(pl.col("part") != "none")["line"]
    return LineReading(reading=reading_of(events=events), claimed=pl.concat([claimed, links]))


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the block they belong to and their part in it, `none` without one.

    A block runs from its start over indented lines to the first that is not: the exception. An
    exception line on its own is a block of one.
    """
    text = pl.col("text")
    starts = text.str.contains(rf"^\s*{TRACEBACK_START}")
    keyed = lines.with_columns(printer=printer(), starts=starts)
    ordered = keyed.with_columns(
        outer=text.str.extract(r"^(\s*)").str.len_chars(),
        stretch=pl.col("starts").cum_sum().over("printer"),
    )
    depth = pl.col("outer").first().over("printer", "stretch")
    inside = pl.col("stretch") > 0
    shallow = ~pl.col("starts") & (pl.col("outer") <= depth)
    ended = shallow.cum_sum().over("printer", "stretch")
    is_body = inside & (ended == 0)
    is_last = inside & shallow & (ended == 1)
    is_alone = text.str.contains(_EXCEPTION) & ~is_body & ~is_last
    part = (
        pl.when(is_body | is_last)
        .then(pl.lit("traceback"))
        .when(is_alone)
        .then(pl.lit("alone"))
        .otherwise(pl.lit("none"))
    )
    block = pl.when(is_alone).then(-1 - pl.col("line")).otherwise(pl.col("stretch").cast(pl.Int64))
    return ordered.with_columns(part=part, block=block)
