"""Alerts of an objective over long histories of many groups, in bounded memory.

Source: The Site Reliability Workbook, chapter 5. What `burn_rates` and `burn_alerts` say of every
evaluation is said here of the firings only: windows are counted for all evaluations of a batch of
groups at once, and rows are made of those cells in which both windows of a pair exceed.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME, schema_of
from detectors.panels import Bools, Floats, Ints
from slo.alert_states import burn_alerts
from slo.burns import BURNS, Burning
from slo.growth import BurnParams
from slo.measurements import Cells, Counts, Measurement
from slo.objectives import Objective
from slo.promql import MILLISECONDS
from slo.windows import BurnWindow

PEAKS: Final = schema_of(
    {
        "objective": pl.String,
        "window_seconds": pl.Int64,
        "burn_rate": pl.Float64,
        "time": TIME,
    }
)
"""Beside the group labels: the highest burn rate of each group over each window, and when it was
first reached. No row for a group without traffic. Little history is not held back here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnHistory:
    """What an objective did over a history.

    Attributes:
        alerts: The group labels and `BURN_ALERTS`: every firing.
        burns: The group labels and `BURNS`: what each firing rested on when it fired.
        budgets: The group labels and `BUDGETS`, at the last evaluation.
        peaks: The group labels and `PEAKS`.
    """

    alerts: pl.DataFrame
    burns: pl.DataFrame
    budgets: pl.DataFrame
    peaks: pl.DataFrame


def burn_history(
    batches: Iterable[pl.DataFrame],
    objective: Objective,
    times: pl.Series,
    params: BurnParams,
    *,
    workers: int = 1,
) -> BurnHistory:
    """Return the firings of an objective, and what it had left in the end.

    Args:
        batches: Series as for `burn_rates`, some groups at a time: a group is whole in one batch.
            So many are in memory at once as there are workers, and one more.
        objective: What is promised.
        times: Evaluation times, `TIME`.
        params: Arithmetic and mode.
        workers: Batches that are worked on at the same time.

    Returns:
        By group, as if all batches had been one.

    Raises:
        MissingColumnError: A batch lacks a column that the objective asks for.
        DuplicateSampleError: A series has two different values at one time.
    """
    work = partial(_of_batch, objective=objective, times=times, params=params)
    found = list(_worked(batches, work, workers)) or [work(_nothing(objective))]
    labels = list(objective.group_labels)
    pair = ["severity", "long_seconds", "short_seconds"]
    return BurnHistory(
        alerts=pl.concat([each.alerts for each in found]).sort(*labels, *pair, "fired_at"),
        burns=pl.concat([each.burns for each in found]).sort(*labels, *pair, "time"),
        budgets=pl.concat([each.budgets for each in found]).sort(*labels, "time"),
        peaks=pl.concat([each.peaks for each in found]).sort(*labels, "window_seconds"),
    )


def group_batches(
    series: pl.LazyFrame, objective: Objective, *, groups_at_once: int
) -> Iterator[pl.DataFrame]:
    """Give the series of an objective some groups at a time.

    Args:
        series: As for `burn_rates`, for example a scan of Parquet or Delta files. Where those are
            partitioned or sorted by group, only the files and row groups of a batch are read.
        objective: Whose groups; without group labels there is one batch.
        groups_at_once: Groups of a batch; memory grows with them.

    Raises:
        TooManyGroupsError: There are more groups than the objective allows.
    """
    labels = list(objective.group_labels)
    if not labels:
        yield series.collect()
        return
    groups = series.select(labels).unique().collect(engine="streaming").sort(labels)
    objective.refuse_many(groups.height)
    for batch in groups.iter_slices(groups_at_once):
        first = labels[0]
        told = pl.col(first).is_in(batch[first].unique().implode(), nulls_equal=True)
        rows = series.filter(told)
        if len(labels) > 1:
            rows = rows.join(batch.lazy(), on=labels, how="semi", nulls_equal=True)
        yield rows.collect()


