"""Read torchtitan's structured logs: the spans of each rank, one JSON object a line.

Source: formats of progress streams, section 4 (`structured_logs/<source>.global_rank_<r>.*.jsonl`):
`log_type_name` is `<span>_start`, `_end`, `_error` or `metric_value`; `value` of an end counts
milliseconds.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.identity import canonical_host, file_rank
from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.texts.json_lines import read_json_lines
from collectors.texts.stamps import epoch_time, iso_time
from collectors.training.spans import MARKS, events_of_spans, pair_spans, steps_of_spans

_FIELDS: Final = (
    *("rank", "global_rank", "host_name", "step", "seq_id"),
    *("time", "time_ms", "time_us", "log_type", "log_type_name", "event_name", "value"),
)

_MARK: Final = r"^(.*)_(start|end|error)$"

_HEAD_LINES: Final = 20


def wants_titan_spans(head: Head) -> float:
    """Return how sure it is that a head is a structured log."""
    lines = head.lines[:_HEAD_LINES]
    known = [line for line in lines if '"log_type_name"' in line and line.startswith("{")]
    return SURE if lines and 2 * len(known) >= len(lines) else 0.0


def read_titan_spans(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps and events of a rank.

    Args:
        path: The file.
        source: The name to quote; a rank that no line says is taken from it.
        options: The zone of stamps that carry none.

    Returns:
        `STEPS` and `EVENTS` of spans, and `PLACEMENTS` of ranks whose host is told.

    Raises:
        OSError: The file cannot be read.
    """
    objects, broken = read_json_lines(path.read_bytes(), _FIELDS)
    marks = _marks_of(objects, file_rank(path.name), options)
    spans = pair_spans(marks)
    placed = marks.drop_nulls(["rank", "host"]).unique(["rank", "host"], maintain_order=True)
    frames = {
        "steps": steps_of_spans(spans, marks),
        "events": events_of_spans(spans),
        "placements": placed.select("rank", "host"),
        "rejects": broken.unique("position", keep="first", maintain_order=True).with_columns(
            pl.col("text").str.head(MAX_REJECT_CHARACTERS)
        ),
    }
    whole = reading_of(
        **{name: f.with_columns(source=pl.lit(source)) for name, f in frames.items()}
    )
    lost = frames["rejects"]["position"].implode()
    return count_lines(whole, int((~objects["position"].unique().is_in(lost)).sum()))


def _marks_of(objects: pl.DataFrame, rank: int | None, options: ReadOptions) -> pl.DataFrame:
    """Return `MARKS`, in the order of the file."""
    number = {name: pl.col(name).cast(pl.Float64, strict=False) for name in _FIELDS}
    span = pl.col("log_type_name").str.extract(_MARK, 1)
    metric = pl.col("event_name").str.to_lowercase()
    is_metric = pl.col("log_type_name") == "metric_value"
    stamps = [epoch_time(number[name]) for name in ("time_us", "time_ms", "time")]
    rows = objects.with_columns(
        span=pl.coalesce(span, "event_name", "log_type_name"),
        mark=pl.col("log_type_name").str.extract(_MARK, 2).fill_null("instant"),
        time=pl.coalesce(*stamps, iso_time(pl.col("time"), options.time_zone)),
        host=canonical_host(pl.col("host_name")),
        rank=pl.coalesce(number["global_rank"], number["rank"], pl.lit(rank, dtype=pl.Float64)),
        step=number["step"],
        seconds=pl.when(pl.col("log_type_name").str.ends_with("_end")).then(number["value"] / 1e3),
        loss=pl.when(is_metric & metric.str.contains(r"(?:^|_|/)loss$")).then(number["value"]),
        grad_norm=pl.when(is_metric & metric.str.contains("grad_norm")).then(number["value"]),
    )
    key = pl.concat_str("span", pl.col("step").cast(pl.String), separator=" ", ignore_nulls=True)
    return conform(rows.with_columns(key=key).lazy(), MARKS).collect()
