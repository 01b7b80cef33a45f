"""What PyTorch 2.6 prints when one rank stops entering collectives and the others time out.

The hung rank halts after its compute, before the gradients' reduction. Its data-parallel peers
wait for it there, its tensor peers in their node's reduction, and everyone else in the job's own.
Each reports 600 s after it began to wait; the rank that hangs waits for nobody and reports nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from paceline.simulation.draws import stream
from paceline.simulation.groups import Group, data_group, default_group, tensor_group
from paceline.simulation.lockstep import Timeline
from paceline.simulation.machine import EPOCH_SECONDS
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE

_CALLS_PER_STEP: Final = {
    "default_pg": 3,
    "TENSOR_MODEL_PARALLEL_GROUP": 40,
    "DATA_PARALLEL_GROUP": 12,
}
_OPERATIONS: Final = {
    "default_pg": ("ALLREDUCE", 1, 1),
    "TENSOR_MODEL_PARALLEL_GROUP": ("ALLREDUCE", 16_384, 16_384),
    "DATA_PARALLEL_GROUP": ("_REDUCE_SCATTER_BASE", 268_435_456, 33_554_432),
}
"""What a group waits in: operation, elements in, elements out (for eight replicas)."""
_TIMED_OUT: Final = (
    (
        632,
        (
            "[Rank {place}] Watchdog caught collective operation timeout: WorkNCCL("
            "SeqNum={sequence}, OpType={operation}, NumelIn={sent}, NumelOut={received}, "
            "Timeout(ms)={limit}) ran for {waited} milliseconds before timing out."
        ),
    ),
    (
        2268,
        (
            "{head}  failure detected by watchdog at work sequence id: {sequence} PG status: "
            "last enqueued work: {sequence}, last completed work: {completed}"
        ),
    ),
    (
        670,
        (
            "Stack trace of the failed collective not found, potentially because FlightRecorder "
            "is disabled."
        ),
    ),
)
"""Source line and text of what a watchdog prints when a collective runs too long."""
_SIGNALLED: Final = (
    (
        1484,
        (
            "{head} Received a dump signal due to a collective timeout from {origin} and we will "
            "try our best to dump the debug info. Last enqueued NCCL work: {enqueued}, last "
            "completed NCCL work: {completed}."
        ),
    ),
    (1696, "{head} ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1"),
)
"""Source line and text of what the monitor of the job's own group prints on every rank."""
_ENTERED_AFTER_SECONDS: Final = {
    "DATA_PARALLEL_GROUP": 0.0,
    "TENSOR_MODEL_PARALLEL_GROUP": 1.5,
    "default_pg": 2.5,
}
"""After its compute, when a rank reaches the operation of that group: in the step's order."""
_BETWEEN_LINES_SECONDS: Final = 0.0002
_SIGNAL_AFTER_SECONDS: Final = 1.6
_KILL_AFTER_SECONDS: Final = 12.0
_AGENT_PROCESS: Final = 812


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """One rank's view of the hang.

    Attributes:
        rank: Global rank.
        group: Where it waits.
        sequence: The group's number of the operation that it waits in.
        seconds: When its watchdog reports, after the epoch, true time.
        waited_seconds: How long the operation had run by then.
    """

    rank: int
    group: Group
    sequence: int
    seconds: float
    waited_seconds: float


def hang_lines(plan: Plan, timeline: Timeline) -> dict[int, list[str]]:
    """Return by node the lines of the time-out, in the order of time; empty without a hang."""
    hung = plan.incident.rank
    if timeline.waiting_since is None or hung is None:
        return {}
    reports = [
        _report(plan, timeline, rank, hung) for rank in range(plan.machine.ranks) if rank != hung
    ]
    first = min(reports, key=lambda report: report.seconds)
    if first.seconds > plan.duration_seconds:
        return {}
    told = max(report.seconds for report in reports) + _SIGNAL_AFTER_SECONDS
    stamped = [line for report in reports for line in _report_lines(plan, report)]
    stamped += [
        line
        for rank in range(plan.machine.ranks)
        for line in _signal_lines(plan, timeline, rank, first.rank, told)
    ]
    stamped += _exit_lines(plan, hung, told + _KILL_AFTER_SECONDS)
    by_node: dict[int, list[str]] = {node: [] for node in range(plan.machine.nodes)}
    for _, node, text in sorted(stamped, key=lambda line: line[0]):
        by_node[node].append(text)
    return by_node


