"""Read what srun, slurmstepd and their kin print into a job's log: exits, kills, cancelled jobs.

Source: formats of progress streams, section 14.1; Slurm `src/slurmd/slurmstepd/req.c` (the lines
between three stars), `src/srun/libsrun/launch.c` and `src/api/step_launch.c` (how tasks ended).
JOB and STEP lines of one end are one event: the step says it, and its job says it again.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import year_of
from collectors.frames import JOBS, conform
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.slurm.hostlists import hosts_of
from collectors.slurm.slurm_banners import JOB_NUMBER
from collectors.slurm.step_ends import mark_step_ends, name_lost_nodes
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.exit_codes import signal_codes
from collectors.texts.phrases import Phrase, match_phrases
from collectors.texts.stamps import iso_time
from collectors.training.agent_stamps import agent_time

_TOOL: Final = r"(?:slurmstepd|slurmd|srun|salloc|sbatch|scancel|mpirun)"

_SAYS: Final = rf"\b{_TOOL}(?:-[\w.-]+|\[[\w.,-]+\])?: "
"""`srun: `, `slurmstepd-n3: `, `slurmd[n3]: `."""

SLURM_MESSAGE_HINT: Final = (
    r"slurmstepd|srun: |slurmd\[|salloc: |sbatch: |scancel: |batch job \d|\*\*\* (?:STEP|JOB) |"
    r"oom[-_]kill event"
)

_HOSTS: Final = r"(?P<host>[^\s:\[\]]+(?:\[[\d,\-]+\][^\s:\[\]]*)*)"

_TASKS: Final = rf"{_SAYS}error: {_HOSTS}: tasks? (?P<device>[\d,\-]+): "

_STARS: Final = (
    rf"(?:{_SAYS}|^)(?:error: )?\*\*\* (?:STEP|JOB|JobId=|StepId=) ?\S+(?: ON {_HOSTS})? "
)

_PHRASES: Final = (
    Phrase(
        kind="oom_kill",
        pattern=rf"{_TASKS}(?P<code>Out Of Memory)",
        severity="critical",
        device_kind="task",
    ),
    Phrase(
        kind="process_exit",
        pattern=rf"{_TASKS}Exited with exit code (?P<code>\d+)",
        severity="error",
        device_kind="task",
    ),
    Phrase(
        kind="process_exit",
        pattern=rf"{_TASKS}(?P<code>[A-Z][A-Za-z0-9 ]+?)(?: \(core dumped\))?\s*$",
        severity="error",
        device_kind="task",
    ),
    Phrase(
        kind="job_cancelled",
        pattern=rf"{_STARS}(?:CANCELLED|KILLED) AT \S+"
        r"(?: (?:DUE [Tt][Oo]|WITH) (?P<code>[A-Z]+(?: [A-Za-z0-9]+)*))?",
        severity="error",
    ),
    Phrase(
        kind="memory_error",
        pattern=rf"{_STARS}UNCORRECTABLE MEMORY ERROR AT",
        severity="critical",
        code="uncorrectable",
    ),
    Phrase(
        kind="job_cancelled",
        pattern=rf"{_STARS}FAILED \(",
        severity="error",
        code="TASK FAILURE",
    ),
    Phrase(
        kind="oom_kill",
        pattern=r"error: Detected (?P<code>\d+) oom[-_]kill event",
        severity="critical",
    ),
    Phrase(
        kind="oom_kill",
        pattern=rf"{_SAYS}error: .*(?:exceeded memory limit|[Ee]xceeded (?:job|step) memory limit)",
        severity="critical",
        code="limit",
    ),
    Phrase(
        kind="node_failure",
        pattern=rf"{_SAYS}error: Node failure on {_HOSTS}",
        severity="error",
        code="NODE_FAIL",
    ),
    Phrase(kind="launcher", pattern=rf"{_SAYS}error: ", severity="warning"),
    Phrase(kind="launcher", pattern=_SAYS),
    Phrase(kind="launcher", pattern=r"^Submitted batch job \d+"),
)
"""What Slurm's tools print, the surest first."""

_OTHERS: Final = ("NODE FAILURE",)
"""Reasons of which the host that prints them has no part: it lives."""

_JOB: Final = (
    r"(?:STEP |JOB |StepId=|JobId=|StepId |\b[Jj]ob (?:step |ID )?|allocation )"
    rf"({JOB_NUMBER})\b"
)

_OTHER_JOB: Final = r"\b(?:sbatch|scancel): |^Submitted batch job"
"""Lines of a script about other jobs than its own."""

_MAX_TWIN_SECONDS: Final = 60
"""Job and step tell of one end within this time; ours."""

