"""Find samples per second that their own line contradicts.

Source: formats of progress streams, section 2.1: a fork of Megatron-LM took milliseconds for
seconds, and printed a thousandth of its rate. The batch over the time of a step is the rate.
"""

from typing import Final

import polars as pl

from collectors.texts.event_labels import event_labels
from collectors.texts.templates import filled

MIN_RATE_ERROR: Final = 1.2
"""A reported rate this many times off the true one is wrong: ours, well above what rounds."""


def wrong_rates(records: pl.DataFrame) -> pl.DataFrame:
    """Return the lines from which on the rate that is printed is wrong.

    Args:
        records: By line: `line`, `position`, `host`, `end_time`, `step`, `step_seconds`, `samples`
            (of a step) and `sample_rate` (samples a second, as printed).

    Returns:
        `EVENTS` with `line`, of kind warning and code `sample_rate`, one a spell of wrong lines,
        whose attributes are the rate as reported and the true one.
    """
    true = pl.col("samples") / pl.col("step_seconds")
    ratio = true / pl.col("sample_rate")
    rated = records.with_columns(true=true, ratio=ratio).filter(
        pl.col("ratio").is_finite(), pl.col("ratio") > 0
    )
    wrong = pl.max_horizontal(pl.col("ratio"), 1 / pl.col("ratio")) >= MIN_RATE_ERROR
    first = wrong & ~wrong.shift(1, fill_value=False)
    return rated.filter(first).select(
        "line",
        "position",
        "host",
        time="end_time",
        kind=pl.lit("warning"),
        code=pl.lit("sample_rate"),
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message=filled("samples per second {} at step {}", "sample_rate", "step"),
        attributes=event_labels(
            {
                "reported_samples_per_second": pl.col("sample_rate"),
                "true_samples_per_second": pl.col("true").round(6),
            }
        ),
    )
