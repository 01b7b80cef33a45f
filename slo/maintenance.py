"""What happened in declared maintenance: excluded from the budget, and listed with its author.

Source: reports to slok/sloth (issue 529) and Kibana (issue 209245). An exclusion forgives no more
than was declared: stretches that overlap are counted once, and a slice only when it lies inside as
a whole.
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME, schema_of
from detectors.panels import Floats
from slo.exclusions import Exclusion
from slo.measurements import Measurement
from slo.objectives import Objective
from slo.promql import MILLISECONDS
from slo.ranges import Ranges
from slo.slice_counts import Spans

EXCLUDED: Final = schema_of(
    {
        "objective": pl.String,
        "start": TIME,
        "end": TIME,
        "author": pl.String,
        "reason": pl.String,
        "bad": pl.Float64,
        "total": pl.Float64,
        "method": pl.String,
    }
)
"""Beside the group labels: one row an exclusion and group, with what it leaves out."""


def excluded_spans(objective: Objective) -> Spans:
    """Return the time that an objective's exclusions cover, each moment once."""
    merged: Spans = []
    for start, end in sorted(_span(each) for each in objective.exclusions):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def seconds_inside(ranges: Ranges, spans: Spans) -> Floats:
    """Return how much of each range lies in the stretches."""
    inside = np.zeros(ranges.at.size, dtype=np.int64)
    for start, end in spans:
        inside += np.maximum(np.minimum(ranges.at, end) - np.maximum(ranges.low, start), 0)
    return inside / float(MILLISECONDS)


def budget_exclusions(measured: Measurement) -> pl.DataFrame:
    """Return what each exclusion leaves out, up to the last evaluation.

    Args:
        measured: The objective over its series.

    Returns:
        The group labels and `EXCLUDED`, by group and time.
    """
    objective = measured.objective
    last = measured.at[-1:]
    rows = [_excluded(measured, each, last) for each in objective.exclusions if last.size]
    empty = measured.indicator.groups.clear().select(*objective.group_labels)
    schema = pl.DataFrame(schema=EXCLUDED)
    return (
        pl.concat([pl.concat([empty, schema], how="horizontal"), *rows])
        .sort(*objective.group_labels, "start", "end", "author")
        .select(*objective.group_labels, *EXCLUDED.names())
    )


def _excluded(measured: Measurement, exclusion: Exclusion, last: np.ndarray) -> pl.DataFrame:
    """Return what one exclusion leaves out in each group."""
    objective = measured.objective
    start, end = _span(exclusion)
    semantics = measured.view.semantics
    ranges = Ranges(low=np.minimum(last, start), at=last, seconds=1, semantics=semantics)
    bad, total = measured.excluded(ranges, [(start, end)])
    return measured.indicator.groups.select(*objective.group_labels).with_columns(
        objective=pl.lit(objective.name),
        start=pl.lit(exclusion.start, dtype=TIME),
        end=pl.lit(exclusion.end, dtype=TIME),
        author=pl.lit(exclusion.author),
        reason=pl.lit(exclusion.reason),
        bad=pl.lit(pl.Series(bad[:, 0])),
        total=pl.lit(pl.Series(total[:, 0])),
        method=pl.lit(objective.method.value),
    )


def _span(exclusion: Exclusion) -> tuple[int, int]:
    """Return an exclusion in milliseconds."""
    return _milliseconds(exclusion.start), _milliseconds(exclusion.end)


def _milliseconds(moment: datetime) -> int:
    """Return a moment in milliseconds since the epoch."""
    return round(moment.timestamp() * MILLISECONDS)
