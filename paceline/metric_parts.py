"""Join the steps of a run that lie in several files, a metric each.

Source: formats of progress streams, sections 3 and 12: MLflow's file store and DeepSpeed's CSV
monitor write a file a metric. Each alone knows half of a step.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from collectors.frames import STEPS
from collectors.readings import Reading

_KEY: Final = ("run", "attempt", "step")

_MEASURES: Final = (
    *("data_seconds", "compute_seconds", "forward_seconds", "backward_seconds"),
    *("comm_seconds", "optimizer_seconds"),
    *("checkpoint_seconds", "loss", "grad_norm", "tokens", "samples"),
)

_TIMES: Final = ("step_seconds", "time_kind", "interval_steps")


def join_metric_parts(reading: Reading) -> Reading:
    """Return the reading with one row a step where files hold a metric each.

    Args:
        reading: What was read, with its runs named and attempts numbered. Only files that speak
            for the whole job, tell one metric, and tell it alone in their run, are parts.

    Returns:
        The same steps: of parts one row a step, called after the first of them, a told time before
        one that was read off a clock.
    """
    parts = _parts(reading.steps)
    if parts.is_empty():
        return reading
    is_part = reading.steps.join(parts, on=["run", "source"], how="semi", nulls_equal=True)
    others = reading.steps.join(parts, on=["run", "source"], how="anti", nulls_equal=True)
    return replace(reading, steps=pl.concat([others, _joined(is_part)]))


def _parts(steps: pl.DataFrame) -> pl.DataFrame:
    """Return `run` and `source` of the files that hold a metric that no other one of a run does."""
    told = pl.when(pl.col("time_kind") != "arrival").then("step_seconds")
    measures = [
        pl.when(value.is_not_null().any()).then(pl.lit(name)).first().alias(name)
        for name, value in (("told", told), *((name, pl.col(name)) for name in _MEASURES))
    ]
    whole = pl.col("rank").is_null().all().alias("whole")
    names = [one.meta.output_name() for one in measures]
    found = (
        steps.lazy()
        .group_by("run", "source")
        .agg(whole, *measures)
        .filter("whole", pl.sum_horizontal(pl.col(names).is_not_null()) == 1)
        .with_columns(metric=pl.coalesce(names))
        .filter(pl.len().over("run", "metric") == 1)
        .filter(pl.len().over("run") > 1)
    )
    return found.select("run", "source").collect()


def _joined(steps: pl.DataFrame) -> pl.DataFrame:
    arrived = (pl.col("time_kind") == "arrival").fill_null(value=True)
    others = [name for name in STEPS.names() if name not in {*_KEY, *_TIMES, "end_time"}]
    return (
        steps.sort(*_KEY, arrived, "source", nulls_last=True, maintain_order=True)
        .group_by(_KEY, maintain_order=True)
        .agg(
            pl.col(_TIMES).first(),
            pl.col("end_time").max(),
            pl.col(others).drop_nulls().first(),
        )
        .select(STEPS.names())
    )
