"""Read what tools print in the place of an answer: none is neither health nor an empty cluster.

A collector that runs a tool and keeps what it printed keeps its errors too: Slurm's commands for a
column that they do not know, `dcgmi` for a host engine that is gone, dcgm-exporter for a page that
it could not make. Source: SchedMD/slurm `sacct`, `squeue`, `sinfo`; NVIDIA/DCGM `dcgmi`;
NVIDIA/dcgm-exporter; prometheus/client_golang `promhttp`.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

_TOOLS: Final = (
    ("slurm", r"^(?:sacct|squeue|sinfo|scontrol|sacctmgr|sdiag|sstat): (?:error|fatal):"),
    ("slurm", r"^slurm_load_\w+ error:"),
    ("dcgm", r"^Error setting watches\. Result:"),
    ("dcgm", r"(?i)^error: unable to (?:establish a connection|connect) to .*\bhost"),
    (
        "dcgm",
        r"(?i)\b(?:failed to|error|cannot|could not) watch(?:ing)?\b.*\b(?:fields?|metrics)\b",
    ),
    ("dcgm", r"(?i)\bnumber of fields\b.*\b(?:exceeds?|maximum|more than|limit)\b"),
    ("exporter", r"^An error has occurred while serving metrics"),
    ("exporter", r"^\* (?:error collecting metric|collected metric)\b"),
    ("exporter", r"^HTTP/[\d.]+ 5\d\d\b"),
)
"""Whose answer is missing, and how the line that says so looks."""

FAILURE_HINT: Final = "|".join(pattern.replace("^", r"^\s*", 1) for _, pattern in _TOOLS)


def read_tool_failures(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what tools said of their own failure.

    Args:
        lines: `LINES`.
        options: Host of a log that names none.

    Returns:
        `EVENTS` of kind `collector_failed`, one for each tool of a host that failed: `code` is
        whose data is missing, `count` how many lines say it.
    """
    text = pl.col("text").str.strip_chars()
    code = pl.coalesce(
        pl.when(text.str.contains(pattern)).then(pl.lit(code)) for code, pattern in _TOOLS
    )
    host = pl.coalesce("host", pl.lit(options.host, pl.String))
    told = lines.with_columns(code=code, host=host).drop_nulls("code")
    events = (
        told.sort("position", "line")
        .group_by("host", "code", maintain_order=True)
        .agg(
            pl.col("time", "rank", "position").first(),
            message=text.first(),
            count=pl.col("position").n_unique(),
            last=pl.when(pl.len() > 1).then(pl.col("time").max()),
        )
        .with_columns(kind=pl.lit("collector_failed"), severity=pl.lit("medium"))
    )
    return LineReading(reading=reading_of(events=events), claimed=told["line"])
