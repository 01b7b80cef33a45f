"""Read the lists of sinfo and squeue: nodes with their states, jobs in the queue.

Source: formats of GPU and host streams, section 7.4; sinfo(1), squeue(1). With `-o '%N|%T|%E|%H'`
and `-h` a line is host, state, reason and time between bars; the usual lists have a header, and
cells between blanks, of which only names and reasons hold some.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.readings import Reading
from collectors.slurm.hostlists import hosts_of
from collectors.slurm.sacct_columns import JOB_ID
from collectors.slurm.sacct_records import RECORDS
from collectors.slurm.slurm_jobs import job_rows, jobs_of
from collectors.slurm.slurm_nodes import NODE_ROWS, NODE_STATE, node_events
from collectors.slurm.slurm_states import STATE
from collectors.slurm.slurm_times import NO_STAMP, STAMP
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines

_HOSTS: Final = (
    r"[A-Za-z][\w.-]*(?:\[[\d,-]+\][\w.-]*)*(?:,[A-Za-z][\w.-]*(?:\[[\d,-]+\][\w.-]*)*)*"
)

_TIME: Final = rf"(?:{STAMP}|{NO_STAMP})"

_BARE: Final = (
    rf"^(?P<nodelist>{_HOSTS})\|(?P<state>{NODE_STATE})"
    rf"(?:\|(?P<reason>.*?))??(?:\|(?P<timestamp>{_TIME}))?$"
)
"""A line without a header: host, state, then a reason and its time."""

_FORMS: Final = {
    "NODELIST": rf"(?P<nodelist>{_HOSTS})",
    "HOSTNAMES": rf"(?P<nodelist>{_HOSTS})",
    "STATE": rf"(?P<state>{NODE_STATE}|{STATE})",
    "ST": rf"(?P<state>{STATE})",
    "REASON": r"(?P<reason>\S.*?)",
    "TIMESTAMP": rf"(?P<timestamp>{_TIME})",
    "USER": r"(?P<user>\S+)",
    "JOBID": rf"(?P<jobid>{JOB_ID})",
    "NAME": r"(?P<jobname>\S.*?)",
    "TIME": r"(?P<elapsed>(?:\d+-)?[\d:]+|INVALID)",
    "START_TIME": rf"(?P<start>{_TIME})",
    "NODELIST(REASON)": rf"(?:\((?P<reason>.*)\)|(?P<nodelist>{_HOSTS})?)",
}
"""Names in headers and the forms of their cells; any other cell has no blanks."""

_HEADER: Final = r"^\s*(?:[A-Z][A-Z_:()]*[ |]+)+[A-Z][A-Z_:()]*\s*$"

_FIELDS: Final = (
    *("nodelist", "state", "reason", "timestamp", "user"),
    *("jobid", "jobname", "elapsed", "start"),
)

_MIN_SHARE: Final = 0.5


def wants_slurm_listings(head: Head) -> float:
    """Return how sure it is that a head is a list of sinfo or squeue."""
    if head.is_binary or not head.lines:
        return 0.0
    first = head.lines[0].strip()
    if _pattern_of(first) is not None:
        return 0.85
    if "|" not in head.text:
        return 0.0
    whole = head.lines[:-1] or head.lines
    bare = sum(bool(re.match(_BARE, line.strip())) for line in whole)
    return 0.8 if bare > _MIN_SHARE * len(whole) else 0.0


def _pattern_of(header: str) -> str | None:
    """Return the pattern of the rows under a header; null if it is none of these lists."""
    names = [name for name in re.split(r"[ |]+", header.strip()) if name]
    is_nodes = bool({"NODELIST", "HOSTNAMES"} & set(names)) and "STATE" in names
    is_reasons = {"REASON", "TIMESTAMP", "NODELIST"} <= set(names)
    is_jobs = "JOBID" in names and bool({"ST", "STATE"} & set(names))
    if not re.match(_HEADER, header) or not (is_nodes or is_reasons or is_jobs):
        return None
    mark = r"\|" if "|" in header else r"\s+"
    cell = r"[^|]*" if "|" in header else r"\S+"
    once = [name for at, name in enumerate(names) if name not in names[:at]]
    forms = [_FORMS.get(name, cell) if name in once else cell for name in names]
    if "NODELIST(REASON)" in names:
        forms = [
            cell if name in ("NODELIST", "REASON") else form
            for name, form in zip(names, forms, strict=True)
        ]
    if names[-1] == "REASON":
        forms[-1] = r"(?P<reason>.*)"
    if names[-1] == "NODELIST(REASON)" and "|" not in header:
        return rf"^\s*{mark.join(forms[:-1])}(?:{mark}{forms[-1]})?\s*$"
    return rf"^\s*{mark.join(forms)}\s*$"


def read_slurm_listings(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the nodes or jobs of a list.

    Args:
        path: The file.
        source: The name to quote, which may tell when it was printed.
        options: The zone of its stamps.

    Returns:
        `EVENTS` of kind node_state, a node of several partitions once; `JOBS`.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    header = pl.when(pl.col("text").str.contains(_HEADER)).then(pl.col("text").str.strip_chars())
    headed = lines.with_columns(header=header.forward_fill(), is_header=header.is_not_null())
    parts = [
        _rows(part, str(name) if name else None)
        for (name,), part in headed.group_by("header", maintain_order=True)
    ]
    rows = pl.concat([part for part, _ in parts]) if parts else _empty()
    used = pl.concat([own for _, own in parts]) if parts else pl.Series([], dtype=pl.Int64)
    nodes = _nodes(rows.filter(pl.col("jobid").is_null()))
    jobs = job_rows(_records(rows.filter(pl.col("jobid").is_not_null())), source, options)
    events = node_events(nodes, source, options)
    return account(lines, used, source, events=events, jobs=jobs_of(jobs))


def _empty() -> pl.DataFrame:
    return pl.DataFrame(schema={"position": pl.Int64, **dict.fromkeys(_FIELDS, pl.String)})


def _rows(lines: pl.DataFrame, header: str | None) -> tuple[pl.DataFrame, pl.Series]:
    """Return the cells of the rows under a header, and the positions that are used."""
    pattern = _BARE if header is None else _pattern_of(header)
    if pattern is None:
        return _empty(), lines.clear()["position"]
    hits = lines.filter(~pl.col("is_header"), pl.col("text").str.contains(pattern))
    cells = hits.select(pl.col("text").str.extract_groups(pattern).alias("cells")).unnest("cells")
    null = pl.Series([None] * hits.height, dtype=pl.String)
    found = {name: cells[name] if name in cells.columns else null for name in _FIELDS}
    heads = lines.filter("is_header")["position"]
    return hits.select("position", **found), pl.concat([hits["position"], heads])


def _nodes(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `NODE_ROWS`, one row a host."""
    named = rows.rename({"user": "reason_user", "timestamp": "reason_time"})
    hosts = named.with_columns(node=hosts_of(rows["nodelist"])).explode("node")
    return conform(hosts.drop_nulls("node").lazy(), NODE_ROWS).collect()


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `RECORDS` of the jobs of a queue."""
    numbered = rows.with_row_index("record").with_columns(rejoined=pl.lit(value=False))
    return conform(numbered.lazy(), RECORDS).collect()
