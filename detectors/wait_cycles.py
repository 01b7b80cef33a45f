"""Find groups that wait for each other in a ring: their members call collectives in another order.

Source: methods of the NCCL and PyTorch reference, section 12.3. Where whoever is waited for waits
in another group itself, the chain has no end: nobody is late, the orders of the calls differ.
"""

from typing import Final

import polars as pl

from detectors.hang_words import MAX_QUOTED, collective_title
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict

MAX_LISTED: Final = 8


def cycle_verdict(run: str | None, standing: pl.DataFrame) -> Verdict | None:
    """Return the verdict on a ring of waits; null where somebody is late, unheard or not counted.

    Args:
        run: The run.
        standing: Rows of `detectors.waits.places` of one run and scope.
    """
    late = standing.filter("lags").sort("group", "rank")
    heard = (standing["heard"] == standing["size"]).all()
    waiting = standing.filter(pl.col("place") == "waiting").sort("rank", "group")
    elsewhere = waiting.filter(pl.col("rank").is_in(late["rank"].implode()))
    behind = (late["place"] == "behind").all()
    if late.is_empty() or not heard or not behind:
        return None
    if late["rank"].n_unique() > elsewhere["rank"].n_unique():
        return None
    first = elsewhere.unique("rank", keep="first", maintain_order=True).to_dicts()
    told = [f"rank {row['rank']} waits in {collective_title(row)}" for row in first]
    return Verdict(
        kind="mismatch",
        level="job",
        subject=Subject(run=run),
        cause="order",
        confidence="medium",
        evidence=tuple(
            quoted(row, text) for row, text in zip(first[:MAX_QUOTED], told, strict=False)
        ),
        alternatives=tuple(told[:MAX_LISTED]),
        action="make all ranks call the collectives of these groups in the same order",
        needed="stack traces of these ranks",
    )
