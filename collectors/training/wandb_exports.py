"""Read CSV exports of W&B's page: a column a run and metric, with the span that a point stands for.

Source: formats of progress streams, section 12: `Step, "run - metric", "run - metric__MIN",
"run - metric__MAX"`. The page exports what it draws, a sample of the history; where least and most
differ, a point is the mean of several.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.csv_rows import csv_fields, fits, header_fields
from collectors.texts.plain_lines import judged_lines, plain_lines
from collectors.training.metric_points import POINTS, steps_of_points
from collectors.training.store_rows import MAX_SAMPLES, sampled_events

_SERIES: Final = re.compile(r"^(?P<run>.+?) - (?P<tag>.+?)(?P<span>__MIN|__MAX)?$")

_HEADER: Final = re.compile(r'^"?(?:Step|_step)"?,.* - .*$')

_REASON: Final = "not a row of the export"


def wants_wandb_exports(head: Head) -> float:
    """Return how sure it is that a head is an export: its header names runs and metrics."""
    lines = judged_lines(head)
    if not lines or not _HEADER.match(lines[0]):
        return 0.0
    return 0.97 if "__MIN" in head.lines[0] else 0.93


def read_wandb_exports(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps in an export.

    Args:
        path: The file.
        source: The name to quote.

    Returns:
        `STEPS`, a run a column's name; there is no clock, so times are those that a metric tells.
        `EVENTS` of kind warning, code `sampled`, where a point stands for several steps or there
        are as many rows as a sample has. A line that is no row is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    header = next(iter(lines["text"].to_list()), "")
    names = header_fields(header)
    body = lines.filter(pl.col("text") != header).with_columns(fields=csv_fields(pl.col("text")))
    step = pl.col("fields").list.first().cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    sound = fits(pl.col("fields"), len(names)) & step.is_not_null()
    rows = body.filter(sound).with_columns(step=step)
    torn = body.filter(~sound.fill_null(value=False))
    cells = _cells(rows, names)
    points = cells.filter(pl.col("span").is_null()).select(
        "run", "position", "tag", "step", "value", time=pl.lit(None, dtype=POINTS["time"])
    )
    named = pl.lit(source)
    reading = reading_of(
        steps=steps_of_points(points.select(POINTS.names())).with_columns(source=named),
        events=_sampled(rows, cells).with_columns(source=named, count=pl.lit(1)),
        rejects=torn.select(
            "position",
            pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS),
            reason=pl.lit(_REASON),
            source=named,
        ),
    )
    return count_lines(reading, lines.height - torn.height)


def _cells(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return one row a cell that is not empty: run, tag, span, step, value."""
    series = [(at, _SERIES.match(name)) for at, name in enumerate(names)]
    columns = [
        pl.struct(
            "position",
            "step",
            run=pl.lit(found["run"]),
            tag=pl.lit(found["tag"]),
            span=pl.lit(found["span"], dtype=pl.String),
            value=pl.col("fields").list.get(at, null_on_oob=True).cast(pl.Float64, strict=False),
        )
        for at, found in series
        if found
    ]
    schema = {"position": pl.Int64, "step": pl.Int64, "run": pl.String, "tag": pl.String}
    empty = pl.DataFrame(schema=schema | {"span": pl.String, "value": pl.Float64})
    parts = [rows.select(cell=one).unnest("cell") for one in columns]
    return pl.concat([empty, *parts]).drop_nulls("value")


def _sampled(rows: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Return the warning that the export is a sample, at its first row."""
    spans = (
        cells.filter(pl.col("span").is_not_null())
        .group_by("position", "run", "tag")
        .agg(wide=pl.col("value").max() > pl.col("value").min())
    )
    is_sample = rows.height >= MAX_SAMPLES or bool(spans["wide"].any())
    first = rows.head(int(is_sample)).with_columns(time=pl.lit(None, dtype=POINTS["time"]))
    return sampled_events(first)
