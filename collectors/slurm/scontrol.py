"""Read what `scontrol show node` and `scontrol show job` print: records of `Key=Value`.

Source: formats of GPU and host streams, section 7.4; Slurm `src/api/node_info.c`, `job_info.c`.
Nothing is quoted: a free text owns the rest of its line, and on the single line of `-o` it ends at
the next key that a record has not had yet.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import conform, schema_of
from collectors.readings import Reading
from collectors.slurm.sacct_records import RECORDS
from collectors.slurm.scontrol_keys import FREE_KEYS, SCONTROL_KEYS
from collectors.slurm.slurm_jobs import failed_node_events, job_rows, jobs_of
from collectors.slurm.slurm_nodes import NODE_ROWS, node_events
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines
from collectors.texts.templates import filled

PIECES: Final = schema_of(
    {"record": pl.UInt32, "position": pl.Int64, "key": pl.String, "value": pl.String}
)
"""One key of a record and its value, as printed."""

_START: Final = r"^\s*(NodeName|JobId)="

_NODE: Final = {
    "node": "NodeName",
    "state": "State",
    "reason": "Reason",
    "gres": "Gres",
    "gres_used": "GresUsed",
    "resources": "CfgTRES",
    "boot_time": "BootTime",
    "cpu_load": "CPULoad",
    "free_memory": "FreeMem",
    "comment": "Comment",
    "extra": "Extra",
}

_JOB: Final = {
    "jobid": "JobId",
    "jobname": "JobName",
    "user": "UserId",
    "state": "JobState",
    "submit": "SubmitTime",
    "start": "StartTime",
    "end": "EndTime",
    "elapsed": "RunTime",
    "exitcode": "ExitCode",
    "nodelist": "NodeList",
    "reason": "Reason",
    "restarts": "Restarts",
    "failednode": "FailedNode",
    "alloctres": "AllocTRES",
}

_OLD_TRES: Final = "TRES"
"""What was given, or asked for while the job waits, up to Slurm 22.05."""

_KEY: Final = "|".join(re.escape(key) for key in SCONTROL_KEYS)

_MARK: Final = "\x1e"

_OWNED: Final = rf"^\s*(?:{'|'.join(FREE_KEYS)})="
"""A line that begins with a free text is that text."""

_NAMED_LATE: Final = r"^(\s*JobId=\S+(?: Array\w+=\S+)*(?: HetJob\w+=\S+)*) JobName=(.*)$"


def wants_scontrol(head: Head) -> float:
    """Return how sure it is that a head is of scontrol's records."""
    if "NodeName=" not in head.text and "JobId=" not in head.text:
        return 0.0
    found = re.search(r"(?m)^\s*(?:NodeName=\S+ \w+=|JobId=\d+ )", head.text)
    return 0.9 if found and not head.is_binary else 0.0


def read_scontrol(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the nodes and jobs of scontrol's records.

    Args:
        path: The file.
        source: The name to quote, which may tell when it was printed.
        options: The zone of its stamps.

    Returns:
        `EVENTS` of kind node_state and boot for nodes, `JOBS` for jobs. A planned end of a job is
        none.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    inside = _inside(lines)
    pieces = _pieces(inside)
    nodes = _wide(pieces, "NodeName", _NODE)
    jobs = job_rows(_job_records(pieces), source, options)
    events = node_events(conform(nodes.lazy(), NODE_ROWS).collect(), source, options)
    return account(
        lines,
        inside["position"],
        source,
        events=pl.concat([events, failed_node_events(jobs)]),
        jobs=jobs_of(jobs),
    )


def _inside(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of records, with `record`: a blank line ends one."""
    starts = pl.col("text").str.contains(_START)
    gap = (pl.col("position").diff() > 1).fill_null(value=False)
    return (
        lines.with_columns(starts=starts, record=(starts | gap).cum_sum())
        .filter(pl.col("starts").first().over("record"))
        .with_columns(one_line=pl.len().over("record") == 1)
    )


def _pieces(lines: pl.DataFrame) -> pl.DataFrame:
    """Return `PIECES`; what follows without a key goes on with the value before."""
    text = pl.col("text")
    marked = text.str.replace_all(rf"(^|\s)({_KEY})=", f"{_MARK}${{2}}=")
    numbers = text.str.extract(_NAMED_LATE, 1).str.replace_all(
        rf"(^|\s)({_KEY})=", f"{_MARK}${{2}}="
    )
    named = pl.concat_str(
        numbers, pl.lit(f"{_MARK}JobName="), text.str.extract(_NAMED_LATE, 2), ignore_nulls=False
    )
    first = text.str.replace(r"^\s*", _MARK)
    has_key = text.str.contains(r"^\s*[A-Z][\w:/]*=")
    is_named = text.str.contains(_NAMED_LATE) & ~pl.col("one_line")
    split = (
        pl.when(is_named)
        .then(named)
        .when(text.str.contains(_OWNED))
        .then(first)
        .when(has_key)
        .then(marked)
        .otherwise("\n" + text.str.strip_chars_start())
    )
    words = (
        lines.select("record", "position", split.str.strip_chars_start(_MARK).str.split(_MARK))
        .explode("text", empty_as_null=True)
        .with_columns(key=pl.col("text").str.extract(rf"^\s*({_KEY})="))
    )
    is_new = pl.col("key").is_not_null() & pl.struct("record", "key").is_first_distinct()
    return (
        words.with_columns(piece=is_new.cum_sum(), fresh=is_new)
        .group_by("record", "piece", maintain_order=True)
        .agg(
            pl.col("position", "key").first(),
            whole=pl.when(pl.col("fresh") | pl.col("text").str.starts_with("\n"))
            .then("text")
            .otherwise(" " + pl.col("text"))
            .str.join(""),
        )
        .with_columns(value=pl.col("whole").str.replace(r"^[^=]*=", "").str.strip_chars())
        .select(pl.col(name).cast(kind) for name, kind in PIECES.items())
    )


def _wide(pieces: pl.DataFrame, first: str, keys: dict[str, str]) -> pl.DataFrame:
    """Return one row a record that begins with a key, with the values of others."""
    value, key = pl.col("value"), pl.col("key")
    found = pieces.filter((key.first() == first).over("record"))
    return found.group_by("record", maintain_order=True).agg(
        pl.col("position").min(),
        **{name: value.filter(key == printed).first() for name, printed in keys.items()},
    )


def _job_records(pieces: pl.DataFrame) -> pl.DataFrame:
    """Return `RECORDS` of jobs."""
    more = {"array": "ArrayJobId", "task": "ArrayTaskId", "old_tres": _OLD_TRES}
    jobs = _wide(pieces, "JobId", _JOB | more)
    is_given = ~pl.col("state").str.contains("PENDING|CONFIGURING").fill_null(value=True)
    array = filled("{}_{}", pl.col("array"), pl.col("task"))
    named = jobs.with_columns(
        jobid=array.fill_null(pl.col("jobid")),
        user=pl.col("user").str.extract(r"^([^(]+)"),
        rejoined=pl.lit(value=False),
        alloctres=pl.coalesce("alloctres", pl.when(is_given).then("old_tres")),
    )
    return conform(named.lazy(), RECORDS).collect()
