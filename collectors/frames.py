"""The frames that travel through the house: their schemas, and the one check at each door.

Long and narrow; UTC microseconds; base units as Prometheus has them; null means not known. A
reader fills a `Reading` (see `collectors.readings`) with these frames, a detector takes them.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

TIME: Final = pl.Datetime("us", "UTC")

LABEL: Final = pl.Struct({"key": pl.String, "value": pl.String})
"""One named thing more that a source says: a metric's label, an attribute of an event."""


def schema_of(columns: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.Schema:
    """Return the schema of the given columns, in their order."""
    return pl.Schema(columns)


SAMPLES: Final = schema_of(
    {
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "index": pl.Int32,
        "model": pl.String,
        "run": pl.String,
        "signal": pl.String,
        "value": pl.Float64,
        "exact": pl.UInt64,
        "wraps_at": pl.Float64,
        "reason": pl.String,
        "source": pl.String,
    }
)
"""One measured value. `device_kind`: gpu, nic, switch_port, disk, cpu, node; a lane, priority or
queue of a port is a device of its own (`lane`, `eth4/lane2`). `device` is canonical (see
`collectors.identity`); `index` is the number the source gave it, for people. `value` is null when
the source answered without one and `reason` says why (blank, not_supported, out_of_range ...).
`exact` is a count that float64 cannot hold, null where `value` is exact. `wraps_at` is the count at
which a counter starts again from 0: infinite if it stops at its top instead, null if not known.
"""

STEPS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "rank": pl.Int32,
        "host": pl.String,
        "step": pl.Int64,
        "interval_steps": pl.Int32,
        "end_time": TIME,
        "step_seconds": pl.Float64,
        "time_kind": pl.String,
        "data_seconds": pl.Float64,
        "compute_seconds": pl.Float64,
        "forward_seconds": pl.Float64,
        "backward_seconds": pl.Float64,
        "comm_seconds": pl.Float64,
        "optimizer_seconds": pl.Float64,
        "checkpoint_seconds": pl.Float64,
        "loss": pl.Float64,
        "loss_state": pl.String,
        "grad_norm": pl.Float64,
        "tokens": pl.Float64,
        "samples": pl.Float64,
        "skipped_steps": pl.Int32,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""One report of progress. `rank` is null when the line speaks for the whole job. `step_seconds` is
per step, over the `interval_steps` steps that end at `step`. `time_kind`: single_step,
interval_mean, window_mean, running_mean_since_start, cumulative, arrival (an unlabelled clock).
`forward_seconds` and `backward_seconds` are in `compute_seconds`; a backward pass that holds the
wait for other ranks is null.
`loss_state`: printed, not_printed, all_skipped (no step of the interval was taken), not_owned (a
stage without the loss); null where none was asked for. `tokens` and `samples` are per step.
`position` is the line of the source, null where it has none.
"""

OPS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "step": pl.Int64,
        "rank": pl.Int32,
        "dp": pl.Int32,
        "pp": pl.Int32,
        "operation": pl.String,
        "family": pl.String,
        "start_seconds": pl.Float64,
        "end_seconds": pl.Float64,
        "sequence": pl.Int64,
        "chunk": pl.Int32,
        "micro_batch": pl.Int32,
        "source": pl.String,
    }
)
"""One traced operation of a worker; times count from the step's start. `family`: compute, comm,
optimizer (clipping waits for all ranks, so it is no compute), host."""

COLLECTIVES: Final = schema_of(
    {
        "run": pl.String,
        "host": pl.String,
        "rank": pl.Int32,
        "group": pl.String,
        "group_name": pl.String,
        "group_rank": pl.Int32,
        "group_ranks": pl.List(pl.Int32),
        "sequence": pl.Int64,
        "operation": pl.String,
        "input_count": pl.Int64,
        "output_count": pl.Int64,
        "state": pl.String,
        "enqueued": pl.Int64,
        "completed": pl.Int64,
        "timeout_seconds": pl.Float64,
        "running_seconds": pl.Float64,
        "time": TIME,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""What one rank says of one collective. `rank` is global, `group_rank` counts inside the group;
neither is ever read as the other. `state`: timed_out, failed, signalled, called (nobody follows it
to its end), scheduled, started, completed, reported; `launched` and `missing` are what RAS tells,
`open` what a profiler's trace leaves open; `configured` and `unmapped` are a dump's groups until
`flight_groups` has joined them. `enqueued` and `completed` are the group's last sequence numbers on
that rank; null is not known.
"""

TRANSFERS: Final = schema_of(
    {
        "run": pl.String,
        "host": pl.String,
        "rank": pl.Int32,
        "group": pl.String,
        "world": pl.Int32,
        "nodes": pl.Int32,
        "operation": pl.String,
        "sequence": pl.Int64,
        "peer_rank": pl.Int32,
        "bytes": pl.Int64,
        "seconds": pl.Float64,
        "algorithm_bytes_per_second": pl.Float64,
        "bus_bytes_per_second": pl.Float64,
        "wrong_count": pl.Int64,
        "timing": pl.String,
        "variant": pl.String,
        "time": TIME,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""One timed communication: an operation of `bytes` among `world` ranks on `nodes` hosts. A row of a
benchmark speaks for all ranks, so `rank` is null; one of a profiler is what one rank saw, whose
wait for the others is in `seconds` and whose `rank` and `peer_rank` count in `group`; a benchmark's
`group` is its hosts with `+` between. `timing` says who measured (kernel_gpu, kernel_cpu,
collective_cpu, wall): figures of two kinds are never compared. `variant` is what else sets rows
apart (`in_place`, the algorithm); `wrong_count` is elements that came out wrong, null if nobody
checked."""

EVENTS: Final = schema_of(
    {
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "rank": pl.Int32,
        "run": pl.String,
        "kind": pl.String,
        "code": pl.String,
        "severity": pl.String,
        "peer": pl.String,
        "count": pl.Int32,
        "last": TIME,
        "message": pl.String,
        "attributes": pl.List(LABEL),
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""Something that happened. `kind` is ours: of jobs (run_start, run_end, restart, rendezvous, oom,
traceback, process_exit, job_cancelled, job_step), training (evaluation, checkpoint, from_scratch,
loss_scale, open_span), checks of results (checksum, replica_match, replica_mismatch,
result_check), communication (net_error, comm_start, channel, setting, rank_missing,
benchmark_end, data_corruption), opinions of tools (perf_score, straggler_report), GPUs (xid, sxid,
gpu_lost, gpu_error, gpu_health, gpu_row_remap, gpu_recovery_action, ecc), hosts (boot, node_state,
node_failure, pcie_error, memory_error), repairs (part_removed, part_installed, part_swap, repair;
the part is `device`, what came instead `peer`), links (link_down, link_up), readers
(collector_failed, warning), and more. `peer` is the other end, if named; `count` is how many equal
lines it stands for, `last` the time of the last, null for one; `attributes` what else it says."""

JOBS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "name": pl.String,
        "user": pl.String,
        "state": pl.String,
        "flags": pl.List(pl.String),
        "submit": TIME,
        "start": TIME,
        "end": TIME,
        "elapsed_seconds": pl.Float64,
        "cpu_seconds": pl.Float64,
        "hosts": pl.List(pl.String),
        "world": pl.Int32,
        "gpus": pl.Int32,
        "exit": pl.String,
        "reason": pl.String,
        "source": pl.String,
    }
)
"""One attempt of a run as its launcher or scheduler tells it. `start` and `end` are null until they
happen: a planned start is none. `world` is how many ranks it has, `gpus` how many GPUs the
scheduler gave it. `elapsed_seconds` is the scheduler's own count and wins over the
difference of two local stamps. `flags` are the state's additions (DRAIN) and what reading took
(rejoined); null if none."""

PLACEMENTS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "rank": pl.Int32,
        "host": pl.String,
        "gpu": pl.String,
        "index": pl.Int32,
        "dp": pl.Int32,
        "pp": pl.Int32,
        "tp": pl.Int32,
        "ep": pl.Int32,
        "source": pl.String,
    }
)
"""Where a rank runs and which part it plays; `gpu` is a canonical device, `index` its number."""

