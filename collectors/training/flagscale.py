"""Read FlagScale's straggler report: the time of each rank in each section of a step.

Source: formats of progress streams, section 11 (flagos-ai/FlagScale PR 938). A rank that a section
does not list is not known: absent is not fast.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.training.own_times import with_own_times

FLAGSCALE_HINT: Final = r"Straggler Report at Step"

_HEAD: Final = r"=+ *Straggler Report at Step (\d+) *=+"

_SECTION: Final = (
    r"^[\s\-=#*\[]*(?:Section:? *)?['\"]?([A-Za-z][\w ./()-]*?)['\"]?\]?"
    r"(?: *\(.*\))?:?[\s\-=]*(?:Min: .*)?$"
)

_FIGURES: Final = r"\bMin: [\d.]+ ?ms, Max: [\d.]+ ?ms"

_RANK: Final = r"^\s*[-*]?\s*Rank +(\d+): +([\d.]+) ?(ms|s|us)\b"

_RULE: Final = r"^\s*[=\-]{5,}\s*$"

_UNITS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

_FAMILIES: Final = {
    "data_seconds": r"(?i)data|batch|input|load",
    "optimizer_seconds": r"(?i)optim",
    "comm_seconds": r"(?i)comm|reduce|gather|send|recv|p2p|sync|wait",
}
"""Our column: the sections that it holds; any other is compute."""

MAX_REPORT_LINES: Final = 4096
"""A line further behind a report's head is no part of it."""


def read_flagscale(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the times of ranks in straggler reports.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS`, one row a rank of a report, with the sections' times by what they are spent on;
        null where no section of that family lists the rank.
    """
    parts = _parts_of(lines)
    if parts.is_empty():
        return LineReading()
    times = parts.filter(pl.col("text").str.contains(_RANK))
    return LineReading(
        reading=reading_of(steps=_steps_of(times, parts, options)), claimed=parts["line"]
    )


def _parts_of(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of reports, with `report`, its `step`, and the `section` they are in."""
    text = pl.col("text")
    heads = text.str.contains(_HEAD)
    marked = lines.with_columns(
        report=heads.cum_sum(), step=text.str.extract(_HEAD).cast(pl.Int64, strict=False)
    ).filter(pl.col("report") > 0)
    is_rank, is_head = text.str.contains(_RANK), text.str.contains(_HEAD)
    is_figure, is_rule = text.str.contains(_FIGURES), text.str.contains(_RULE)
    is_section = text.str.contains(_SECTION) & ~is_rank & ~is_head & ~is_rule
    named = marked.with_columns(
        pl.col("step").forward_fill(),
        is_part=is_rank | is_head | is_figure | is_rule | is_section,
        name=pl.when(is_section & ~text.str.contains(r"^\s*Min: ")).then(
            text.str.extract(_SECTION)
        ),
    )
    alone = (~pl.col("is_part")).cum_sum().over("report") == 0
    near = pl.int_range(pl.len()).over("report") < MAX_REPORT_LINES
    kept = named.filter(alone & near).with_columns(
        section=pl.col("name").forward_fill().over("report")
    )
    last = pl.when(~pl.col("text").str.contains(_SECTION) | is_figure).then("line").max()
    return kept.filter(pl.col("line") <= last.over("report"))


def _steps_of(times: pl.DataFrame, parts: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    number = pl.col("text").str.extract(_RANK, 2).cast(pl.Float64, strict=False)
    unit = pl.col("text").str.extract(_RANK, 3).replace_strict(_UNITS, return_dtype=pl.Float64)
    family = pl.lit("compute_seconds")
    for column, pattern in _FAMILIES.items():
        inside = pl.col("section").str.contains(pattern).fill_null(value=False)
        family = pl.when(inside).then(pl.lit(column)).otherwise(family)
    known = times.with_columns(
        rank=pl.col("text").str.extract(_RANK, 1).cast(pl.Int32, strict=False),
        seconds=number * unit,
        family=family,
    )
    heads = with_own_times(parts.group_by("report", maintain_order=True).first(), parts, options)
    sums = {
        column: pl.when((pl.col("family") == column).any()).then(
            pl.col("seconds").filter(pl.col("family") == column).sum()
        )
        for column in ("compute_seconds", *_FAMILIES)
    }
    return (
        known.group_by("report", "rank", maintain_order=True)
        .agg(pl.col("step", "position").first(), **sums)
        .join(heads.select("report", "end_time"), on="report", how="left", maintain_order="left")
        .with_columns(interval_steps=pl.lit(1))
    )
