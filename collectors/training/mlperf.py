"""Read MLPerf's training log: `:::MLLOG` and one JSON object, whatever stands before it.

Source: formats of progress streams, section 2.5 (mlcommons training results of 2025). A step's own
duration counts; the stamp is when a deferred logger wrote. `step` counts samples.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

MLLOG_START: Final = r":::MLLOG \{"

_PATHS: Final = {
    "key": "$.key",
    "time_ms": "$.time_ms",
    "value": "$.value",
    "step_seconds": "$.value.train_step_time",
    "loss": "$.value.reduced_train_loss",
    "at_samples": "$.metadata.step",
}

_KINDS: Final = {
    "run_start": "run_start",
    "run_stop": "run_end",
    "eval_start": "evaluation",
    "eval_stop": "evaluation",
    "eval_accuracy": "evaluation",
}
"""Our kind of a key; every other key is a note."""


def read_mlperf(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return the steps and events in MLPerf's lines.

    Args:
        lines: `LINES`.

    Returns:
        `STEPS` of the whole job, `single_step`; `step` is the samples seen over the global batch,
        or over the fewest samples between two steps where the log does not tell that. `EVENTS` by
        key, equal
        ones of many ranks put together and counted; the code is the key.
    """
    body = pl.col("text").str.extract(r":::MLLOG (\{.*)$")
    fields = {name: body.str.json_path_match(path) for name, path in _PATHS.items()}
    records = lines.with_columns(**fields).drop_nulls("key")
    numbers = ("time_ms", "step_seconds", "loss", "at_samples")
    timed = records.with_columns(
        pl.col(name).cast(pl.Float64, strict=False) for name in numbers
    ).with_columns(time=(pl.col("time_ms") * 1000).cast(pl.Int64, strict=False).cast(TIME))
    has_time = pl.col("step_seconds").is_not_null() & (pl.col("at_samples") > 0)
    is_step = (has_time & ~_is_summary()).fill_null(value=False)
    return LineReading(
        reading=reading_of(
            steps=_steps_of(timed.filter(is_step), _batch_of(timed.filter(is_step), timed)),
            events=_events_of(timed.filter(~is_step)),
        ),
        claimed=timed["line"],
    )


def _is_summary() -> pl.Expr:
    """Return whether a record is a block's mean, told at its end under the samples of its start.

    It goes back behind steps that were told, and has no loss where those have one: no rollback.
    """
    before = pl.col("at_samples").cum_max().forward_fill().shift(1)
    goes_back = (pl.col("at_samples") < before).fill_null(value=False)
    return goes_back & pl.col("loss").is_null() & pl.col("loss").is_not_null().any()


def _batch_of(steps: pl.DataFrame, records: pl.DataFrame) -> float | None:
    """Return the global batch: told, else the fewest samples between steps, else the first's."""
    told = records.filter(pl.col("key") == "global_batch_size")["value"]
    apart = steps["at_samples"].unique().sort().diff()
    batches = (
        told.cast(pl.Float64, strict=False).first(),
        apart.filter(apart > 0).min(),
        steps["at_samples"].min(),
    )
    sound = (float(one) for one in batches if isinstance(one, (int, float)) and one > 0)
    return next(sound, None)


def _steps_of(steps: pl.DataFrame, batch: float | None) -> pl.DataFrame:
    return steps.with_columns(
        step=(pl.col("at_samples") / pl.lit(batch, dtype=pl.Float64)).round(),
        interval_steps=pl.lit(1),
        end_time="time",
        time_kind=pl.lit("single_step"),
        samples=pl.lit(batch, dtype=pl.Float64),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
    )


def _events_of(records: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("line", "position", "time", "host").first()
    return (
        records.group_by("key", "value", "at_samples", maintain_order=True)
        .agg(first, message=pl.col("text").first(), count=pl.len())
        .sort("line")
        .with_columns(
            kind=pl.col("key").replace_strict(_KINDS, default="note"),
            code="key",
            severity=pl.lit("info"),
        )
    )