def _report(plan: Plan, timeline: Timeline, rank: int, hung: int) -> _Report:
    if rank in tensor_group(hung).ranks:
        group = tensor_group(rank)
    elif rank in data_group(plan, hung).ranks:
        group = data_group(plan, rank)
    else:
        group = default_group(plan)
    polled = float(stream(plan.seed, f"watchdog {rank}").uniform(0.001, 1.0))
    waited = plan.params.timeout_seconds + polled
    since = 0.0 if timeline.waiting_since is None else float(timeline.waiting_since[rank])
    since += _ENTERED_AFTER_SECONDS[group.name]
    return _Report(
        rank=rank,
        group=group,
        sequence=_last_entered(timeline, group),
        seconds=since + waited,
        waited_seconds=waited,
    )


def _last_entered(timeline: Timeline, group: Group) -> int:
    """Return the number of the first operation that the hung rank did not enter."""
    return timeline.steps * _CALLS_PER_STEP[group.name] + 1


_Line = tuple[float, int, str]
"""When it was written, on which node, and its text."""


def _stamp(plan: Plan, rank: int, seconds: float, source: int) -> str:
    """Return torchrun's and c10's head: the host's clock in UTC, without a year or a zone."""
    node = rank // GPUS_PER_NODE
    local = EPOCH_SECONDS + seconds + float(plan.machine.clock_offsets[node])
    at = datetime.fromtimestamp(round(local, 6), tz=UTC)
    digits = f"{at.month}{at.day:02d} {at:%H:%M:%S}.{at.microsecond:06d}113"
    return f"[default{rank % GPUS_PER_NODE}]:[rank{rank}]:[E{digits} ProcessGroupNCCL.cpp:{source}]"


def _head(group: Group, rank: int) -> str:
    place = group.ranks.index(rank)
    return f"[PG ID {group.local_id} PG GUID {group.guid}({group.name}) Rank {place}]"


def _report_lines(plan: Plan, report: _Report) -> list[_Line]:
    operation, sent, received = _OPERATIONS[report.group.name]
    facts: dict[str, str | int] = {
        "place": report.group.ranks.index(report.rank),
        "head": _head(report.group, report.rank),
        "sequence": report.sequence,
        "completed": report.sequence - 1,
        "operation": operation,
        "sent": sent,
        "received": received,
        "limit": int(plan.params.timeout_seconds * 1000),
        "waited": int(report.waited_seconds * 1000),
    }
    return _c10_lines(plan, report.rank, report.seconds, _TIMED_OUT, facts)


def _signal_lines(
    plan: Plan, timeline: Timeline, rank: int, first: int, told: float
) -> list[_Line]:
    """Return what the monitor of the job's own group says on every rank, the hung one too."""
    hung = plan.incident.rank
    group = default_group(plan)
    stuck_before = hung is not None and (
        rank in tensor_group(hung).ranks or rank in data_group(plan, hung).ranks
    )
    completed = _last_entered(timeline, group) - 1
    facts: dict[str, str | int] = {
        "head": _head(group, rank),
        "origin": "this local rank" if rank == first else f" rank {first}",
        "enqueued": completed if stuck_before else completed + 1,
        "completed": completed,
    }
    at = told + float(stream(plan.seed, f"signal {rank}").uniform(0.0, 0.9))
    return _c10_lines(plan, rank, at, _SIGNALLED, facts)


def _c10_lines(
    plan: Plan,
    rank: int,
    seconds: float,
    templates: tuple[tuple[int, str], ...],
    facts: Mapping[str, str | int],
) -> list[_Line]:
    """Return the filled templates as one rank writes them, a moment apart."""
    lines: list[_Line] = []
    for turn, (source, template) in enumerate(templates):
        at = seconds + turn * _BETWEEN_LINES_SECONDS
        text = f"{_stamp(plan, rank, at, source)} {template.format_map(facts)}"
        lines.append((at, rank // GPUS_PER_NODE, text))
    return lines


def _exit_lines(plan: Plan, hung: int, at: float) -> list[_Line]:
    """Return what torchrun says of its processes: aborted by their watchdogs, the hung killed."""
    lines: list[_Line] = []
    for rank in range(plan.machine.ranks):
        node, local = rank // GPUS_PER_NODE, rank % GPUS_PER_NODE
        clock = EPOCH_SECONDS + at + float(plan.machine.clock_offsets[node])
        stamp = datetime.fromtimestamp(round(clock, 3), tz=UTC).strftime("%m%d %H:%M:%S.%f")
        code = -9 if rank == hung else -6
        text = (
            f"E{stamp} {_AGENT_PROCESS} torch/distributed/elastic/multiprocessing/api.py:897] "
            f"failed (exitcode: {code}) local_rank: {local} "
            f"(pid: {plan.machine.process_ids[rank]}) of binary: /usr/bin/python3"
        )
        lines.append((at, node, text))
    return lines
