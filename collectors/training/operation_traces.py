"""Read operation traces of training workers: one row an operation of a tensor-parallel leader.

Source: the parquet layout of ByteDance-Seed/StragglerAnalysis (formats of progress streams,
section 13.3). Sampled steps only: step numbers have holes. Times are seconds from the step's start.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.readings import Reading, reading_of

_COLUMNS: Final = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration")

_OPTIONAL: Final = {"seq_id": "sequence", "mc": "chunk", "mb_id": "micro_batch"}
"""Columns that may be missing, with our names."""

FAMILIES: Final = {
    "compute": ("forward-compute", "backward-compute"),
    "optimizer": ("optimizer", "optimizer-clip-main-grad"),
    "comm": (
        "forward-send",
        "forward-recv",
        "backward-send",
        "backward-recv",
        "params-all-gather",
        "grads-reduce-scatter",
        "layernorm-grads-all-reduce",
        "embedding-grads-all-reduce",
    ),
    "host": ("gc",),
}
"""What each operation keeps busy: the GPU, the network, or the Python process."""

_FAMILY_OF: Final = {name: family for family, names in FAMILIES.items() for name in names}


def is_operation_trace(schema: Mapping[str, pl.DataType]) -> bool:
    """Return whether columns are those of a trace."""
    return all(name in schema for name in _COLUMNS)


def read_operation_frame(trace: pl.LazyFrame, source: str) -> Reading:
    """Return the operations in a trace.

    Args:
        trace: With the columns of a trace, whatever their types.
        source: The name to quote.

    Returns:
        `OPS` in the file's order. The source's -1 (does not apply) is null, an operation without
        a start or a duration has no end, and one of an unknown kind has no family.
    """
    ops = trace.select(_ops_of(trace.collect_schema())).collect()
    return reading_of(ops=ops.with_columns(source=pl.lit(source)))


def _ops_of(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    operation = pl.col("optype").cast(pl.String)
    start = pl.col("start_ts").cast(pl.Float64, strict=False)
    spent = pl.col("duration").cast(pl.Float64, strict=False)
    renamed = {"dp_rank": "dp", "stage": "pp", "rank": "rank", **_OPTIONAL}
    return [
        pl.col("step").cast(pl.Int64, strict=False),
        *(_index(name).alias(ours) for name, ours in renamed.items() if name in schema),
        operation.alias("operation"),
        operation.replace_strict(_FAMILY_OF, default=None, return_dtype=pl.String).alias("family"),
        start.alias("start_seconds"),
        (start + spent).alias("end_seconds"),
    ]


def _index(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Int64, strict=False)
    return pl.when(number >= 0).then(number)
