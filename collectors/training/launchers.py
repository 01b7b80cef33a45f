"""Read what launchers say of their processes: exits, signals, restarts.

Source: formats of NCCL and PyTorch-distributed logs, section 8.5, and of progress streams,
section 14.2 (torchrun's agent and failure table; mpirun). The first failure is first for its agent
only; -15 and -6 are what others do to a process. What Slurm's tools print is read by
`collectors.slurm.slurm_messages`.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import year_of
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.exit_codes import signal_codes
from collectors.texts.phrases import Phrase, match_phrases
from collectors.texts.stamps import iso_time
from collectors.training.agent_stamps import agent_time
from collectors.training.failure_tables import read_failure_tables

_PHRASES: Final = (
    Phrase(
        kind="process_exit",
        pattern=r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<device>\d+)",
        severity="error",
        device_kind="gpu",
    ),
    Phrase(
        kind="process_exit",
        pattern=r"noticed that process rank (?P<rank>\d+) with PID \S+ on node (?P<host>\S+) "
        r"exited on signal \d+ \((?P<code>[^)]+)\)",
        severity="error",
    ),
    Phrase(
        kind="process_exit",
        pattern=r"^\s*Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]",
        severity="error",
        code="nonzero",
    ),
    Phrase(
        kind="process_exit",
        pattern=r"MPI_ABORT was invoked on rank (?P<rank>\d+)",
        severity="error",
        code="MPI_ABORT",
    ),
    Phrase(
        kind="process_exit",
        pattern=r"pdsh@\S+: (?P<host>\S+): ssh exited with exit code (?P<code>\d+)",
        severity="error",
    ),
    Phrase(
        kind="process_exit",
        pattern=r"sigkill_handler\].* exits with return code = (?P<code>-?\d+)",
        severity="error",
    ),
    Phrase(
        kind="closing",
        pattern=r"sigkill_handler\] Killing subprocess (?P<device>\d+)",
        device_kind="process",
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
        kind="closing",
        pattern=r"Unable to shutdown process (?P<device>\d+) via \S+, forcefully exiting via "
        r"(?:Signals\.)?(?P<code>SIG[A-Z]+)",
        severity="warning",
        device_kind="process",
    ),
    Phrase(
        kind="restart",
        pattern=r"Worker group (?:FAILED|UNHEALTHY)\. (?P<code>\d+/\d+) attempts left",
        severity="warning",
    ),
    Phrase(
        kind="restart",
        pattern=r"Detected (?P<code>\d+) new nodes? from group_rank",
        severity="warning",
    ),
    Phrase(
        kind="run_end",
        pattern=r"worker group successfully finished|Local worker group finished \(\S*SUCCEEDED",
        code="done",
    ),
    Phrase(kind="heartbeat", pattern=r"\bPULSE: "),
    Phrase(
        kind="divergence",
        pattern=r"Invalidate trace cache @ step \d+(?:: expected module \d+, but got module \d+|"
        r" and module \d+: cache has only \d+ modules)",
        severity="warning",
    ),
    Phrase(
        kind="launcher",
        pattern=r"^(?:mpirun|mpiexec|prterun): ",
        severity="warning",
    ),
    Phrase(
        kind="launcher",
        pattern=r"torch[./]distributed[./](?:elastic|run|launcher)|"
        r"Setting OMP_NUM_THREADS environment variable|(?:of|in) the rendezvous '|"
        r"Local worker group finished|for other agents to finish",
    ),
)
"""What launchers print, the surest first."""

LAUNCHER_HINT: Final = (
    r"mpirun|mpiexec|prterun|exitcode: |signal|Process name: |MPI_ABORT|pdsh@|sigkill_handler|"
    r"Fatal Python|Segmentation fault|Bus error|Illegal instruction|Unable to shutdown process|"
    r"Worker group|worker group|new node|endezvous|Root Cause|PULSE: |Invalidate trace|"
    r"torch[./]distributed|OMP_NUM_THREADS|other agents"
)
"""Words one of which each phrase holds."""

_CONFIGURATION: Final = (
    r"^\s*(?:entrypoint|min_nodes|max_nodes|nproc_per_node|run_id|rdzv_\w+|max_restarts|"
    r"monitor_interval|log_dir|metrics_cfg|logs_specs|event_log_handler|numa_options|"
    r"signals_to_handle|local_addr|role)\s+: "
)
"""Lines below `Starting elastic_operator with launch configs`."""

_RULE: Final = r"^\s*\*{20,}\s*$"

_MAX_TWIN_LINES: Final = 200
"""An agent's line on a failure and its table are so near each other; ours."""

_REASONS: Final = {"failure": r"^\d+/\d+$", "membership change": r"^\d+$"}
"""Why an agent restarts its workers, by the form of the code."""


def read_launchers(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the events that torchrun, mpirun and their kin tell.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `EVENTS` of kind process_exit (code is the exit code, minus the number of a signal;
        `device` the local rank where one is told), signal, restart (attribute `reason`: failure,
        which takes one of the agent's restarts, or membership change), closing,
        run_end, divergence, heartbeat (a sign of life that is no progress) and launcher.
    """
    near = lines.filter(pl.col("text").str.contains(LAUNCHER_HINT))
    failures, table = read_failure_tables(lines, options.time_zone)
    free = near.filter(~pl.col("line").is_in(table.implode()))
    found = match_phrases(free, _PHRASES)
    times = agent_time(found, year_of(lines, options), options.time_zone)
    full = iso_time(pl.col("text"), options.time_zone)
    timed = found.with_columns(times).with_columns(pl.col("time").fill_null(full))
    told = timed.with_columns(message="text", count=pl.lit(1), attributes=_attributes())
    events = _without_twins(signal_codes(told), failures)
    return LineReading(
        reading=reading_of(
            events=pl.concat([events, failures], how="diagonal").sort("line", maintain_order=True)
        ),
        claimed=pl.concat([found["line"], table, _parts(lines, found)]),
    )


def _without_twins(events: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """Return the events without exits that a table near them tells again, with rank and host."""
    is_exit = (pl.col("kind") == "process_exit") & (pl.col("device_kind") == "gpu")
    if failures.is_empty():
        return events
    whose = ["code", "device"]
    table = failures.select("line", *whose, told=pl.lit(value=True)).sort("line")
    near = events.sort("line").join_asof(
        table,
        on="line",
        by=whose,
        strategy="nearest",
        tolerance=_MAX_TWIN_LINES,
        check_sortedness=False,
    )
    return near.filter(~(is_exit & pl.col("told")).fill_null(value=False)).drop("told")


def _attributes() -> pl.Expr:
    is_restart = pl.col("kind") == "restart"
    reason = pl.lit(None, pl.String)
    for name, form in _REASONS.items():
        reason = (
            pl.when(is_restart & pl.col("code").str.contains(form))
            .then(pl.lit(name))
            .otherwise(reason)
        )
    return event_labels({"reason": reason})


def _parts(lines: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """Return the lines that go with what was found: a configuration, rules of stars."""
    if not (found["kind"] == "launcher").any():
        return lines["line"].clear()
    return lines.filter(pl.col("text").str.contains(rf"{_CONFIGURATION}|{_RULE}"))["line"]
