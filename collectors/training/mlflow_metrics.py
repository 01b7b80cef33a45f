"""Read the metric files of MLflow's file store: `timestamp_ms value step`, a file a metric.

Source: formats of progress streams, section 12: `mlruns/<experiment>/<run>/metrics/<key>`; a caller
that gives no step leaves 0 for every point; `nan` is a value.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import (
    MAX_REJECT_CHARACTERS,
    Reading,
    count_lines,
    fold_rejects,
    reading_of,
)
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import judged_lines, plain_lines
from collectors.texts.stamps import epoch_time
from collectors.training.metric_names import metric_column
from collectors.training.metric_points import POINTS, steps_of_points

_LINE: Final = re.compile(r"^\d{12,14} (?:[-+]?[\d.]+(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)\w*) -?\d+")

_GROUPS: Final = r"^(?P<time>\d{12,14}) (?P<value>\S+) (?P<step>-?\d+)(?: \S+)*$"

_FOLDER: Final = "metrics"

_MISFIT: Final = "not a point of the metric"

_FOREIGN: Final = "metric that is no part of a step"


def wants_mlflow_metrics(head: Head) -> float:
    """Return how sure it is that a head is such a file: each line has time, value and step."""
    lines = judged_lines(head)
    points = [line for line in lines if _LINE.match(line)]
    return 0.96 if lines and 2 * len(points) > len(lines) else 0.0


def read_mlflow_metrics(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps that a metric tells of.

    Args:
        path: The file; run and metric are in its path.
        source: The name to quote.

    Returns:
        `STEPS` with one column filled. Where no point has a step, points are counted from 1, with
        an event of kind warning, code `steps_not_logged`. The points of a metric that no step has
        are rejects.

    Raises:
        OSError: The file cannot be read.
    """
    run, tag = _place(path)
    lines = plain_lines(path.read_bytes())
    told = _told(lines)
    is_ours = metric_column(tag) is not None
    is_point = pl.col("value").is_not_null() & pl.col("step").is_not_null() & pl.lit(is_ours)
    points, lost = told.filter(is_point), told.filter(~is_point)
    unnumbered = points.height > 1 and bool((points["step"] == 0).all())
    counted = pl.int_range(1, pl.len() + 1, dtype=pl.Int64) if unnumbered else pl.col("step")
    whole = points.with_columns(
        step=counted, run=pl.lit(run, dtype=pl.String), tag=pl.lit(tag)
    ).select(POINTS.names())
    named = pl.lit(source)
    reading = reading_of(
        steps=steps_of_points(whole).with_columns(source=named),
        events=_unnumbered(whole.head(int(unnumbered))).with_columns(source=named),
        rejects=_rejects(lost, _MISFIT if is_ours else _FOREIGN, source),
    )
    return count_lines(reading, points.height)


def _place(path: Path) -> tuple[str | None, str]:
    """Return the run and the metric of a file, as its folders tell: a metric may have folders."""
    parts = path.parts
    if _FOLDER not in parts[:-1]:
        return None, path.name
    at = len(parts) - 2 - parts[:-1][::-1].index(_FOLDER)
    return (parts[at - 1] if at else None), "/".join(parts[at + 1 :])


def _told(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with time, value and step; null where a line does not tell them."""
    groups = lines.select(pl.col("text").str.extract_groups(_GROUPS)).unnest("text")
    return lines.hstack(groups).with_columns(
        pl.col("value").cast(pl.Float64, strict=False),
        pl.col("step").cast(pl.Int64, strict=False),
        time=epoch_time(pl.col("time").cast(pl.Float64, strict=False)),
    )


def _unnumbered(first: pl.DataFrame) -> pl.DataFrame:
    return first.select(
        "run",
        "position",
        "time",
        kind=pl.lit("warning"),
        code=pl.lit("steps_not_logged"),
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message=pl.concat_str(
            pl.lit("metric "), "tag", pl.lit(" was logged without steps: its points are counted")
        ),
    )


def _rejects(lost: pl.DataFrame, reason: str, source: str) -> pl.DataFrame:
    text = pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS)
    rows = lost.select("position", text, reason=pl.lit(reason), source=pl.lit(source))
    return fold_rejects(reading_of(rejects=rows).rejects)
