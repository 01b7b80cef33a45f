"""How a run of nccl-tests ended: its footer, a failure, or nothing at all.

Source: formats of NCCL logs, section 7. Values out of bounds are corrupted data. A table without a
footer is that of a run that died, and the last size printed is where.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.texts.event_labels import event_labels

_CHECK: Final = r"^#\s*(?P<check>Out of bounds values|Bitwise mismatches)\s*:\s*(?P<wrong>\d+)"

_AVERAGE: Final = r"^#\s*Avg bus bandwidth\s*:\s*(?P<average>\S+)(?:\s+(?P<state>OK|FAILED))?"

_CONCLUDED: Final = r"^#\s*Collective test concluded:\s*(?P<concluded>\S+)"

ENDS: Final = rf"{_CHECK}|{_AVERAGE}|{_CONCLUDED}"

FAILURE: Final = (
    r"^(?:\s*\.\. )?(?:(?P<host>[A-Za-z0-9][\w.-]*)(?: pid (?P<pid>\d+))?: )?"
    r"Test (?P<what>(?:NCCL|CUDA|HIP|RCCL) failure|failure|timeout)(?:[: ]| \()"
)

_REASON: Final = r"'([^']+)|\((\d+ ?s)\)"


def read_ends(marked: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` with `line`: checks, averages, and tables that end without either.

    Args:
        marked: All lines of benchmarks with `part`, `table` and `program`.
        rows: The rows with `table`, `bytes` and the `group` of their run.
    """
    runs = rows.group_by("table", maintain_order=True).agg(
        pl.col("operation", "group", "host").first()
    )
    ends = (
        marked.filter(pl.col("part") == "end")
        .drop("host")
        .join(runs, on="table", how="left", maintain_order="left")
    )
    both = [_checks(ends), _averages(ends), _cuts(marked, rows)]
    return pl.concat(both, how="diagonal").with_columns(
        message=pl.col("text"), count=pl.lit(1, dtype=pl.Int32)
    )


def _checks(ends: pl.DataFrame) -> pl.DataFrame:
    """Return the footers that count values which came out wrong."""
    text = pl.col("text")
    wrong = text.str.extract(_CHECK, 2)
    is_wrong = wrong.str.contains("[1-9]") | text.str.contains("FAILED")
    return ends.filter(text.str.contains(_CHECK)).with_columns(
        kind=pl.when(is_wrong).then(pl.lit("data_corruption")).otherwise(pl.lit("data_check")),
        code=text.str.extract(_CHECK, 1).str.to_lowercase(),
        severity=pl.when(is_wrong).then(pl.lit("critical")).otherwise(pl.lit("info")),
        attributes=_labels({"wrong": wrong}),
    )


def _averages(ends: pl.DataFrame) -> pl.DataFrame:
    """Return the footers that tell the average of a run."""
    text = pl.col("text")
    average = text.str.extract(_AVERAGE, 1).cast(pl.Float64, strict=False) * 1e9
    is_low = (text.str.extract(_AVERAGE, 2) == "FAILED").fill_null(value=False)
    return ends.filter(text.str.contains(_AVERAGE)).with_columns(
        kind=pl.lit("benchmark_end"),
        code=pl.when(is_low).then(pl.lit("below_threshold")),
        severity=pl.when(is_low).then(pl.lit("warning")).otherwise(pl.lit("info")),
        attributes=_labels({"average_bus_bytes_per_second": average}),
    )


def _cuts(marked: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return one event at the last row, or the header, of each table that no footer follows.

    A row is printed when its size begins, and again when it is done: half a row is where it died.
    """
    ended = marked.filter(pl.col("part") == "end").select("table").unique()
    begun = marked.filter(pl.col("part").is_in(["header", "row"]))
    last = begun.group_by("table", maintain_order=True).agg(
        pl.col("line", "position", "time", "text").last(),
        headers=(pl.col("part") == "header").sum(),
    )
    begun_size = pl.col("text").str.extract(r"^\s*(\d+)\s", 1)
    size = pl.coalesce(begun_size, pl.col("bytes").cast(pl.String))
    sizes = rows.group_by("table", maintain_order=True).agg(
        pl.col("bytes").last(), pl.col("operation", "group", "host").first()
    )
    return (
        last.filter(pl.col("headers") > 0)
        .join(ended, on="table", how="anti")
        .join(sizes, on="table", how="left", maintain_order="left")
        .with_columns(
            kind=pl.lit("benchmark_cut"),
            code=size,
            severity=pl.lit("warning"),
            attributes=_labels({"bytes": size}),
        )
    )


def _labels(told: dict[str, pl.Expr]) -> pl.Expr:
    return event_labels({**told, "operation": pl.col("operation"), "group": pl.col("group")})


def read_failures(marked: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` with `line` of the failures that the programs print."""
    groups = pl.col("text").str.extract_groups(FAILURE).struct
    text = pl.col("text")
    return marked.filter(pl.col("part") == "failure").select(
        "line",
        "position",
        "time",
        host=pl.coalesce(canonical_host(groups.field("host")), pl.col("host")),
        kind=pl.lit("benchmark_failure"),
        code=groups.field("what").str.to_lowercase(),
        severity=pl.lit("error"),
        count=pl.lit(1, dtype=pl.Int32),
        message=text,
        attributes=event_labels(
            {
                "pid": groups.field("pid"),
                "reason": pl.coalesce(text.str.extract(_REASON, 1), text.str.extract(_REASON, 2)),
            }
        ),
    )
