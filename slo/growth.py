"""Growth of an objective's bad and total events over one window, group by group.

Source: The Site Reliability Workbook, chapter 5; Prometheus' advice to take the rate of each series
first and sum afterwards. Numerator and denominator stay apart until the very end, so that nothing
has to average ratios.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.objectives import Objective
from slo.promql import Semantics, increase
from slo.selectors import select_series

GROWTHS: Final = schema_of(
    {
        "time": TIME,
        "bad": pl.Float64,
        "total": pl.Float64,
        "error_ratio": pl.Float64,
        "coverage_ratio": pl.Float64,
        "fault": pl.String,
    }
)
"""Beside the group labels. `bad` may be negative when good events exceed all events. `error_ratio`
is null when there is nothing to divide by. `coverage_ratio` is the share (0-1) of the samples due
in the window that were there; null when the scrape interval is not known. `fault`:
bad_exceeds_total, good_exceeds_total, replica_overlap; null is none."""

# A bad series that is born inside the window is extrapolated more than a total that is older: up to
# about a tenth and one event more is no fault. Good events are only shown, so little is enough.
MAX_BAD_EXCESS_RATIO: Final = 0.1
MAX_BAD_EXCESS_COUNT: Final = 1.0
MAX_GOOD_EXCESS_RATIO: Final = 0.001


class Mode(StrEnum):
    """Whom an evaluation is for."""

    PRODUCT = "product"
    """Refuses to page on too little history and on faulty data."""
    PARITY = "parity"
    """Does exactly what Prometheus does with the rules made from the same objective."""


class MissingColumnError(ValueError):
    """A frame of series lacks a column that the objective asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnParams:
    """How burn rates are evaluated.

    Attributes:
        semantics: Whose arithmetic `increase` follows.
        mode: Whether data faults and missing history hold a page back.
        min_coverage_ratio: Share (0-1) of a window's samples below which product mode says
            "warming up" and does not fire.
        scrape_seconds: Time between two scrapes; null takes the median of each group's gaps.
    """

    semantics: Semantics = Semantics.PROMETHEUS_2_42
    mode: Mode = Mode.PRODUCT
    min_coverage_ratio: float = 0.5
    scrape_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        if not 0 <= self.min_coverage_ratio <= 1:
            raise ValueError(
                f"min_coverage_ratio must be from 0 to 1, found {self.min_coverage_ratio}"
            )


def event_growth(
    series: pl.DataFrame,
    objective: Objective,
    times: pl.Series,
    *,
    range_seconds: int,
    params: BurnParams,
) -> pl.DataFrame:
    """Return how many bad and how many events there were in the window before each time.

    Args:
        series: `metric`, labels, `time`, `value`: one row a sample of a counter; a null label is
            absent, a null value a staleness marker.
        objective: Which counters, and by which labels they are grouped.
        times: Evaluation times, `TIME`.
        range_seconds: Length of the window.
        params: Arithmetic and mode.

    Returns:
        The group labels and `GROWTHS`, by group and time. No row where nothing happened. Where bad
        events have no events to be a part of, the ratio is +Inf in parity mode, else null with a
        fault.

    Raises:
        MissingColumnError: `series` has no column for `metric`, time, value or a group label.
        DuplicateSampleError: A series has two different values at one time.
    """
    _require_columns(series, objective)
    keys = ["_all", *objective.group_labels, "time"]
    total, part = (
        _sums(select_series(series, selector), objective, times, range_seconds, params)
        for selector in (objective.total, objective.bad or objective.good or objective.total)
    )
    return (
        total.join(part, on=keys, how="full", coalesce=True, nulls_equal=True, suffix="_part")
        .rename({"value": "total"})
        .with_columns(_part=pl.coalesce("value_part", 0.0 * pl.col("total")))
        .with_columns(bad=pl.col("_part") if objective.bad else pl.col("total") - pl.col("_part"))
        .filter(_happened(params.mode))
        .with_columns(error_ratio=_error_ratio(params.mode), fault=_fault(objective))
        .with_columns(coverage_ratio=_coverage(range_seconds))
        .sort(keys)
        .select(*objective.group_labels, *GROWTHS.names())
    )


