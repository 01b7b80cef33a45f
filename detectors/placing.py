"""Who a rank is: its place in the machine and its part in the job, joined to what it reports."""

from typing import Final

import polars as pl

from collectors.frames import PLACEMENTS, require, schema_of

ROLES: Final = schema_of(
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
        "model": pl.String,
    }
)
"""One row a rank of an attempt. `gpu` is a canonical device, `index` its number on the host,
`model` its product name; coordinates that the job did not state are null."""


def rank_roles(placements: pl.LazyFrame, samples: pl.LazyFrame) -> pl.LazyFrame:
    """Return `ROLES` from placements and the models that device telemetry names.

    Args:
        placements: `PLACEMENTS`; several rows of one rank are merged, the known value wins.
        samples: `SAMPLES`, for the model of each GPU; may be empty.

    Returns:
        `ROLES`, by run, attempt and rank; number and model are known by either name of its GPU. A
        rank whose GPU no telemetry names has a null model; an index that was several GPUs names
        none.
    """
    known = samples.filter(pl.col("device_kind") == "gpu").drop_nulls("model")
    models = (
        known.group_by("host", "index")
        .agg(pl.col("model").min(), pl.col("device").unique())
        .with_columns(
            device=pl.when(pl.col("device").list.len() == 1).then(pl.col("device").list.first())
        )
    )
    keys = ["run", "attempt", "rank"]
    by_device = known.group_by("host", "device").agg(
        pl.col("model").min().alias("model_told"), pl.col("index").min().alias("index_told")
    )
    names = [name for name in ROLES.names() if name not in {*keys, "model"}]
    return (
        placements.pipe(require, PLACEMENTS)
        .drop_nulls("rank")
        .group_by(keys)
        .agg(pl.col(name).drop_nulls().sort().first() for name in names)
        .join(models, on=["host", "index"], how="left", nulls_equal=False)
        .join(by_device, left_on=["host", "gpu"], right_on=["host", "device"], how="left")
        .with_columns(
            gpu=pl.coalesce("gpu", "device"),
            index=pl.coalesce("index", "index_told"),
            model=pl.coalesce("model", "model_told"),
        )
        .select(ROLES.names())
        .sort(keys)
    )
