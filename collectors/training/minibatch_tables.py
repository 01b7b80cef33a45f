"""Read tables of mini-batch times: CSV with one row a worker and time.

Source: job samples of the Alibaba PAI trace of 2020 (alibaba/clusterdata, cluster-trace-gpu-v2020):
`worker, gpu, time, batch_time_norm`, after an index column without a name. `batch_time_norm` is
normalised; the numbers are kept as they are, as seconds of a unit of their own: only ratios count.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import MAX_REJECT_CHARACTERS, Reading, reading_of
from collectors.sniffing import Head, ReadOptions

_NEEDED: Final = ("worker", "time", "batch_time_norm")

_REASON: Final = "not a row of the table"


def wants_minibatch_tables(head: Head) -> float:
    """Return how sure it is that a head is such a table: its header row says so."""
    header = head.lines[0].split(",") if head.lines else []
    return 0.9 if {name.strip() for name in header} >= set(_NEEDED) else 0.0


def read_minibatch_tables(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps in a table of mini-batch times.

    Args:
        path: The file.
        source: The name to quote.

    Returns:
        `STEPS`, a worker as a rank and `time` as the step; a row that lacks one of them or whose
        time is not a number is a reject, a repeated header too.

    Raises:
        OSError: The file cannot be read.
    """
    text = path.read_bytes().decode("utf-8", errors="replace").removeprefix("\ufeff")
    header, *lines = text.split("\n")
    names = [name.strip() for name in header.split(",")]
    cells = pl.col("text").str.split(",")
    read = {name: cells.list.get(names.index(name), null_on_oob=True) for name in _NEEDED}
    rows = (
        pl.DataFrame({"text": lines}, schema={"text": pl.String})
        .with_row_index("position", offset=2)
        .filter(pl.col("text").str.strip_chars() != "")
        .with_columns(
            *(
                cell.str.strip_chars().cast(pl.Float64, strict=False).alias(name)
                for name, cell in read.items()
            )
        )
    )
    sound = pl.all_horizontal(pl.col(name).is_finite().fill_null(value=False) for name in _NEEDED)
    return reading_of(
        steps=rows.filter(sound).select(_step_of(source)),
        rejects=rows.filter(~sound).select(
            "position",
            pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS),
            reason=pl.lit(_REASON),
            source=pl.lit(source),
        ),
    )


def _step_of(source: str) -> list[pl.Expr]:
    return [
        pl.col("worker").alias("rank"),
        pl.col("time").alias("step"),
        pl.col("batch_time_norm").alias("step_seconds"),
        pl.lit("single_step").alias("time_kind"),
        pl.lit(1).alias("interval_steps"),
        pl.lit(source).alias("source"),
    ]
