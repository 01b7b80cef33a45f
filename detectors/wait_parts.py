"""Split what stands into hangs that have nothing to do with each other.

Source: methods of the NCCL and PyTorch reference, section 12.3: waits are edges between ranks, and
groups that share no rank, over however many others, are parts of no common chain.
"""

from typing import Final

import polars as pl

_GROUP: Final = ("run", "scope", "group")

_RANK: Final = ("run", "scope", "rank")


def wait_parts(standing: pl.DataFrame) -> pl.DataFrame:
    """Return `run`, `scope`, `group` and `part`: groups that share ranks have the same number.

    Args:
        standing: Rows of `detectors.waits.places`.
    """
    number = pl.struct(_GROUP).rank("dense").cast(pl.Int64)
    links = standing.select(*_GROUP, "rank").unique().with_columns(part=number)
    while True:
        joined = links.with_columns(pl.col("part").min().over(_RANK)).with_columns(
            pl.col("part").min().over(_GROUP)
        )
        if joined["part"].equals(links["part"]):
            return links.select(*_GROUP, "part").unique()
        links = joined
