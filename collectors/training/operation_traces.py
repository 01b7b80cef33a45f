"""Read operation traces of training workers: one row an operation of a tensor-parallel leader.

Source: the parquet layout of ByteDance-Seed/StragglerAnalysis (formats of progress streams,
section 13.3). Sampled steps only: step numbers have holes. Times are seconds from the step's start.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import Reading, reading_of, reject_file
from collectors.sniffing import Head, ReadOptions

_PARQUET_MAGIC: Final = b"PAR1"

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


def wants_operation_traces(head: Head) -> float:
    """Return how sure it is that a head is a trace: only the footer names the columns."""
    return 0.5 if head.data.startswith(_PARQUET_MAGIC) else 0.0


def read_operation_traces(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the operations in a parquet trace.

    Args:
        path: The file.
        source: The name to quote.

    Returns:
        `OPS` in the file's order. The source's -1 (does not apply) is null, an operation without
        a start or a duration has no end, and one of an unknown kind has no family. A parquet file
        without the columns of a trace is one reject.

    Raises:
        OSError: The file cannot be read.
    """
    content = io.BytesIO(path.read_bytes())
    try:
        schema = pl.read_parquet_schema(content)
        missing = [name for name in _COLUMNS if name not in schema]
        if missing:
            return reject_file(source, f"parquet without the trace columns {missing}")
        trace = pl.scan_parquet(content).select(_ops_of(schema)).collect()
    except (pl.exceptions.PolarsError, OverflowError) as error:
        return reject_file(source, f"broken parquet: {type(error).__name__}")
    return reading_of(ops=trace.with_columns(source=pl.lit(source)))


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