_STATES: Final = {
    "TIME LIMIT": "TIMEOUT",
    "PREEMPTION": "PREEMPTED",
    "NODE FAILURE": "NODE_FAIL",
    "JOB REQUEUE": "REQUEUED",
    "TASK FAILURE": "FAILED",
}
"""What Slurm calls a job that ended for a reason; for none it is CANCELLED."""


def read_slurm_messages(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what Slurm's tools say of the processes of a job, and of the job.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `EVENTS` with the job's number as `run` where it is said: process_exit (code is the exit
        code, minus the number of a signal; `device` the task, a number of Slurm's and no rank),
        oom_kill, node_failure, memory_error, job_cancelled (code is Slurm's reason, null for a
        user or for none), closing (a step that ended since a task failed) and launcher. Several
        hosts in one line are an event each. `JOBS`: the ends of jobs that are told.
    """
    near = lines.filter(pl.col("text").str.contains(SLURM_MESSAGE_HINT))
    hits = match_phrases(near, _PHRASES)
    own = ~pl.col("text").str.contains(_OTHER_JOB)
    told = hits.with_columns(run=pl.when(own).then(pl.col("text").str.extract(_JOB, 1)))
    timed = told.with_columns(time=_told_time(told, lines, options), count=pl.lit(1))
    whole = _by_host(_without_twins(signal_codes(timed)))
    events = name_lost_nodes(mark_step_ends(whole))
    return LineReading(
        reading=reading_of(events=_as_events(events), jobs=_ended(events)),
        claimed=hits["line"],
    )


def _told_time(hits: pl.DataFrame, lines: pl.DataFrame, options: ReadOptions) -> pl.Series:
    """Return the time of each line: of its envelope, of its text, or of the log's own head."""
    heads = agent_time(hits, year_of(lines, options), options.time_zone)
    ends = iso_time(pl.col("text").str.extract(r" AT (\S+)"), options.time_zone)
    return hits.select(pl.coalesce("time", ends, heads))["time"]


def _without_twins(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with the end of a job and of its steps as the one thing they are.

    The host is that of a step, on whose nodes the work was; the job's line names its first node.
    """
    is_end = pl.col("kind") == "job_cancelled"
    whose = ("run", "code")
    gap = pl.col("time").diff().dt.total_seconds().abs() > _MAX_TWIN_SECONDS
    ends = (
        events.filter(is_end)
        .with_columns(end=gap.fill_null(value=False).cum_sum().over(whose))
        .with_columns(is_job=pl.col("text").str.contains(r"\*\*\* (?:JOB|JobId)"))
    )
    host = pl.col("host").sort_by("is_job", maintain_order=True).first()
    joined = ends.group_by(*whose, "end", maintain_order=True).agg(
        pl.all().exclude(*whose, "end", "host", "count").first(),
        host,
        pl.len().cast(pl.Int32).alias("count"),
        pl.col("is_job").any().alias("has_job"),
    )
    rest = events.filter(~is_end).with_columns(has_job=pl.lit(None, pl.Boolean))
    return pl.concat([rest, joined.select(rest.columns)])


def _by_host(events: pl.DataFrame) -> pl.DataFrame:
    """Return one event a host, of lines that name several; who only prints it is not named."""
    is_told = ~pl.col("code").is_in(list(_OTHERS)).fill_null(value=False)
    hosts = hosts_of(events.select(pl.when(is_told).then("host")).to_series())
    listed = pl.Series("hosts", hosts, dtype=pl.List(pl.String))
    named = events.with_columns(
        listed, said_hosts=pl.when(listed.list.len() > 1).then(pl.col("host"))
    )
    whole = named.explode("hosts", empty_as_null=True).with_columns(host="hosts")
    return whole.sort("line", maintain_order=True)


def _as_events(events: pl.DataFrame) -> pl.DataFrame:
    step = pl.col("text").str.extract(r"(?:STEP |StepId=)\d+\.(\w+)")
    said = {"hosts": pl.col("said_hosts"), "step": step}
    return events.with_columns(message="text", attributes=event_labels(said))


def _ended(events: pl.DataFrame) -> pl.DataFrame:
    """Return `JOBS` of the jobs whose end a line tells; which attempt it was, the line does not."""
    ends = events.filter(pl.col("kind") == "job_cancelled", pl.col("run").is_not_null())
    state = pl.col("code").replace_strict(_STATES, default="CANCELLED", return_dtype=pl.String)
    told = ends.select("run", state=state.fill_null("CANCELLED"), end="time", reason="code")
    return conform(told.lazy(), JOBS).collect()
