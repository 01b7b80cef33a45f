"""What torchtitan's lines measure beside the step: memory, tokens and flops of the printing rank.

Source: formats of progress streams, section 4. `mfu: N/A` is a device whose peak is not known.
"""

from typing import Final

import polars as pl

from collectors.texts.file_places import file_number

_MEASURES: Final = {
    "rank_memory_used_bytes": ("memory_gibibytes", 2.0**30),
    "rank_memory_used_ratio": ("memory_percent", 1e-2),
    "rank_tokens_per_second": ("rate", 1.0),
    "rank_flops_per_second": ("teraflops", 1e12),
    "rank_flops_ratio": ("flops_percent", 1e-2),
}
"""Our signal: the field that holds it, and the size of its unit in ours."""

_OFTEN_UNKNOWN: Final = "rank_flops_ratio"
"""Told as unknown where no line of a file has a value; other signals are not printed there."""


def read_rank_samples(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what the step lines of torchtitan measure.

    Args:
        rows: Lines with their fields, in order; those without memory are another trainer's.

    Returns:
        `SAMPLES` of device kind `rank`, whose device is the printer's rank, null where it is not
        told. A null value was printed as no value. `source` is the number of the file where it
        is not the first.
    """
    titan = rows.filter(pl.col("memory_gibibytes").is_not_null())
    if titan.is_empty():
        return titan
    rank = pl.col("rank").fill_null(pl.col("printer")) if "printer" in rows.columns else "rank"
    number = pl.when(file_number() > 0).then(file_number())
    parts = [
        titan.select(
            "host",
            "line",
            is_told=pl.col(field).is_not_null().any().over(file_number()),
            source=number.cast(pl.String),
            time="end_time",
            device_kind=pl.lit("rank"),
            device=pl.lit(titan.select(rank).to_series()).cast(pl.String),
            signal=pl.lit(signal),
            value=pl.col(field) * unit,
            reason=pl.when(pl.col(field).is_null()).then(pl.lit("n/a")),
        )
        for signal, (field, unit) in _MEASURES.items()
    ]
    shown = pl.concat(parts).filter(pl.col("is_told") | (pl.col("signal") == _OFTEN_UNKNOWN))
    return shown.sort("line", maintain_order=True).drop("line", "is_told")
