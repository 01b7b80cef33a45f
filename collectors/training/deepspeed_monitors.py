"""Read the files of DeepSpeed's CSV monitor: one metric each.

Source: formats of progress streams, section 3 (deepspeed/monitor/csv_monitor.py). The column called
`step` counts samples; the header is written again by each attempt, in the middle of the file.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines

_HEADER: Final = r"^step,[A-Za-z]\w*$"

_ROW: Final = r"^\s*(\d+(?:\.0*)?)\s*,\s*(\S+)\s*$"

_NAME: Final = re.compile(r"^(?:Train|Validation|Test)_\w+\.csv$", re.IGNORECASE)

_COLUMNS: Final = {"train_loss": "loss", "loss": "loss", "grad_norm": "grad_norm"}
"""Our column of a metric; the others show progress alone."""


def wants_deepspeed_monitor(head: Head) -> float:
    """Return how sure it is that a head is such a file: its header is the end of its name."""
    if not head.lines or not re.match(_HEADER, head.lines[0].strip()):
        return 0.0
    metric = head.lines[0].strip().removeprefix("step,")
    is_ours = _NAME.match(head.name) and head.name.removesuffix(".csv").endswith(metric)
    return 0.96 if is_ours else 0.0


def read_deepspeed_monitor(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the progress in a file of the CSV monitor.

    Args:
        path: The file.
        source: The name to quote.

    Returns:
        `STEPS` of the whole job: `step` is the samples seen over the fewest samples between two
        rows, which are its `samples`; an attempt begins at each header that is written again, and
        where the samples go back. No clock, and no time of a step.

    Raises:
        OSError: The file cannot be read.
    """
    lines = (
        plain_lines(path.read_bytes())
        .with_columns(pl.col("text").str.strip_chars(), reason=pl.lit("no row of a metric"))
        .with_columns(is_header=pl.col("text").str.contains(_HEADER))
        .with_columns(is_row=pl.col("text").str.contains(_ROW) & ~pl.col("is_header"))
    )
    known = lines.filter(pl.col("is_header") | pl.col("is_row"))
    return account(lines, known["position"], source, steps=_steps_of(known))


def _steps_of(lines: pl.DataFrame) -> pl.DataFrame:
    headers = lines.filter("is_header")["text"]
    metric = headers[0].removeprefix("step,") if len(headers) else ""
    samples, value = (
        pl.col("text").str.extract(_ROW, at).cast(pl.Float64, strict=False) for at in (1, 2)
    )
    rows = lines.with_columns(starts=pl.col("is_header").cum_sum()).filter("is_row")
    told = rows.with_columns(at=samples, value=value)
    apart = told["at"].unique().sort().diff()
    batch = apart.filter(apart > 0).min() or told["at"].min() or 1.0
    anew = (pl.col("at") < pl.col("at").shift(1)) | (pl.col("starts") > pl.col("starts").shift(1))
    column = _COLUMNS.get(metric)
    values = {} if column is None else {column: pl.col("value")}
    return told.with_columns(
        step=(pl.col("at") / batch).round(),
        interval_steps=pl.lit(1),
        attempt=anew.fill_null(value=False).cum_sum(),
        samples=pl.lit(batch),
        loss_state=pl.lit("printed" if column == "loss" else None, dtype=pl.String),
        **values,
    )