def _require_columns(series: pl.DataFrame, objective: Objective) -> None:
    """Refuse series that cannot be grouped."""
    wanted = ["metric", "time", "value", *objective.group_labels]
    missing = [name for name in wanted if name not in series.columns]
    if missing:
        raise MissingColumnError(
            f"objective {objective.name!r}: wanted columns {wanted}, missing {missing}, found "
            f"{series.columns}; add each label that the objective groups by as a column"
        )


def _sums(
    samples: pl.DataFrame,
    objective: Objective,
    times: pl.Series,
    range_seconds: int,
    params: BurnParams,
) -> pl.DataFrame:
    """Return the growth of each series, summed by group, with what coverage is made from."""
    groups = ["_all", *objective.group_labels]
    marked = samples.with_columns(_all=0)
    grown = increase(marked, times, range_seconds=range_seconds, semantics=params.semantics)
    sums = grown.group_by(*groups, "time", maintain_order=True).agg(
        pl.col("value").sum(), pl.col("sample_count").max(), pl.col("overlap_count").sum()
    )
    return sums.join(_gaps(marked, groups, params), on=groups, how="left", nulls_equal=True)


def _gaps(samples: pl.DataFrame, groups: list[str], params: BurnParams) -> pl.DataFrame:
    """Return the seconds between two scrapes of each group, as told or as usual for it."""
    labels = [name for name in samples.columns if name not in {"time", "value"}]
    gaps = samples.sort("time").with_columns(_gap=pl.col("time").diff().over(labels))
    usual = pl.col("_gap").dt.total_microseconds().median() / 1e6
    told = pl.lit(params.scrape_seconds, dtype=pl.Float64)
    return gaps.group_by(groups).agg(pl.coalesce(told, usual).alias("gap_seconds"))


def _happened(mode: Mode) -> pl.Expr:
    """Return whether anything is said about a row: events, or bad events that belong to none."""
    counted = (pl.col("total") > 0) | (pl.col("bad") > 0)
    orphaned = pl.lit(mode is Mode.PRODUCT) & pl.col("total").is_null() & (pl.col("_part") > 0)
    return counted.fill_null(value=False) & pl.col("total").is_not_null() | orphaned


def _error_ratio(mode: Mode) -> pl.Expr:
    """Return bad over total: as it divides in parity mode, a share from 0 to 1 or null else."""
    ratio = pl.col("bad") / pl.col("total")
    if mode is Mode.PARITY:
        return pl.when(ratio < 0).then(0.0).otherwise(ratio)
    return pl.when(pl.col("total") > 0).then(ratio.clip(0.0, 1.0))


def _fault(objective: Objective) -> pl.Expr:
    """Return what is wrong with the counters of a row, if anything."""
    bad, total = pl.col("bad"), pl.col("total")
    overlaps = pl.sum_horizontal("overlap_count", "overlap_count_part") > 0
    if objective.bad is None:
        exceeds = total.is_null() | (bad < -MAX_GOOD_EXCESS_RATIO * total)
        name = "good_exceeds_total"
    else:
        most = total * (1 + MAX_BAD_EXCESS_RATIO) + MAX_BAD_EXCESS_COUNT
        exceeds = total.is_null() | (total == 0) | (bad > most)
        name = "bad_exceeds_total"
    return pl.when(overlaps).then(pl.lit("replica_overlap")).when(exceeds).then(pl.lit(name))


def _coverage(range_seconds: int) -> pl.Expr:
    """Return the share of the samples due in the window that its best-covered series has."""
    return (pl.col("sample_count") * pl.col("gap_seconds") / range_seconds).clip(0.0, 1.0)
