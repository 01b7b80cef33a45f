"""Which checkpoint is from before a fault: the advice that findings on numbers end with.

Source: progress reference, section 1.4: only a line that says a save succeeded proves it; a
checkpoint of the faulty step, or of a later one, holds the fault.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, require, schema_of
from collectors.texts.event_labels import label_value

SAVES: Final = schema_of({"run": pl.String, "step": pl.Int64})
"""One row a save that is proven, of any attempt."""


def proven_saves(events: pl.LazyFrame) -> pl.DataFrame:
    """Return `SAVES`.

    Args:
        events: `EVENTS`; of kind checkpoint the code, else the attribute `step`, is the step.

    Raises:
        SchemaError: `events` is not an `EVENTS`.
    """
    told = [one.cast(pl.Int64, strict=False) for one in (pl.col("code"), label_value("step"))]
    return (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == "checkpoint")
        .select("run", step=pl.coalesce(*told))
        .drop_nulls("step")
        .unique()
        .sort("run", "step", nulls_last=True)
        .collect()
    )


def restore_words(saves: pl.DataFrame, run: str | None, step: int) -> str:
    """Return which checkpoint to go back to.

    Args:
        saves: `SAVES`.
        run: The run that is hurt.
        step: The first step that may be hurt.
    """
    mine = pl.col("run").eq_missing(pl.lit(run, dtype=pl.String))
    older = saves.filter(mine, pl.col("step") < step)["step"].sort().to_list()
    if not older:
        return f"restore the last checkpoint from before step {step}"
    return f"restore the checkpoint of step {older[-1]}, the last from before step {step}"