def _worked(
    batches: Iterable[pl.DataFrame], work: Callable[[pl.DataFrame], BurnHistory], workers: int
) -> Iterator[BurnHistory]:
    """Give what is made of each batch, in their order; no more are read than are worked on."""
    with ThreadPoolExecutor(workers) as pool:
        pending: deque[Future[BurnHistory]] = deque()
        for batch in batches:
            pending.append(pool.submit(work, batch))
            if len(pending) >= workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _nothing(objective: Objective) -> pl.DataFrame:
    """Return no series at all."""
    labels = dict.fromkeys(["metric", *objective.group_labels], pl.String)
    return pl.DataFrame(schema={**labels, "time": TIME, "value": pl.Float64})


def _of_batch(
    series: pl.DataFrame, objective: Objective, times: pl.Series, params: BurnParams
) -> BurnHistory:
    """Return what some groups did."""
    burning = Burning(Measurement(series, objective, times, params.view), params)
    ratios = {each: _ratio(burning.counts(each)) for each in objective.window_seconds}
    fires = [
        burning.rows(window, _exceeding(burning, window, ratios)).filter("fires")
        for window in objective.windows
    ]
    burns = pl.concat(fires).select(*objective.group_labels, *BURNS.names())
    alerts = burn_alerts(burns, objective, times)
    key = [*objective.group_labels, "severity", "long_seconds", "short_seconds"]
    at_firing = alerts.select(*key, time="fired_at")
    return BurnHistory(
        alerts=alerts,
        burns=burns.join(at_firing, on=[*key, "time"], how="semi", nulls_equal=True),
        budgets=burning.budget.rows(_last(burning.measured)),
        peaks=_peaks(burning, ratios),
    )


def _last(measured: Measurement) -> Cells:
    """Return the cells of the last evaluation."""
    groups = np.arange(measured.indicator.count if measured.at.size else 0)
    return groups, np.full_like(groups, measured.at.size - 1)


def _ratio(counts: Counts) -> Floats:
    """Return the error ratio of every cell; never a number without traffic."""
    with np.errstate(all="ignore"):
        ratio: Floats = counts.bad / counts.total
    return ratio


def _exceeding(burning: Burning, window: BurnWindow, ratios: dict[int, Floats]) -> Cells:
    """Return the cells in which both windows of a pair exceed; NaN never does."""
    threshold = burning.measured.objective.threshold(window)
    exceeds: Bools = ratios[window.long_seconds] > threshold
    if exceeds.any():
        exceeds &= ratios[window.short_seconds] > threshold
    # Only few cells exceed, and what is looked for in flat memory is found faster.
    group, number = np.unravel_index(np.flatnonzero(exceeds), exceeds.shape)
    return group, number


def _peaks(burning: Burning, ratios: dict[int, Floats]) -> pl.DataFrame:
    """Return the highest burn rate over each window."""
    measured = burning.measured
    empty = pl.DataFrame(schema={"_group": pl.UInt32, **PEAKS})
    rows = [_peak(measured, seconds, ratio) for seconds, ratio in ratios.items() if ratio.size]
    return (
        pl.concat([empty, *rows])
        .join(measured.indicator.groups, on="_group")
        .select(*measured.objective.group_labels, *PEAKS.names())
    )


def _peak(measured: Measurement, seconds: int, ratio: Floats) -> pl.DataFrame:
    """Return the highest burn rate of each group over one window."""
    most: Floats = np.fmax.reduce(ratio, axis=1)
    when: Ints = (ratio == most[:, None]).argmax(axis=1)
    burn_rate: Floats = np.maximum(most, 0.0) / float(measured.objective.budget)
    return pl.DataFrame(
        {
            "_group": np.arange(when.size),
            "objective": measured.objective.name,
            "window_seconds": seconds,
            "burn_rate": burn_rate,
            "time": pl.Series(measured.at[when] * MILLISECONDS).cast(TIME),
        },
        schema={"_group": pl.UInt32, **PEAKS},
    ).filter(pl.col("burn_rate").is_finite())
