"""Read what launchers say of their processes: exits, signals, restarts, cancelled jobs.

Source: formats of NCCL and PyTorch-distributed logs, section 8.5, and of progress streams,
sections 14.1 and 14.2 (torchrun's agent and failure table, srun, slurmstepd). The first failure is
first for its agent only; -15 and -6 are what others do to a process.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import short_time, year_of
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.phrases import Phrase, match_phrases
from collectors.texts.stamps import iso_time
from collectors.training.failure_tables import read_failure_tables

_SIGNALS: Final = {
    "Hangup": "-1",
    "Interrupt": "-2",
    "Quit": "-3",
    "Illegal instruction": "-4",
    "Aborted": "-6",
    "Bus error": "-7",
    "Floating point exception": "-8",
    "Killed": "-9",
    "Segmentation fault": "-11",
    "Terminated": "-15",
}
"""Exit code of a signal by the words that srun and shells print for it."""

CASCADE_CODES: Final = ("-6", "-15")
"""Aborted by its own watchdog, or ended by its agent: a victim."""

_TASKS: Final = r"srun: error: (?P<host>[^\s:]+): tasks? [\d,\-]+: "

_PHRASES: Final = (
    Phrase(
        kind="process_exit",
        pattern=r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<device>\d+)",
        severity="error",
        device_kind="gpu",
    ),
    Phrase(
        kind="process_exit",
        pattern=rf"{_TASKS}Exited with exit code (?P<code>\d+)",
        severity="error",
    ),
    Phrase(kind="process_exit", pattern=rf"{_TASKS}(?P<code>[A-Z][a-z ]+)", severity="error"),
    Phrase(
        kind="oom_kill",
        pattern=r"slurmstepd: error: Detected (?P<code>\d+) oom[-_]kill event",
        severity="critical",
    ),
    Phrase(
        kind="job_cancelled",
        pattern=r"slurmstepd: error: \*\*\* (?:STEP|JOB) \S+ ON (?P<host>\S+) CANCELLED AT \S+"
        r"(?: DUE TO (?P<code>[A-Z ]+?))?(?: \*\*\*|,|$)",
        severity="error",
    ),
    Phrase(
        kind="signal",
        pattern=r"Received (?:Signals\.)?(?P<code>SIG[A-Z]+|\d+) (?:death )?signal",
        severity="error",
    ),
    Phrase(kind="signal", pattern=r"Fatal Python error: (?P<code>[^\n]+)", severity="critical"),
    Phrase(
        kind="signal",
        pattern=r"^(?:\S+ )?(?P<code>Segmentation fault|Bus error|Illegal instruction)",
        severity="critical",
    ),
    Phrase(
        kind="closing",
        pattern=r"Sending process (?P<device>\d+) closing signal (?P<code>SIG[A-Z]+)",
        device_kind="process",
    ),
    Phrase(
        kind="restart",
        pattern=r"Worker group FAILED\. (?P<code>\d+/\d+) attempts left",
        severity="warning",
    ),
    Phrase(
        kind="restart",
        pattern=r"Detected (?P<code>\d+) new nodes from group_rank",
        severity="warning",
    ),
    Phrase(kind="rendezvous", pattern=r"^\s*restart_count=(?P<code>\d+)"),
    Phrase(kind="heartbeat", pattern=r"\bPULSE: "),
    Phrase(
        kind="divergence",
        pattern=r"Invalidate trace cache @ step \d+: expected module \d+, but got module \d+",
        severity="warning",
    ),
    Phrase(
        kind="launcher",
        pattern=r"^(?:srun|slurmstepd|mpirun|mpiexec|prterun): ",
        severity="warning",
    ),
    Phrase(kind="launcher", pattern=r"torch[./]distributed[./](?:elastic|run|launcher)"),
)
"""What launchers print, the surest first."""

LAUNCHER_HINT: Final = (
    r"srun|slurmstepd|mpi|prterun|exitcode|signal|Signal|restart_count=|Worker group|new nodes|"
    r"Root Cause|Rendezvous|PULSE|Invalidate trace|elastic|torch|Fatal Python|Segmentation|"
    r"Bus error|Illegal"
)
"""Words one of which each phrase holds."""

_PARTS: Final = (
    r"Rendezvous complete for workers|^\s*(?:master_(?:addr|port)|group_(?:rank|world_size)|"
    r"(?:local|role|global)_(?:ranks|world_sizes?)|event_log_handler)="
)
"""Lines of the record whose row `restart_count` is."""

_STAMP: Final = r"^[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d+) "
"""The head of the agent's own log: neither year nor zone."""


def read_launchers(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the events that torchrun, srun and their kin tell.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `EVENTS` of kind process_exit (code is the exit code, minus the number of a signal;
        `device` the local rank where one is told), signal, oom_kill, job_cancelled (code is the
        scheduler's reason, null for a user), restart, rendezvous, closing, divergence, heartbeat
        (a sign of life that is no progress) and launcher.
    """
    failures, table = read_failure_tables(lines, options.time_zone)
    free = lines.filter(~pl.col("line").is_in(table.implode()))
    stamped = _stamped(match_phrases(free, _PHRASES), year_of(lines, options), options.time_zone)
    code = pl.col("code").str.replace(r" \(core dumped\)", "").str.strip_chars()
    exits = stamped.with_columns(code=code.replace(_SIGNALS), message="text", count=pl.lit(1))
    events = pl.concat([_without_twins(exits), failures], how="diagonal")
    parts = lines.filter(pl.col("text").str.contains(_PARTS))["line"]
    return LineReading(
        reading=reading_of(events=events.sort("line", maintain_order=True)),
        claimed=pl.concat([stamped["line"], table, parts]),
    )


def _stamped(events: pl.DataFrame, year: int | None, time_zone: str) -> pl.DataFrame:
    """Return the events with the time of their envelope, their head, or their text."""
    heads = events.select(pl.col("text").str.extract_groups(_STAMP)).unnest("text")
    full = iso_time(pl.col("text"), time_zone)
    return events.hstack(heads).with_columns(
        time=pl.coalesce("time", full, short_time(time_zone, year)),
    )


def _without_twins(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with a cancelled job and its cancelled step as the one thing they are."""
    is_twin = pl.col("kind") == "job_cancelled"
    joined = (
        events.filter(is_twin)
        .group_by("kind", "host", "code", "time", maintain_order=True)
        .agg(pl.all().exclude("kind", "host", "code", "time", "count").first(), count=pl.len())
    )
    rest = events.filter(~is_twin)
    return pl.concat([rest, joined.select(rest.columns).cast({"count": rest.schema["count"]})])
