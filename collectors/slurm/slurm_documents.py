"""Read the JSON of Slurm's tools: jobs of sacct, squeue and scontrol, nodes of scontrol and sinfo.

Source: formats of GPU and host streams, section 7.3; Slurm's `src/plugins/data_parser` v0.0.39 to
v0.0.45 and the openapi plugins before. The same field is a number, a text, a list or a struct by
release and flags, so documents are walked value by value; what comes out is text as the other
tools print it (see `collectors.slurm.slurm_document_values`), and is read the same way.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from collectors.readings import Reading, count_lines, reading_of, reject_file
from collectors.slurm.sacct_records import RECORDS
from collectors.slurm.slurm_document_values import (
    clock_text,
    epoch_text,
    exit_text,
    list_of,
    number,
    states_text,
    struct_of,
    text_of,
)
from collectors.slurm.slurm_jobs import failed_node_events, job_rows, jobs_of, step_events
from collectors.slurm.slurm_nodes import NODE_ROWS, node_events
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import decoded

_TABLES: Final = ("jobs", "nodes", "sinfo")

_START: Final = re.compile(
    r'\A\s*\{[\s\S]{0,4096}?"(?:jobs|nodes|sinfo)"\s*:\s*[\[{]'
    r"|\A\s*\{\s*\"meta\"[\s\S]{0,1024}?(?:openapi|data_parser|[Ss]lurm)"
)

_OURS: Final = re.compile(
    r'"(?:job_state|job_id|state|association|data_parser|slurmd_start_time|boot_time|slurm)"\s*:'
)

_UNTOLD_EXITS: Final = "v0.0.39"
"""The parser that writes success for every normal exit."""

_STEP_NUMBERS: Final = {
    4294967290: "interactive",
    4294967291: "batch",
    4294967292: "extern",
}
"""Numbers that stand for steps with a name. Source: `slurm/slurm.h`."""

Table = Mapping[str, Any]


def wants_slurm_documents(head: Head) -> float:
    """Return how sure it is that a head is of Slurm's JSON."""
    text = head.text
    return 0.92 if _START.search(text) and _OURS.search(text) else 0.0


