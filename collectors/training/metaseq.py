"""Read metaseq's log (OPT): a logger's head, a tag, and one JSON object of texts.

Source: formats of progress streams, section 11. `ups` has two digits, so the seconds of an update
come from the clock `wall` where it runs on, else from words a second.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.training.own_times import with_own_times
from collectors.training.printed_numbers import printed_number

METASEQ_HINT: Final = r"\b(?:train_inner|train|valid)\b\S* *[|:\]-]+ *\{\""

_RECORD: Final = r"\b(train_inner|train|valid)\b\S* *[|:\]-]+ *(\{\".*\})\s*$"

_FIELDS: Final = ("ups", "wps", "wpb", "bsz", "wall", "gnorm")


def read_metaseq(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and events in metaseq's lines.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS` of the whole job from the tag `train_inner`, `interval_mean`. `EVENTS` of kind
        evaluation (`valid`) and run_summary (`train`, the end of an epoch).
    """
    near = lines.filter(pl.col("text").str.contains(METASEQ_HINT))
    hits = near.filter(pl.col("text").str.contains(_RECORD))
    if hits.is_empty():
        return LineReading()
    body = pl.col("text").str.extract(_RECORD, 2)
    rows = with_own_times(hits, lines, options).with_columns(
        tag=pl.col("text").str.extract(_RECORD, 1), body=body
    )
    fields = {name: _field(name) for name in _FIELDS}
    updates = _field("num_updates").fill_null(_field("train_num_updates"))
    told = rows.with_columns(
        step=updates.fill_null(_field("valid_num_updates")).cast(pl.Int64, strict=False),
        loss=_field("loss"),
        **fields,
    )
    is_step = pl.col("tag") == "train_inner"
    return LineReading(
        reading=reading_of(
            steps=_steps_of(told.filter(is_step & pl.col("step").is_not_null())),
            events=_events_of(told.filter(~is_step)),
        ),
        claimed=hits["line"],
    )


def _field(name: str) -> pl.Expr:
    return printed_number(pl.col("body").str.extract(rf'"{name}": *"?([-+\w.,]+)"?'))


def _steps_of(rows: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("step").diff()
    steps = pl.when(gap > 0).then(gap)
    by_clock, by_words = pl.col("wall").diff() / steps, pl.col("wpb") / pl.col("wps")
    seconds = pl.coalesce(
        pl.when(one > 0, one.is_finite()).then(one)
        for one in (by_clock, by_words, 1 / pl.col("ups"))
    )
    return rows.with_columns(
        interval_steps=steps,
        step_seconds=seconds,
        time_kind=pl.when(seconds.is_not_null()).then(pl.lit("interval_mean")),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
        grad_norm="gnorm",
        tokens="wpb",
        samples="bsz",
        rank=pl.lit(None),
    )


def _events_of(rows: pl.DataFrame) -> pl.DataFrame:
    is_evaluation = pl.col("tag") == "valid"
    return rows.with_columns(
        time="end_time",
        kind=pl.when(is_evaluation).then(pl.lit("evaluation")).otherwise(pl.lit("run_summary")),
        code=pl.col("step").cast(pl.String),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )
