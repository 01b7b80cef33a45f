"""What the readers of kernel lines hand over: one record a line, to be joined into events.

Some faults take several lines (an SXid with its data, a GPU that falls off the bus), and some lines
come a hundred thousand times. `collectors.hosts.kernel_folds` makes events of these records.
"""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, TIME, conform, schema_of

RECORDS: Final = schema_of(
    {
        "line": pl.Int64,
        "position": pl.Int64,
        "end_position": pl.Int64,
        "time": TIME,
        "last": TIME,
        "host": pl.String,
        "uptime": pl.Int64,
        "end_uptime": pl.Int64,
        "kind": pl.String,
        "code": pl.String,
        "severity": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "peer": pl.String,
        "message": pl.String,
        "attributes": pl.String,
        "count": pl.Int64,
        "thread": pl.String,
        "is_part": pl.Boolean,
        "reach": pl.Int64,
        "grade": pl.Int8,
        "fold": pl.String,
    }
)
"""One line, or lines already joined. `thread` names what it may belong to, with the host; null if
to nothing. A record with `is_part` joins the one before it in its thread if that ended at most
`reach` microseconds earlier, else it stands alone. Of joined records the lowest `grade` gives kind
and message. `fold` is the message without what differs between equal faults, `attributes` what
`labels` makes. `count` is how often the fault came, 0 for a line that only says more of it."""

_IS: Final = "\x1f"
_AND: Final = "\x1e"
"""Between name and value, and behind each pair; no line of a log holds these."""

PART_MICROS: Final = 5_000_000
"""Lines of one report of the kernel are printed at once; a slow console stretches that."""


def labels(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return the attributes of a record from expressions by name; a null one is left out.

    They are text until the few events are known: a storm has a hundred thousand records.
    """
    pairs = [
        pl.concat_str(pl.lit(name + _IS), value.cast(pl.String), pl.lit(_AND))
        for name, value in values.items()
    ]
    return pl.concat_str(pairs, ignore_nulls=True)


def _attributes(text: pl.Expr) -> pl.Expr:
    """Return attributes of records as those of events; the first of a name counts."""
    pair = pl.element().str.splitn(_IS, 2).struct.rename_fields(["key", "value"])
    known = pair.filter(pair.struct.field("value").is_not_null())
    pairs = text.str.split(_AND).list.eval(known)
    first = pl.element().filter(pl.element().struct.field("key").is_first_distinct())
    unique = pairs.list.eval(first)
    return pl.when(unique.list.len() > 0).then(unique)


def records(lines: pl.DataFrame, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return records of lines, filled up with what most of them have.

    Args:
        lines: `KERNEL_LINES`, those of one shape.
        columns: What the shape gives, by column of `RECORDS`. Without `count` a line is one fault,
            without `thread` it stands alone, without `fold` equal messages are equal faults.

    Returns:
        `RECORDS` in the same order.
    """
    if lines.is_empty():  # most shapes of a log are not there, and there are two dozen of them
        return RECORDS.to_frame()
    usual: dict[str, pl.Expr] = {
        "end_position": pl.col("position"),
        "end_uptime": pl.col("uptime"),
        "last": pl.col("time"),
        "count": pl.lit(1),
        "is_part": pl.lit(value=False),
        "reach": pl.lit(PART_MICROS),
        "grade": pl.lit(0),
    }
    whole = lines.with_columns(**(usual | dict(columns)))
    folded = pl.col("fold").fill_null(pl.col("message")) if "fold" in columns else pl.col("message")
    return conform(whole.lazy().with_columns(fold=folded), RECORDS).collect()


def matched(lines: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Return the lines whose message fits a pattern, with its named groups as columns."""
    hits = lines.filter(pl.col("message").str.contains(pattern))
    groups = hits.select(pl.col("message").str.extract_groups(pattern)).unnest("message")
    clashing = [name for name in groups.columns if name in hits.columns]
    return hits.drop(clashing).hstack(groups)


def plain_digits(text: pl.Expr) -> pl.Expr:
    """Return a message without what differs between reports of one fault.

    Addresses, channels, sequence numbers and raw words go; units, links and short words stay, since
    the same fault on another unit is another fault. A GSP that is dead answers no call, whichever.
    """
    out = text
    for pattern, name in _CHANGING:
        out = out.str.replace_all(pattern, name)
    return out


_CHANGING: Final = (
    (r"Timeout after \d+s of waiting for RPC response from GPU\d+ GSP!.*", "no answer of the GSP"),
    (r"0x[0-9a-fA-F_]{7,}", "0x*"),
    (r"\b((?i:ch|channel|channel id|chid))[ :]+(?:0x)?[0-9a-fA-F]{1,8}\b", "${1} *"),
    (r"\b(sequence|seq|intr|pid|tid)[ :=]+(?:0x)?[0-9a-fA-F]+\b", "${1} *"),
    (r"\b[0-9a-fA-F]{8,}\b", "*"),
)


def event_frame(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return records as `EVENTS`; `last` is null for a fault that came once."""
    once = pl.col("count").clip(lower_bound=1)
    since = pl.col("uptime").cast(pl.String).str.zfill(7)
    seconds = pl.concat_str(since.str.head(-6), pl.lit("."), since.str.tail(6))
    monotonic: dict[str, Any] = {"monotonic_seconds": seconds}
    both = pl.concat_str(pl.col("attributes"), labels(monotonic), ignore_nulls=True)
    return conform(
        rows.lazy().with_columns(
            count=once,
            last=pl.when(once > 1).then("last"),
            attributes=_attributes(both),
            source=pl.lit(source),
        ),
        EVENTS,
    ).collect()
