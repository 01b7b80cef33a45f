"""Sums over the series of each group, in the order and with the arithmetic of PromQL's `sum by`.

Source: Prometheus, promql/engine.go: plain left-to-right sums at 2.42; compensated ones (Neumaier's
variant of Kahan's) since 2.54. Prometheus promises no order of series; ours is that of the labels.
"""

import numpy as np
import polars as pl

from detectors.panels import Floats, Ints
from slo.promql import Semantics
from slo.ranges import Grown


def group_numbers(labels: pl.DataFrame, groups: pl.DataFrame, names: list[str]) -> Ints:
    """Return the number of the group that each series belongs to.

    Args:
        labels: One row a series.
        groups: One row a group, its number in `_group`.
        names: The labels that name a group; a null is a name of its own.
    """
    both = labels.with_columns(_all=0).join(
        groups.with_columns(_all=0),
        on=["_all", *names],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    numbers: Ints = both["_group"].cast(pl.Int64).to_numpy()
    return numbers


def grouped(grown: Grown, groups: Ints, count: int, semantics: Semantics) -> Grown:
    """Return what each group's series have together.

    Args:
        grown: What each series has; shape (series, range).
        groups: The group of each series.
        count: How many groups there are.
        semantics: How series are added.

    Returns:
        Shape (group, range): sums of values and overlaps, known where any series is; the counts are
        those of the series that has most.
    """
    if groups.size == count and (groups == np.arange(count)).all():
        return grown
    shape = (count, grown.values.shape[1])
    sums, rests = np.zeros(shape), np.zeros(shape)
    known, counts = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    overlaps = None if grown.overlaps is None else np.zeros(shape, np.int64)
    for rows in _turns(groups):
        here = groups[rows]
        is_known = grown.known[rows]
        more = np.where(is_known, grown.values[rows], 0.0)
        if semantics is Semantics.PROMETHEUS_3:
            rests[here] += _rest(sums[here], more)
        sums[here] += more
        known[here] |= is_known
        counts[here] = np.maximum(counts[here], grown.counts[rows])
        if overlaps is not None and grown.overlaps is not None:
            overlaps[here] += np.where(is_known, grown.overlaps[rows], 0)
    values = np.where(np.isinf(sums), sums, sums + rests)
    return Grown(values=values, known=known, counts=counts, overlaps=overlaps)


def _turns(groups: Ints) -> list[Ints]:
    """Return the series in turns: the first one of each group, then the second ones, ..."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.searchsorted(ordered, ordered, side="left")
    turn = np.arange(groups.size) - begins
    return [order[turn == number] for number in range(int(turn.max(initial=-1)) + 1)]


def _rest(sums: Floats, more: Floats) -> Floats:
    """Return what is lost when numbers are added to sums."""
    with np.errstate(invalid="ignore"):
        total = sums + more
        larger = np.abs(sums) >= np.abs(more)
        lost = np.where(larger, (sums - total) + more, (more - total) + sums)
    return np.where(np.isinf(total), 0.0, lost)
