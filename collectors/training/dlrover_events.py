"""Read the event files of DLRover: spans with an identity, one line each end.

Source: formats of progress streams, section 11: `[stamp] [pid] [event_id] [target] [#step]
[BEGIN|END|INSTANT] {json}`, paired by event_id. The first step after a restart may take long.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.identity import file_rank
from collectors.readings import Reading
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.texts.plain_lines import account, judged_lines, plain_lines
from collectors.texts.stamps import iso_time
from collectors.training.spans import MARKS, events_of_spans, pair_spans, steps_of_spans

_LINE: Final = (
    r"^\s*\[([^\]]*)\] \[(\d+)\] \[([^\]]*)\] \[([^\]]*)\] \[(#?[\w.-]+)\] \[(BEGIN|END|INSTANT)\]"
    r" ?(.*)$"
)

_MARKS: Final = {"BEGIN": "start", "END": "end", "INSTANT": "instant"}

_HEAD_LINES: Final = 20

_NUMBER: Final = r'"?(-?[\d.]+(?:[eE][-+]?\d+)?|-?[Nn]a[Nn]|-?[Ii]nf(?:inity)?)'


def wants_dlrover_events(head: Head) -> float:
    """Return how sure it is that a head is a file of events."""
    lines = judged_lines(head)[:_HEAD_LINES]
    known = [line for line in lines if re.match(_LINE, line)]
    return SURE if lines and 2 * len(known) >= len(lines) else 0.0


def read_dlrover_events(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps and events in a file of events.

    Args:
        path: The file.
        source: The name to quote; a rank that no line says is taken from it.
        options: The zone of stamps that carry none.

    Returns:
        `STEPS` from the spans `#step`, `EVENTS` of evaluations, checkpoints, starts and ends of
        training, of the span that stands open, and of instants that tell no step: no progress, but
        signs that the file was still written.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    known = lines.filter(pl.col("text").str.contains(_LINE))
    marks = _marks_of(known, file_rank(path.name), options)
    spans = pair_spans(marks)
    told = [events_of_spans(spans), _lives(marks), _instants(marks)]
    events = pl.concat(told, how="diagonal")
    return account(
        lines, known["position"], source, steps=steps_of_spans(spans, marks), events=events
    )


def _marks_of(lines: pl.DataFrame, rank: int | None, options: ReadOptions) -> pl.DataFrame:
    """Return `MARKS`, in the order of the file."""
    text = pl.col("text")
    stamp, pid, identity, name, mark, body = (
        text.str.extract(_LINE, group) for group in (1, 2, 3, 5, 6, 7)
    )
    rows = lines.with_columns(
        time=iso_time(stamp, options.time_zone),
        span=name.str.strip_prefix("#"),
        key=pl.concat_str(pid, identity, separator=" "),
        mark=mark.replace_strict(_MARKS, default="instant", return_dtype=pl.String),
        step=_number(body, r"(?:global_step|current_step|step|iteration)"),
        rank=pl.coalesce(
            _number(body, r"(?:global_rank|node_rank|rank)"), pl.lit(rank, dtype=pl.Float64)
        ),
        loss=_number(body, r"(?:train_)?loss"),
        grad_norm=_number(body, r"grad_norm"),
    )
    return conform(rows.lazy(), MARKS).collect()


def _number(body: pl.Expr, name: str) -> pl.Expr:
    return body.str.extract(rf'"{name}": *{_NUMBER}').cast(pl.Float64, strict=False)


def _lives(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the events of a training that begins or ends."""
    is_training = pl.col("span").str.contains(r"(?i)^train(?:ing)?$")
    is_start = pl.col("mark") == "start"
    return marks.filter(is_training, pl.col("mark") != "instant").with_columns(
        kind=pl.when(is_start).then(pl.lit("run_start")).otherwise(pl.lit("run_end")),
        code=pl.when(~is_start).then(pl.lit("done")),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )


def _instants(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the instants as notes, those that speak of a heartbeat as such."""
    beats = pl.col("text").str.contains(r"(?i)heart ?beat|keep-?alive|still alive")
    return marks.filter(pl.col("mark") == "instant", pl.col("step").is_null()).with_columns(
        kind=pl.when(beats).then(pl.lit("heartbeat")).otherwise(pl.lit("note")),
        code="span",
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )
