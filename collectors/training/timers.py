"""Read Megatron's timers, in the four forms that its versions print.

Source: formats of progress streams, section 1.5 (megatron/core/timers.py, megatron/timers.py): one
line (`time (ms) | name: value`), the smallest and largest over the ranks, the largest, or all
ranks. A rank whose timer is zero or missing is not listed: absent is not fast.
"""

from typing import Final

import polars as pl

from collectors.frames import LABEL
from collectors.line_reading import LineReading, is_taken_apart, taken_apart
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.stamps import iso_time
from collectors.training.megatron_fields import HEAD
from collectors.training.megatron_records import ITERATION_LINE

TIMER_HINT: Final = r"across ranks \(ms\):|time \(ms\)"

_SUMMARY: Final = r"(?:^|:)\s*(?:\(min, max\)|max) time across ranks \(ms\):\s*$"

_ALL: Final = r"(?:^|:)\s*times across ranks \(ms\):\s*$"

_OLD: Final = r"(?:^|[\] ])time \(ms\)(?: \||$)"

_OLD_MARK: Final = "time (ms)"
"""What a line holds that ends in a bar and is of a report."""

_ITEM: Final = ascii_pattern(r"^\s+([A-Za-z][\w/.-]*?) ?\.*: (?:\(([\d.]+), )?([\d.]+)\)?$")

_TIMER: Final = ascii_pattern(r"^\s*([A-Za-z][\w/-]*):$")

_RANK: Final = ascii_pattern(r"^\s*rank +(\d+): ([\d.]+)$")

_KNOWN: Final = f"{_SUMMARY}|{_ALL}|{_OLD}|{_ITEM}|{_TIMER}|{_RANK}"

MAX_GAP_LINES: Final = 3
"""Other processes write between the lines of a report, but not much."""

_COMPUTE: Final = r"^(?:forward|backward)-compute$"

_COMM: Final = r"recv|send|all-reduce|reduce-scatter|all-gather|grads-sync"

_DATA: Final = r"^(?:batch-generator|data-iterator|get-batch)$"

_PARTS: Final = {
    "compute_seconds": _COMPUTE,
    "forward_seconds": r"^forward-compute$",
    "backward_seconds": r"^backward-compute$",
    "comm_seconds": _COMM,
    "data_seconds": _DATA,
    "optimizer_seconds": r"^optimizer$",
}
"""Our column of a timer; timers of the start-up, and those that hold others, have none."""


def read_timers(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what Megatron's timers say.

    Args:
        lines: `LINES`, with the iteration lines that number the steps.
        options: The zone of stamps that carry none.

    Returns:
        `STEPS` of each rank from the timers of all ranks: compute, communication, data and
        optimizer, null where a rank is not listed; the step is that of the iteration line before,
        else the report's number. `EVENTS` of kind timers from the other forms; `code` is the
        iteration, `attributes` are seconds by `min NAME` and `max NAME`, or by NAME alone.
    """
    parts = _parts(lines, options.time_zone)
    if parts.is_empty():
        return LineReading()
    is_rank = pl.col("form") == "all"
    frames = {"steps": _ranks_of(parts.filter(is_rank))} if (parts["form"] == "all").any() else {}
    summaries = _summaries_of(parts.filter(~is_rank))
    return LineReading(reading=reading_of(events=summaries, **frames), claimed=parts["line"])


def _parts(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the lines of reports with `report`, `form`, and the iteration before each."""
    text = pl.col("text")
    form = (
        pl.when(text.str.contains(_SUMMARY))
        .then(pl.lit("summary"))
        .when(text.str.contains(_ALL))
        .then(pl.lit("all"))
        .when(text.str.contains(_OLD))
        .then(pl.lit("old"))
    )
    is_iteration = _are_iterations(lines)
    others = lines.filter(~is_iteration).filter(
        ~text.str.ends_with("|") | text.str.contains(_OLD_MARK, literal=True)
    )
    known = others.filter(text.str.contains(_KNOWN)).with_columns(head=form)
    far = pl.col("line").diff() > MAX_GAP_LINES
    begins = pl.col("head").is_not_null() | far.fill_null(value=True)
    numbered = known.with_columns(report=begins.cum_sum().cast(pl.Int64)).with_columns(
        form=pl.col("head").first().over("report")
    )
    parts = numbered.filter(
        pl.col("head").is_not_null()
        | ((pl.col("form") == "summary") & text.str.contains(_ITEM))
        | ((pl.col("form") == "all") & text.str.contains(f"{_TIMER}|{_RANK}"))
    )
    return _after_iterations(parts, lines, is_iteration, time_zone)


def _are_iterations(lines: pl.DataFrame) -> pl.Series:
    """Return which lines are those of iterations; what was taken apart is one."""
    known = is_taken_apart(lines)
    if not known.any():
        return lines["text"].str.contains(ITERATION_LINE)
    left = (~known).arg_true()
    found = lines["text"].gather(left).str.contains(ITERATION_LINE)
    return known.scatter(left, found)


def _after_iterations(
    parts: pl.DataFrame, lines: pl.DataFrame, is_iteration: pl.Series, time_zone: str
) -> pl.DataFrame:
    """Return the parts with the iteration line before each, its step and its time."""
    iterations = lines.select("line", iteration="line").filter(is_iteration)
    dated = parts.join_asof(iterations, on="line", check_sortedness=False)
    near = pl.col("line").is_in(dated["iteration"].drop_nulls().unique().implode())
    told = _numbered(lines.filter(near), time_zone)
    return dated.join(told, on="iteration", how="left", maintain_order="left")


def _numbered(iterations: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return of iteration lines `iteration` (their `line`), `at` (the step) and `at_time`."""
    usual, others = taken_apart(iterations)
    both = [usual] if usual.height else []
    if others.height or not both:
        head = pl.col("text").str.splitn("|", 2).struct.field("field_0")
        step = head.str.extract(HEAD, 2).cast(pl.Int64, strict=False)
        both.append(others.with_columns(step=step, own_time=iso_time(head, time_zone)))
    at_time = pl.col("time").fill_null(pl.col("own_time"))
    return pl.concat(one.select(iteration="line", at="step", at_time=at_time) for one in both)


def _ranks_of(parts: pl.DataFrame) -> pl.DataFrame:
    """Return `STEPS`, one row a rank of a report.

    A rank that lacks a compute timer that another has did not compute less: its time is not known.
    """
    text = pl.col("text")
    named = parts.with_columns(
        timer=text.str.extract(_TIMER).forward_fill().over("report"),
        rank=text.str.extract(_RANK, 1).cast(pl.Int32, strict=False),
        seconds=text.str.extract(_RANK, 2).cast(pl.Float64, strict=False) / 1000,
    )
    sums = [
        pl.when(_is(pattern).any()).then(pl.col("seconds").filter(_is(pattern)).sum()).alias(column)
        for column, pattern in _PARTS.items()
    ]
    firsts = pl.col("position", "at", "at_time", "time").first()
    rows = (
        named.drop_nulls(["timer", "rank", "seconds"])
        .group_by("report", "rank", maintain_order=True)
        .agg(firsts, *sums, computed=_is(_COMPUTE).sum())
    )
    whole = pl.col("computed") == pl.col("computed").max().over("report")
    return rows.with_columns(
        compute_seconds=pl.when(whole).then("compute_seconds"),
        step=pl.col("at").fill_null(pl.col("report")),
        end_time=pl.col("time").fill_null(pl.col("at_time")),
        interval_steps=pl.lit(1),
    )


def _is(pattern: str) -> pl.Expr:
    return pl.col("timer").str.contains(pattern)


def _summaries_of(parts: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS`, one a report that names no rank."""
    joined = (
        parts.filter(pl.col("report").is_duplicated())
        .group_by("report")
        .agg(message=pl.col("text").str.join("\n"))
    )
    return (
        parts.unique("report", keep="first", maintain_order=True)
        .join(joined, on="report", how="left", maintain_order="left")
        .join(_attributes(parts), on="report", how="left", maintain_order="left")
        .with_columns(
            pl.col("attributes").fill_null(pl.lit([], dtype=pl.List(LABEL))),
            message=pl.coalesce("message", "text"),
            time=pl.col("time").fill_null(pl.col("at_time")),
            kind=pl.lit("timers"),
            code=pl.col("at").cast(pl.String),
            severity=pl.lit("info"),
            count=pl.lit(1),
        )
    )


def _attributes(parts: pl.DataFrame) -> pl.DataFrame:
    """Return of reports `attributes`: the seconds that their lines tell, by name."""
    is_head = pl.col("head").is_not_null()
    pairs = pl.concat([_ranges(parts.filter(~is_head)), _inline(parts.filter(is_head))])
    seconds = pl.col("value").cast(pl.Float64, strict=False) / 1000
    return (
        pairs.with_columns(value=seconds.round(9).cast(pl.String))
        .drop_nulls("value")
        .sort("line", maintain_order=True)
        .group_by("report", maintain_order=True)
        .agg(attributes=pl.struct("key", "value"))
    )


def _ranges(items: pl.DataFrame) -> pl.DataFrame:
    """Return the milliseconds of lines that tell a timer's largest, and maybe its smallest."""
    groups = pl.col("text").str.extract_groups(_ITEM).struct.rename_fields(["name", "low", "high"])
    ends = pl.concat_list("low", "high")
    keys = pl.concat_list(pl.format(f"{end} {{}}", "name") for end in ("min", "max"))
    named = items.select("report", "line", groups.struct.unnest())
    return named.select("report", "line", key=keys, value=ends).explode("key", "value")


def _inline(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the milliseconds between the bars of lines, by name."""
    pieces = lines.select("report", "line", piece=pl.col("text").str.split("|").list.slice(1))
    piece = pl.col("piece")
    return pieces.explode("piece", empty_as_null=False).select(
        "report",
        "line",
        key=piece.str.extract(r"^\s*(\S+): "),
        value=piece.str.extract(r": ([\d.]+)\s*$"),
    )
