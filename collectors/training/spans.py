"""Turn the spans that ranks record into steps and events; one without an end is a rank that hung.

Source: formats of progress streams, sections 4 (torchtitan's structured logs) and 11 (DLRover).
Spans nest: of those that are open, the one that was begun last says where a rank stands.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.texts.event_labels import event_labels
from collectors.training.attempts import attempt_number

MARKS: Final = schema_of(
    {
        "position": pl.Int64,
        "text": pl.String,
        "time": TIME,
        "host": pl.String,
        "rank": pl.Int32,
        "step": pl.Int64,
        "span": pl.String,
        "key": pl.String,
        "mark": pl.String,
        "seconds": pl.Float64,
        "loss": pl.Float64,
        "grad_norm": pl.Float64,
    }
)
"""One line of a rank's record, in the order of its file. `mark` is start, end, error or instant;
`key` pairs a start with its end; `seconds` is the duration that an end tells."""

_PARTS: Final = {
    "step_seconds": r"(?i)^(?:train(?:ing)?_?)?(?:step|iteration|iter)$",
    "data_seconds": r"(?i)data|batch|input",
    "checkpoint_seconds": r"(?i)checkpoint|ckpt|save|staging",
    "optimizer_seconds": r"(?i)optim|clip",
    "comm_seconds": r"(?i)reduce|gather|comm|sync|wait|barrier",
    "compute_seconds": r"(?i)forward|backward|fwd|bwd|compute",
}
"""Our column: the spans that it holds, the surest first."""

_EVALUATION: Final = r"(?i)eval|valid"

_CHECKPOINT: Final = _PARTS["checkpoint_seconds"]

_OUTER: Final = r"(?i)^(?:train(?:ing)?|epoch|job|main|fit|run)$"
"""Spans that hold all others."""


def pair_spans(marks: pl.DataFrame) -> pl.DataFrame:
    """Return one row a span that was begun, or ended without a start.

    Args:
        marks: `MARKS` of one file.

    Returns:
        Columns of `MARKS` of the start with `end_time`, `is_open`, and `seconds`: as told, else
        between the two stamps. Of an end without a start it is the end's row.
    """
    spans = marks.filter(pl.col("mark").is_in(["start", "end", "error"]))
    is_start = pl.col("mark") == "start"
    turn = is_start.cum_sum().over("key")
    by_stamps = (pl.col("time").last() - pl.col("time").first()).dt.total_microseconds() / 1e6
    ended = pl.col("mark").is_in(["end", "error"]).any()
    return (
        spans.with_columns(turn=turn)
        .group_by("key", "turn", maintain_order=True)
        .agg(
            pl.col("position", "text", "time", "host", "span").first(),
            pl.col("rank", "step").drop_nulls().first(),
            end_time=pl.when(ended).then(pl.col("time").last()),
            seconds=pl.coalesce(
                pl.col("seconds").drop_nulls().last(),
                pl.when(ended & (pl.len() > 1)).then(by_stamps),
            ),
            is_open=~ended,
            failed=(pl.col("mark") == "error").any(),
        )
        .sort("position", maintain_order=True)
    )


def steps_of_spans(spans: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the steps of a rank that are done.

    Args:
        spans: As `pair_spans` gives them.
        marks: `MARKS` of the same file, of which some tell a loss.

    Returns:
        `STEPS`: a step whose own span is open is none; without a span for the whole step every
        step counts but one in which a span is open.
    """
    name = pl.col("span")
    family = pl.coalesce(
        pl.when(name.str.contains(pattern)).then(pl.lit(column))
        for column, pattern in _PARTS.items()
    )
    known = spans.with_columns(family=family).filter(
        pl.col("step") >= 0, ~name.str.contains(_OUTER), ~name.str.contains(_EVALUATION)
    )
    again = (pl.col("step") != pl.col("step").shift(1)).fill_null(value=True).cum_sum()
    rows = (
        known.with_columns(turn=again)
        .group_by("turn", "step", maintain_order=True)
        .agg(
            pl.col("position", "host").first(),
            pl.col("rank").drop_nulls().first(),
            pl.col("is_open").any(),
            end_time=pl.col("end_time").max(),
            **{column: _sum_of(column) for column in _PARTS},
        )
        .filter(~pl.col("is_open"))
    )
    return _with_losses(rows, marks)


def _sum_of(column: str) -> pl.Expr:
    """Return the seconds of all spans of a part; null where there is none."""
    is_part = pl.col("family") == column
    return pl.when(is_part.any()).then(pl.col("seconds").filter(is_part).sum())


def _with_losses(rows: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    told = (
        marks.filter(pl.any_horizontal(pl.col("loss", "grad_norm").is_not_null()))
        .group_by("step")
        .agg(pl.col("loss", "grad_norm").drop_nulls().last())
    )
    value = pl.struct("end_time", "step_seconds")
    counted = attempt_number(pl.col("step"), value, pl.col("starts"))
    return (
        rows.join(told, on="step", how="left", maintain_order="left")
        .with_columns(starts=pl.lit(0, dtype=pl.Int64))
        .with_columns(
            attempt=counted,
            interval_steps=pl.lit(1),
            time_kind=pl.when(pl.col("step_seconds").is_not_null()).then(pl.lit("single_step")),
            loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
        )
    )


def events_of_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Return what the spans of a rank tell beside its steps.

    Args:
        spans: As `pair_spans` gives them.

    Returns:
        `EVENTS` of kind evaluation and checkpoint (that ended), checkpoint_start, span_error, and
        open_span: the one that was begun last of those without an end. `code` is the span's name,
        the attribute `step` its step.
    """
    told = spans.with_columns(kind=_kind()).drop_nulls("kind")
    is_bad = pl.col("kind").is_in(["span_error", "open_span"])
    return told.with_columns(
        time=pl.coalesce("end_time", "time"),
        code="span",
        severity=pl.when(is_bad).then(pl.lit("error")).otherwise(pl.lit("info")),
        count=pl.lit(1),
        message="text",
        attributes=event_labels({"step": pl.col("step"), "seconds": pl.col("seconds")}),
    )


def _kind() -> pl.Expr:
    """Return the kind of event that a span is; null for one that tells nothing but its time."""
    name = pl.col("span")
    is_evaluation, is_checkpoint = name.str.contains(_EVALUATION), name.str.contains(_CHECKPOINT)
    waits = pl.col("is_open") & ~name.str.contains(_OUTER)
    kinds = {
        "span_error": pl.col("failed"),
        "open_span": waits & (pl.col("position") == pl.col("position").filter(waits).max()),
        "evaluation": is_evaluation & ~pl.col("is_open"),
        "checkpoint": is_checkpoint & ~pl.col("is_open"),
        "checkpoint_start": is_checkpoint,
    }
    return pl.coalesce(pl.when(fits).then(pl.lit(kind)) for kind, fits in kinds.items())