def read_slurm_documents(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the jobs and nodes of a document.

    Args:
        path: The file, one document.
        source: The name to quote, which may tell when it was printed.
        options: The zone, host and time of what the document does not say.

    Returns:
        `JOBS`, and `EVENTS` of kind job_step, node_failure, node_state and boot. A document that is
        torn, or that says an error instead, is one reject.

    Raises:
        OSError: The file cannot be read.
    """
    text = decoded(path.read_bytes())
    count = sum(1 for line in text.split("\n") if line.strip())
    try:
        document = struct_of(orjson.loads(text.encode("utf-8", errors="replace")))
    except orjson.JSONDecodeError:
        return reject_file(source, "torn JSON", text, count)
    if not any(_rows(document, one) for one in _TABLES):
        return reject_file(source, _why_none(document), text, count)
    rows = job_rows(_records(document), source, options)
    nodes = pl.DataFrame(list(_nodes(document)), schema=NODE_ROWS)
    events = [step_events(rows), failed_node_events(rows), node_events(nodes, source, options)]
    named = pl.lit(source).alias("source")
    reading = reading_of(
        jobs=jobs_of(rows).with_columns(named),
        events=pl.concat(events).with_columns(named),
    )
    return count_lines(reading, count)


def _rows(document: Table, name: str) -> list[Table]:
    return [struct_of(row) for row in list_of(document.get(name)) if struct_of(row)]


def _why_none(document: Table) -> str:
    errors = list_of(document.get("errors"))
    return f"Slurm says: {errors}"[:200] if errors else "no jobs and no nodes in it"


def _records(document: Table) -> pl.DataFrame:
    """Return `RECORDS` of the jobs of a document and of their steps."""
    hides = _UNTOLD_EXITS in str(document.get("meta"))
    rows: list[dict[str, Any]] = []
    for job in _rows(document, "jobs"):
        rows.append(_job(job, hides_exit=hides))
        rows += [_step(step, job, hides_exit=hides) for step in _rows(job, "steps")]
    frame = pl.DataFrame(
        [row | {"record": at, "rejoined": False} for at, row in enumerate(rows)], schema=RECORDS
    )
    return frame.drop_nulls("jobid")


def _job(job: Table, *, hides_exit: bool) -> dict[str, Any]:
    """Return the cells of a job, by sacct's names of columns."""
    clock = struct_of(job.get("time"))
    state = states_text(job.get("state", job.get("job_state")))
    flags = states_text([one for one in list_of(job.get("flags")) if one == "LAUNCH_FAILED"])
    by = text_of(job.get("kill_request_user"))
    told = f"{state} by {by}" if state == "CANCELLED" and by else state
    resources = struct_of(job.get("job_resources")).get("nodes")
    return {
        "jobid": _job_number(job),
        "jobname": text_of(job.get("name")),
        "user": text_of(job.get("user_name", job.get("user"))),
        "state": ",".join(one for one in (told, flags) if one) or None,
        "submit": epoch_text(clock.get("submission", job.get("submit_time"))),
        "start": epoch_text(clock.get("start", job.get("start_time"))),
        "end": epoch_text(clock.get("end", job.get("end_time"))),
        "elapsedraw": _count(clock.get("elapsed")),
        "planned": _count(clock.get("planned")),
        "totalcpu": clock_text(clock.get("total")),
        "exitcode": exit_text(job.get("exit_code"), hides_success=hides_exit),
        "nodelist": text_of(job.get("nodes")) or _listed(resources),
        "failednode": text_of(job.get("failed_node")),
        "reason": text_of(job.get("state_reason", struct_of(job.get("state")).get("reason"))),
        "restarts": _count(job.get("restart_cnt")),
        "alloctres": text_of(job.get("tres_alloc_str")) or _resources(job.get("tres")),
    }


def _resources(tres: object) -> str | None:
    """Return what was given to a job as sacct prints it: `cpu=64,gres/gpu=8`."""
    given = [struct_of(one) for one in list_of(struct_of(tres).get("allocated"))]
    named = [
        ("/".join(str(part) for part in (one.get("type"), one.get("name")) if part), one["count"])
        for one in given
        if "count" in one
    ]
    return ",".join(f"{name}={_count(count)}" for name, count in named) or None


def _job_number(job: Table) -> str | None:
    """Return a job's number as sacct prints it: `88213`, `88213_4`, `88213_[5-9]`, `88213+1`."""
    array, het = struct_of(job.get("array")), struct_of(job.get("het"))
    parent = number(array.get("job_id", job.get("array_job_id")))
    task = number(array.get("task_id", job.get("array_task_id")))
    waiting = text_of(array.get("task", job.get("array_task_string")))
    leader = number(het.get("job_id", job.get("het_job_id")))
    offset = number(het.get("job_offset", job.get("het_job_offset")))
    own = number(job.get("job_id"))
    if parent and task is not None:
        return f"{parent:.0f}_{task:.0f}"
    if parent and waiting:
        return f"{parent:.0f}_[{waiting.strip('[]')}]"
    if leader and offset is not None:
        return f"{leader:.0f}+{offset:.0f}"
    return None if own is None else f"{own:.0f}"


def _step(step: Table, job: Table, *, hides_exit: bool) -> dict[str, Any]:
    """Return the cells of a step."""
    clock, nodes = struct_of(step.get("time")), step.get("nodes")
    return {
        "jobid": f"{_job_number(job)}.{_step_name(struct_of(step.get('step')))}",
        "jobname": text_of(struct_of(step.get("step")).get("name")),
        "state": states_text(step.get("state")),
        "start": epoch_text(clock.get("start")),
        "end": epoch_text(clock.get("end")),
        "elapsedraw": _count(clock.get("elapsed")),
        "exitcode": exit_text(step.get("exit_code"), hides_success=hides_exit),
        "nodelist": _listed(nodes),
        "ntasks": _count(struct_of(step.get("tasks")).get("count")),
    }


def _step_name(step: Table) -> str:
    """Return a step's name behind the dot of its number."""
    told = step.get("id")
    inner = struct_of(told).get("step_id", told)
    count = number(inner)
    if count is not None:
        return _STEP_NUMBERS.get(int(count), f"{count:.0f}")
    name = re.sub(r"^.*\.", "", str(inner or "step"))
    return re.sub(r"\W", "_", name)


def _nodes(document: Table) -> Iterator[dict[str, Any]]:
    """Yield the cells of nodes."""
    for node in _rows(document, "nodes"):
        memory = _count(node.get("free_mem"))
        state = [states_text(node.get("state")), states_text(node.get("state_flags"))]
        yield {
            "node": text_of(node.get("name", node.get("hostname"))),
            "state": "+".join(one for one in state if one).replace(",", "+"),
            "reason": text_of(node.get("reason")),
            "reason_user": text_of(node.get("reason_set_by_user")),
            "reason_time": epoch_text(node.get("reason_changed_at")),
            "gres": text_of(node.get("gres")),
            "gres_used": text_of(node.get("gres_used")),
            "resources": text_of(node.get("tres")),
            "boot_time": epoch_text(node.get("boot_time")),
            "free_memory": memory and f"{memory}M",
            "comment": text_of(node.get("comment")),
            "extra": text_of(node.get("extra")),
        }
    for group in _rows(document, "sinfo"):
        why = struct_of(group.get("reason")) or {"description": group.get("reason")}
        for name in list_of(struct_of(group.get("nodes")).get("nodes")):
            yield {
                "node": text_of(name),
                "state": (states_text(struct_of(group.get("node")).get("state")) or "").replace(
                    ",", "+"
                ),
                "reason": text_of(why.get("description")),
                "reason_user": text_of(why.get("user")),
                "reason_time": epoch_text(why.get("time")),
            }


def _count(value: object) -> str | None:
    found = number(value)
    return None if found is None else f"{found:.0f}"


def _listed(nodes: object) -> str | None:
    """Return a list of hosts: a text, or a struct with it as text or as a list."""
    told = struct_of(nodes)
    listed = told.get("list", told.get("range", nodes))
    return ",".join(str(one) for one in list_of(listed)) or text_of(listed)
