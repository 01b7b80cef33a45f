"""Read series of metrics by step, as Megatron's functional tests keep them.

Source: NVIDIA/Megatron-LM tests/functional_tests (golden values): a JSON object of metrics, each
with its first step, the steps between values, and the values, by step or in a list. Times are in
seconds; there is no clock.
"""

import json
import re
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from collectors.readings import Reading, count_lines, reading_of, reject_file
from collectors.sniffing import Head, ReadOptions

_SIGN: Final = re.compile(
    r'^\s*\{\s*"[^"]+"\s*:\s*\{\s*"start_step"\s*:\s*\d+\s*,\s*"end_step"\s*:\s*\d+\s*,'
    r'\s*"step_interval"\s*:\s*\d+'
)

_COLUMNS: Final = {
    "iteration-time": "step_seconds",
    "iteration_timing_avg": "step_seconds",
    "lm loss": "loss",
    "grad-norm": "grad_norm",
    "batch-size": "samples",
}
"""Our column of a metric; any other shows progress alone."""


def wants_megatron_series(head: Head) -> float:
    """Return how sure it is that a head begins such an object."""
    return 0.97 if _SIGN.match(head.text) else 0.0


def read_megatron_series(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps of a file of series.

    Args:
        path: The file.
        source: The name to quote.

    Returns:
        `STEPS` of the whole job, `single_step`, one row a step of which any series has a number: a
        step where all are NaN was not reached. A file that is no such object is one reject.

    Raises:
        OSError: The file cannot be read.
    """
    text = path.read_bytes().decode("utf-8", errors="replace").removeprefix("\ufeff")
    lines = sum(1 for line in text.split("\n") if line.strip())
    try:
        series = _series(json.loads(text))
    except (ValueError, RecursionError):
        series = []
    if not series:
        return reject_file(source, "no series of metrics by step", text.lstrip(), lines)
    return count_lines(reading_of(steps=_steps_of(series, source)), lines)


def _series(document: object) -> list[pl.DataFrame]:
    """Return `column`, `step` and `value` of each metric; what is no series is left out."""
    if not isinstance(document, dict):
        return []
    metrics = cast("dict[str, object]", document)
    found = (_one(name, told) for name, told in metrics.items())
    return [one for one in found if one is not None]


def _one(name: str, told: object) -> pl.DataFrame | None:
    if not isinstance(told, dict):
        return None
    parts = cast("dict[str, Any]", told)
    values, first, apart = (parts.get(key) for key in ("values", "start_step", "step_interval"))
    if isinstance(values, list) and isinstance(first, int) and isinstance(apart, int):
        many = cast("list[object]", values)
        values = {str(first + at * apart): value for at, value in enumerate(many)}
    if not isinstance(values, dict):
        return None
    by_step = cast("dict[str, object]", values)
    return pl.DataFrame(
        {"step": list(by_step), "value": [str(value) for value in by_step.values()]},
        schema={"step": pl.String, "value": pl.String},
    ).select(
        pl.lit(_COLUMNS.get(name, "other")).alias("column"),
        pl.col("step").cast(pl.Int64, strict=False),
        pl.col("value").str.to_lowercase().cast(pl.Float64, strict=False),
    )


def _steps_of(series: list[pl.DataFrame], source: str) -> pl.DataFrame:
    value = pl.col("value")
    columns = {
        name: value.filter(pl.col("column") == name).drop_nulls().first()
        for name in ("step_seconds", "loss", "grad_norm", "samples")
    }
    told = pl.concat(series).drop_nulls("step").filter(value.is_finite().any().over("step"))
    rows = told.group_by("step").agg(**columns).sort("step")
    seconds = pl.col("step_seconds")
    return rows.with_columns(
        step_seconds=pl.when(seconds.is_finite()).then(seconds),
        interval_steps=pl.lit(1),
        time_kind=pl.when(seconds.is_finite()).then(pl.lit("single_step")),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
        source=pl.lit(source),
    )
