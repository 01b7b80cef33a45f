"""Read the JSON of nvidia-resiliency-ext: cycles of a job, and straggler reports.

Source: formats of progress streams, section 13.1. A cycle is one start of all workers inside a
scheduler's job; `attempt_index` counts the scheduler's own restarts, and hosts are listed in
Slurm's short form. A job that ends with code 93 was stopped, having made no progress in three
cycles.
"""

import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.frames import schema_of
from collectors.identity import canonical_host
from collectors.readings import Reading, count_lines, reading_of
from collectors.slurm.hostlists import HostlistError, expand_hostlist
from collectors.sniffing import Head, ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.json_documents import (
    Document,
    items_of,
    mapping_of,
    read_documents,
    rejects_of,
    text_of,
)
from collectors.texts.plain_counts import count_of
from collectors.texts.stamps import iso_time
from collectors.training.score_events import score_rows
from collectors.training.score_texts import KEYS, scores_of

NO_PROGRESS_EXIT: Final = "93"

_CYCLE: Final = re.compile(r'"cycle_(?:number|start_time)"\s*:')

_REPORT: Final = re.compile(r'"(?:gpu|section)_(?:relative|individual)_perf_scores"\s*:')

_REASON: Final = "neither a cycle nor a straggler report"

_TOLD: Final = ("generation", "cycle_log_file", "standby_nodes")
"""What else a cycle's file tells, as it is."""

_JOBS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "name": pl.String,
        "start_text": pl.String,
        "end_text": pl.String,
        "hosts": pl.List(pl.String),
        "world": pl.Int32,
        "exit": pl.String,
        "reason": pl.String,
        "position": pl.Int64,
        "text": pl.String,
        **dict.fromkeys(_TOLD, pl.String),
    }
)


def wants_resiliency_documents(head: Head) -> float:
    """Return how sure it is that a head is a cycle file or a report of scores."""
    text = head.text
    ours = (_CYCLE.search(text) and '"attempt_index"' in text) or _REPORT.search(text)
    return 0.96 if text.lstrip().startswith("{") and ours else 0.0


def read_resiliency_documents(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the cycles and scores in a file of JSON documents.

    Args:
        path: The file.
        source: The name to quote.
        options: The zone of stamps that carry none.

    Returns:
        `JOBS`, one row a cycle, called after it; a cycle without an end is running or was killed.
        `EVENTS` of kind run_start and run_end of the cycles, and perf_score of the reports. Any
        other document is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    documents = read_documents(path.read_bytes())
    kinds = [_kind(one) for one in documents]
    told = [*zip(kinds, documents, strict=True)]
    cycles = [one for kind, one in told if kind == "cycle"]
    reports = [one for kind, one in told if kind == "report"]
    lost = [(one, _REASON) for kind, one in told if kind is None]
    jobs = _jobs(cycles, options.time_zone)
    events = pl.concat([*_marks(jobs), *(_scores(one, options) for one in reports)], how="diagonal")
    used = sum(one.lines for one in (*cycles, *reports))
    reading = reading_of(
        jobs=jobs.with_columns(source=pl.lit(source)),
        events=events.with_columns(source=pl.lit(source)),
        rejects=rejects_of(lost, source),
    )
    return count_lines(reading, used)


def _kind(document: Document) -> str | None:
    keys = mapping_of(document.value).keys()
    if {"attempt_index", "cycle_number"} <= keys:
        return "cycle"
    return "report" if any(key in keys for key in KEYS) else None


def _jobs(cycles: list[Document], time_zone: str) -> pl.DataFrame:
    rows = [_job(one) for one in cycles]
    start, end = (iso_time(pl.col(name), time_zone) for name in ("start_text", "end_text"))
    return pl.DataFrame(rows, schema=_JOBS).with_columns(
        pl.col("hosts").list.eval(canonical_host(pl.element())),
        start=start,
        end=end,
        state=pl.when(end.is_not_null()).then(pl.lit("ended")),
    )


def _job(document: Document) -> dict[str, Any]:
    cycle = mapping_of(document.value)
    code = text_of(cycle.get("exit_code"))
    return {
        "run": text_of(cycle.get("job_id")),
        "attempt": count_of(text_of(cycle.get("attempt_index"))),
        "name": f"cycle {text_of(cycle.get('cycle_number'))}",
        "start_text": text_of(cycle.get("cycle_start_time")),
        "end_text": text_of(cycle.get("cycle_end_time")),
        "hosts": _hosts(cycle.get("active_nodes")),
        "world": _world(cycle.get("active_ranks")),
        "exit": code,
        "reason": "no progress" if code == NO_PROGRESS_EXIT else None,
        "position": document.line,
        "text": document.text,
        "generation": text_of(cycle.get("generation")),
        "cycle_log_file": text_of(cycle.get("cycle_log_file")),
        "standby_nodes": text_of(cycle.get("standby_nodes")),
    }


def _world(value: object) -> int | None:
    """Return how many ranks run: told as a number, or as the list of them."""
    told = text_of(value)
    return count_of(told) if told is not None else len(items_of(value)) or None


def _hosts(value: object) -> list[str] | None:
    """Return hosts from Slurm's short form or a list; null where none can be told."""
    listed = ",".join(filter(None, map(text_of, items_of(value))))
    try:
        return expand_hostlist(listed) or None
    except HostlistError:
        return None


def _marks(jobs: pl.DataFrame) -> list[pl.DataFrame]:
    """Return start and end of each cycle as events; one that is not told is none."""
    return [
        jobs.drop_nulls(at).select(
            "run",
            "position",
            time=at,
            kind=pl.lit(kind),
            code="name",
            severity=pl.lit("info"),
            count=pl.lit(1),
            attributes=event_labels({name: pl.col(name) for name in _TOLD}),
            message=pl.concat_str(
                pl.col("name"),
                pl.lit(f" {word} on "),
                pl.col("hosts").list.len().fill_null(0).cast(pl.String),
                pl.lit(" hosts"),
            ),
        )
        for at, kind, word in (("start", "run_start", "starts"), ("end", "run_end", "ends"))
    ]


def _scores(document: Document, options: ReadOptions) -> pl.DataFrame:
    report = mapping_of(document.value)
    nodes = {rank: str(node) for rank, node in mapping_of(report.get("rank_to_node")).items()}
    said = next((report[key] for key in ("time", "timestamp") if key in report), None)
    return score_rows(scores_of(report), nodes).with_columns(
        canonical_host(pl.col("host")),
        run=pl.lit(text_of(report.get("job_id")), dtype=pl.String),
        position=pl.lit(document.line, dtype=pl.Int64),
        time=iso_time(pl.lit(text_of(said), dtype=pl.String), options.time_zone),
    )
