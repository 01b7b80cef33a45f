"""Leave out what no counter said: rows of zeros between good readings, and rows served again.

Source: fabric reference, sections 5.2 and 5.4. An agent whose cache is empty answers zeros for
everything; an agent that is asked too often answers the same again. Neither is growth, and neither
is a time without errors.
"""

from typing import Final

import polars as pl

_ROW: Final = ("port_number", "time")


def without_bad_readings(readings: pl.LazyFrame) -> pl.LazyFrame:
    """Return the readings without rows of zeros and rows that are stale.

    Args:
        readings: Counters of ports, one row a counter and time, with the numbers `entity` of
            counters and `port_number` of ports; sorted by entity and time. A null value is a
            counter at its top.

    Returns:
        The same rows, less those of a port and time at which all counters read 0 between larger
        ones, and those at which an active port repeats all counters, traffic included.
    """
    return readings.pipe(_without_zeros).pipe(_without_repeats)


def _without_zeros(readings: pl.LazyFrame) -> pl.LazyFrame:
    value = pl.col("value")
    some = pl.when(value != 0).then(value)
    return (
        readings.with_columns(
            last=some.shift(1).forward_fill().over("entity"),
            next=some.shift(-1).backward_fill().over("entity"),
        )
        .with_columns(
            empty=(value == 0).fill_null(value=False).all().over(_ROW),
            had=(pl.col("last") > 0).fill_null(value=False).any().over(_ROW),
            back=((pl.col("next") >= pl.col("last")) | pl.col("last").is_null())
            .fill_null(value=False)
            .all()
            .over(_ROW),
        )
        .filter(~(pl.col("empty") & pl.col("had") & pl.col("back")))
        .drop("last", "next", "empty", "had", "back")
    )


def _without_repeats(readings: pl.LazyFrame) -> pl.LazyFrame:
    value = pl.col("value")
    is_traffic = pl.col("signal").str.ends_with("_bytes_total")
    traffic = pl.when(is_traffic).then(value)
    moved = (traffic.max() > traffic.min()).over("entity")
    return (
        readings.with_columns(
            same=(value == value.shift(1).over("entity")) | value.is_null(),
            alive=moved.fill_null(value=False),
        )
        .with_columns(
            same=pl.col("same").fill_null(value=False).all().over(_ROW),
            alive=pl.col("alive").any().over(_ROW),
        )
        .filter(~(pl.col("same") & pl.col("alive")))
        .drop("same", "alive")
    )