LINKS: Final = schema_of(
    {
        "time": TIME,
        "node_a": pl.String,
        "port_a": pl.String,
        "node_b": pl.String,
        "port_b": pl.String,
        "rail": pl.Int32,
        "source": pl.String,
    }
)
"""One cable, named once: the ends are in alphabetical order of (node, port). `time` is when the
source saw it, null if it does not say: cables move."""

ALIASES: Final = schema_of(
    {
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "alias_kind": pl.String,
        "alias": pl.String,
        "source": pl.String,
    }
)
"""One statement that a device has a further name: `alias` in its canonical spelling, `alias_kind`
one of uuid, pci, index, minor, rdma, netdev, guid, lid, label, name, pod, ip. `device_kind` node
speaks of the host itself, whose `device` is null. `time` is when the source said so, null if it
does not tell: names move."""

REJECTS: Final = schema_of(
    {
        "source": pl.String,
        "position": pl.Int64,
        "text": pl.String,
        "reason": pl.String,
        "count": pl.Int64,
    }
)
"""Input lines or records that became nothing else. `position` is a line number from 1, or null
when the whole file is meant; `text` is cut to 200 characters. `count` is for how many lines the row
stands, the first of which it shows; null is one."""

COVERAGE: Final = schema_of(
    {
        "entity": pl.String,
        "signal": pl.String,
        "start": TIME,
        "end": TIME,
        "seen": pl.Int64,
        "expected": pl.Int64,
        "source": pl.String,
    }
)
"""How much of what was due arrived, by entity and signal, over [start, end)."""


class SchemaError(TypeError):
    """A frame is not what the door asks for."""


def require(frame: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Return the columns of `schema`, after checking that each is there with its type.

    Args:
        frame: Any frame; columns beside the schema's are left out of the result.
        schema: One of the constants above, or any other schema.

    Returns:
        `frame` with exactly the schema's columns, in its order.

    Raises:
        SchemaError: A column is missing or has another type; the message lists both sides.
    """
    found = frame.collect_schema()
    wrong = [
        f"{name}: wanted {kind}, found {found.get(name, 'nothing')}"
        for name, kind in schema.items()
        if found.get(name) != kind
    ]
    if wrong:
        raise SchemaError(
            f"columns do not fit: {'; '.join(wrong)}. The frame has {dict(found)}; "
            "see collectors/frames.py for the schemas"
        )
    return frame.select(schema.names())


def conform(frame: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Return `frame` as `schema`: missing columns become null, others are cast, extras go.

    Args:
        frame: What a reader has; any subset of the schema's columns.
        schema: The schema to fill.

    Returns:
        Exactly the schema's columns, in its order; a value that its type cannot hold is null.
    """
    found = frame.collect_schema()
    return frame.select(
        (pl.col(name) if name in found else pl.lit(None)).cast(kind, strict=False).alias(name)
        for name, kind in schema.items()
    )
