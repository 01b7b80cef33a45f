"""Turn the spans of one rank's trace into its steps and timed collectives.

Source: formats of progress streams, section 13.2. Kernels run after they were launched: a step of
the GPU is where its own annotation says, else where the host's does. Kernels of several streams
overlap, so that time in which any of them ran is counted once. A GPU that runs nothing waits for
its host, which is late with its input as a rule: the rank that comes last need not compute longer.
Where nothing but collectives was traced, the rest of a step is all that it did before it waited.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

SPANS: Final = schema_of(
    {
        "kind": pl.String,
        "step": pl.Int64,
        "start": pl.Float64,
        "seconds": pl.Float64,
        "time": TIME,
    }
)
"""One span: kind is step, gpu_step, data, kernel or nccl; `start` in microseconds of some clock."""

_SIZES: Final = {
    "float": 4,
    "float32": 4,
    "int": 4,
    "int32": 4,
    "bfloat16": 2,
    "half": 2,
    "float16": 2,
    "double": 8,
    "float64": 8,
    "long": 8,
    "int64": 8,
    "byte": 1,
    "char": 1,
    "uint8": 1,
    "int8": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
"""Bytes of one element. Source: names of `c10::ScalarType`."""

_NAMES: Final = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "_allgather_base": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "_reduce_scatter_base": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "send": "Send",
    "recv": "Recv",
    "all_to_all": "AlltoAll",
    "all_to_allv": "AlltoAll",
}
"""PyTorch's names of collectives, in NCCL's spelling."""

_BY_KERNEL: Final = r"(?i)^nccl(?:Dev)?Kernel_([A-Za-z]+)"


def steps_of_spans(spans: pl.DataFrame, *, torn: bool) -> pl.DataFrame:
    """Return `STEPS` without rank, host and source, by step.

    Args:
        spans: `SPANS` of one rank. A kernel before the first step belongs to none.
        torn: Whether the trace ends too early: from the last step on that has a kernel, how long
            kernels ran is not known.
    """
    on_host, on_gpu = _marked(spans, "step"), _marked(spans, "gpu_step")
    steps = on_host if on_host.height else on_gpu
    begins = on_gpu if on_gpu.height >= steps.height else steps
    parts = {
        "loading": _busy(spans, ("data",), steps),
        "gpu": _busy(spans, ("kernel", "nccl"), begins),
        "compute_seconds": _busy(spans, ("kernel",), begins),
        "comm_seconds": _busy(spans, ("nccl",), begins),
    }
    whole = _with_parts(steps, parts, torn=torn)
    kernels = spans["kind"].is_in(["kernel"]).any()
    rest = (pl.col("seconds") - pl.col("gpu")).clip(lower_bound=0.0)
    return whole.select(
        "step",
        "comm_seconds",
        compute_seconds="compute_seconds" if kernels else rest,
        data_seconds=pl.max_horizontal("loading", rest) if kernels else "loading",
        step_seconds="seconds",
        end_time=pl.col("time") + pl.duration(microseconds=pl.col("seconds") * 1e6),
        time_kind=pl.lit("single_step"),
        interval_steps=pl.lit(1),
    )


def _with_parts(
    steps: pl.DataFrame, parts: Mapping[str, pl.DataFrame], *, torn: bool
) -> pl.DataFrame:
    """Return steps with how long each part ran: 0 where it did not, null where nothing tells."""
    whole = steps
    for name, part in parts.items():
        known = part.filter(pl.col("step") < pl.col("step").max()) if torn else part
        joined = whole.join(known.rename({"busy": name}), on="step", how="left")
        is_whole = part.height > 0 and not torn
        whole = joined.with_columns(pl.col(name).fill_null(0.0) if is_whole else pl.col(name))
    return whole


def _marked(spans: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the steps as the host's or the GPU's annotations tell them, in order of time."""
    return (
        spans.filter(pl.col("kind") == kind)
        .group_by("step")
        .agg(pl.col("start").min(), pl.col("seconds").max(), pl.col("time").min())
        .sort("start", "step")
    )


def _busy(spans: pl.DataFrame, kinds: tuple[str, ...], begins: pl.DataFrame) -> pl.DataFrame:
    """Return `step` and `busy`, the seconds of a step in which any span of the kinds ran."""
    end = pl.col("start") + pl.col("seconds") * 1e6
    before = pl.col("end").cum_max().shift(1).over("step")
    return (
        spans.filter(pl.col("kind").is_in(kinds))
        .drop("step")
        .sort("start")
        .with_columns(end=end)
        .join_asof(begins.select("start", "step"), on="start")
        .drop_nulls("step")
        .with_columns(fresh=pl.col("end") - pl.max_horizontal("start", before))
        .group_by("step")
        .agg(busy=pl.col("fresh").clip(lower_bound=0.0).sum() / 1e6)
    )


def transfers_of_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Return `TRANSFERS` without rank, host and source: one row an NCCL kernel, in order of time.

    Args:
        spans: `SPANS`, with `operation`, `group`, `world`, `sequence`, `elements` and `datatype`;
            null is not told. `operation` may be the kernel's name.
    """
    size = (
        pl.col("datatype")
        .str.to_lowercase()
        .replace_strict(_SIZES, default=None, return_dtype=pl.Int64)
    )
    by_kernel = pl.col("operation").str.extract(_BY_KERNEL)
    return (
        spans.filter(pl.col("kind") == "nccl")
        .sort("start")
        .select(
            "group",
            "world",
            "sequence",
            "seconds",
            "time",
            operation=by_kernel.fill_null(pl.col("operation").replace(_NAMES)),
            bytes=pl.col("elements") * size,
            timing=pl.lit("kernel_gpu"),
        )
    )
