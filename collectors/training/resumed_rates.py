"""Find rates of a resumed run that count the work of the attempts before it.

Source: formats of progress streams, section 5 (transformers PR 41156, LLaMA-Factory issue 7415):
the final `train_*_per_second` divide the steps of the whole run by the seconds of the last attempt.
"""

from typing import Final

import polars as pl

from collectors.texts.event_labels import event_labels
from collectors.training.printed_numbers import dict_number

MIN_RATE_ERROR: Final = 1.2
"""A reported rate this many times the true one is wrong; below lies what a start-up costs."""

_RESUMED: Final = (
    r"(?:Continuing training from global step |"
    r"(?i:resum\w+) (?:training )?(?:from|at) (?:the )?(?:global )?(?:step |checkpoint |saved )?"
    r"(?:\S*checkpoint-)?|skip to (?:the )?(?:saved )?global_step:? )(\d+)\b"
)


def _bars_begin() -> pl.Expr:
    """Return the step at which a loop began, by the pace of its bars."""
    steps = pl.col("bar_step") - pl.col("first_step")
    seconds = pl.col("bar_seconds") - pl.col("first_seconds")
    done = pl.when(seconds > 0).then(pl.col("first_seconds") * steps / seconds)
    before = (pl.col("first_step") - done).round().cast(pl.Int64)
    return pl.coalesce(before, pl.col("first_step")).clip(lower_bound=0)


def resumed_rate_events(dicts: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Return one event a summary whose rates are too high.

    Args:
        dicts: Dicts without a loss: `line`, `text`, `end_time`; of the bars of their loop the last
            one's `bar_step` and `bar_seconds`, and the first one's `first_step` and
            `first_seconds`; null without bars.
        lines: `LINES`, of which one before may tell where the attempt began.

    Returns:
        `EVENTS` of kind warning, code `resumed_rate`, whose attributes are the rate as reported,
        the true rates, and the step that the attempt resumed at.
    """
    resumed = pl.col("text").str.extract(_RESUMED).cast(pl.Int64, strict=False)
    starts = lines.select("line", resumed=resumed).drop_nulls().sort("line")
    summaries = dicts.filter(pl.col("text").str.contains("'train_runtime'", literal=True))
    timed = summaries.sort("line").join_asof(
        starts, on="line", strategy="backward", check_sortedness=False
    )
    steps, samples = dict_number("train_steps_per_second"), dict_number("train_samples_per_second")
    work = steps * dict_number("train_runtime")
    begun = pl.coalesce("resumed", _bars_begin())
    true = (work - begun) / dict_number("train_runtime")
    rated = timed.with_columns(reported=steps, true=true, begun=begun, samples=samples / steps)
    wrong = pl.col("reported") >= MIN_RATE_ERROR * pl.col("true")
    return rated.filter(pl.col("true") > 0, wrong).with_columns(
        kind=pl.lit("warning"),
        code=pl.lit("resumed_rate"),
        time="end_time",
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message="text",
        attributes=_rates(),
    )


def _rates() -> pl.Expr:
    """Return the attributes of a warning."""
    return event_labels(
        {
            "reported_steps_per_second": pl.col("reported"),
            "true_steps_per_second": pl.col("true").round(6),
            "true_samples_per_second": (pl.col("true") * pl.col("samples")).round(6),
            "resumed_at": pl.col("begun"),
        }
    )
