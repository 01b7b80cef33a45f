"""Growth of an objective's bad and total events over one window, group by group.

Source: The Site Reliability Workbook, chapter 5; Prometheus' advice to take the rate of each series
first and sum afterwards. Numerator and denominator stay apart until the very end, so that nothing
has to average ratios.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME, schema_of
from slo.indicators import View
from slo.measurements import Cells, Counts, Measurement
from slo.objectives import Method, Objective
from slo.promql import MILLISECONDS, Semantics

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
bad_exceeds_total, good_exceeds_total, replica_overlap, no_such_bucket (the histogram has other
bounds only), not_a_number (a count is NaN or infinite); null is none. With a method of slices,
`bad` and `total` are slices."""

# A bad series that is born inside the window is extrapolated more than a total that is older: up to
# about a tenth and one event more is no fault. Good events are only shown, so little is enough.
MAX_BAD_EXCESS_RATIO: Final = 0.1
MAX_BAD_EXCESS_COUNT: Final = 1.0
MAX_GOOD_EXCESS_RATIO: Final = 0.001
NO_SUCH_BUCKET: Final = "no_such_bucket"
NOT_A_NUMBER: Final = "not_a_number"


class Mode(StrEnum):
    """Whom an evaluation is for."""

    PRODUCT = "product"
    """Refuses to page on too little history and on faulty data."""
    PARITY = "parity"
    """Does exactly what Prometheus does with the rules made from the same objective."""


class TotalBasis(StrEnum):
    """What the budget of a calendar period is a share of, while the period goes on."""

    SO_FAR = "so far"
    """What there was up to now: one bad hour on the first day may spend it all for a while."""
    ESTIMATED = "estimated"
    """The whole period: slices are known, events are scaled by the share of time that went by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnParams:
    """How burn rates are evaluated.

    Attributes:
        semantics: Whose arithmetic `increase` follows.
        mode: Whether data faults and missing history hold a page back.
        min_coverage_ratio: Share (0-1) of a window's samples below which product mode says
            "warming up" and does not fire.
        scrape_seconds: Time between two scrapes; null takes the median of each group's gaps.
        total_basis: What the budget of a calendar period is a share of.
    """

    semantics: Semantics = Semantics.PROMETHEUS_2_42
    mode: Mode = Mode.PRODUCT
    min_coverage_ratio: float = 0.5
    scrape_seconds: float | None = None
    total_basis: TotalBasis = TotalBasis.SO_FAR

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        if not 0 <= self.min_coverage_ratio <= 1:
            raise ValueError(
                f"min_coverage_ratio must be from 0 to 1, found {self.min_coverage_ratio}"
            )

    @property
    def view(self) -> View:
        """Whose eyes see the series."""
        return View(
            semantics=self.semantics,
            is_parity=self.mode is Mode.PARITY,
            scrape_seconds=self.scrape_seconds,
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
        series: `metric`, labels, `time`, `value`: one row a sample; a null label is absent, a null
            value a staleness marker.
        objective: Which series, how they are counted, and by which labels they are grouped. With a
            method of slices `bad` and `total` are slices, and not events.
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
    measured = Measurement(series, objective, times, params.view)
    counts = measured.counts(measured.before(range_seconds))
    rows = growth_rows(measured, counts, counts.cells, params.mode)
    return rows.select(*objective.group_labels, *GROWTHS.names())


def growth_rows(measured: Measurement, counts: Counts, cells: Cells, mode: Mode) -> pl.DataFrame:
    """Return some of the counts as rows, without those cells in which nothing happened.

    The arguments and the result are those of `growth_cells`.
    """
    rows = _counted(measured, counts, cells, mode).filter("_happened")
    return _judged(rows, measured, mode).collect()


def growth_cells(measured: Measurement, counts: Counts, cells: Cells, mode: Mode) -> pl.DataFrame:
    """Return some of the counts as rows, null where nothing happened.

    Args:
        measured: What was measured.
        counts: What was counted in it over ranges.
        cells: Group and range of each row that is wanted.
        mode: Whom it is for.

    Returns:
        The group labels, `GROWTHS`, and the cell's `_group` and `_range`, in the order of the
        cells.
    """
    judged = _judged(_counted(measured, counts, cells, mode), measured, mode)
    numbers = ["bad", "total", "error_ratio", "coverage_ratio", "fault"]
    return judged.with_columns(pl.when("_happened").then(pl.col(numbers))).collect()


def cells_of(rows: pl.DataFrame) -> Cells:
    """Return the cells of rows."""
    return rows["_group"].to_numpy(), rows["_range"].to_numpy()


def _counted(measured: Measurement, counts: Counts, cells: Cells, mode: Mode) -> pl.LazyFrame:
    """Return what was counted in some cells, and whether anything happened there."""
    is_sliced = measured.objective.method is not Method.OCCURRENCES
    part = pl.coalesce("part", 0.0 * pl.col("events"))
    bad = part if measured.objective.bad is not None else pl.col("events") - part
    return (
        _events(measured, counts, cells)
        .with_columns(_part=part, _bad=bad)
        .with_columns(_happened=pl.col("total") > 0 if is_sliced else _happened(mode))
    )


def _judged(counted: pl.LazyFrame, measured: Measurement, mode: Mode) -> pl.LazyFrame:
    """Return what was counted with its ratio, its coverage and its faults."""
    is_sliced = measured.objective.method is not Method.OCCURRENCES
    return (
        counted.with_columns(fault=_fault(measured, mode))
        .with_columns(
            bad=pl.col("bad" if is_sliced else "_bad"),
            total=pl.col("total" if is_sliced else "events"),
        )
        .with_columns(error_ratio=_error_ratio(mode), coverage_ratio=_coverage())
    )


def _events(measured: Measurement, counts: Counts, cells: Cells) -> pl.LazyFrame:
    """Return what was counted in some cells; null is not known."""
    total, part, ranges = counts.events.total, counts.events.part, counts.ranges
    overlaps = [each.overlaps for each in (total, part) if each.overlaps is not None]
    numbers = pl.DataFrame(
        {
            "_group": cells[0],
            "_range": cells[1],
            "events": total.values[cells],
            "part": part.values[cells],
            "bad": counts.bad[cells],
            "total": counts.total[cells],
            "sample_count": total.counts[cells],
            "overlap_count": sum((each[cells] for each in overlaps), np.zeros_like(cells[0])),
            "gap_seconds": measured.indicator.gap_seconds[cells[0]],
            "range_seconds": ((ranges.at - ranges.low) / float(MILLISECONDS))[cells[1]],
            "_has_total": total.known[cells],
            "_has_part": part.known[cells],
        }
    )
    rows = pl.concat([measured.labels_at(*cells), numbers], how="horizontal")
    return rows.lazy().with_columns(
        pl.when("_has_total").then(pl.col("events", "sample_count")),
        pl.when("_has_part").then(pl.col("part")),
    )


def _happened(mode: Mode) -> pl.Expr:
    """Return whether anything is said about a row: events, or bad events that belong to none."""
    events = pl.col("events")
    counted = (events > 0) | (pl.col("_bad") > 0)
    orphaned = pl.lit(mode is Mode.PRODUCT) & events.is_null() & (pl.col("_part") > 0)
    return counted.fill_null(value=False) & events.is_not_null() | orphaned


def _error_ratio(mode: Mode) -> pl.Expr:
    """Return bad over total: as it divides in parity mode, a share from 0 to 1 or null else."""
    ratio = pl.col("bad") / pl.col("total")
    if mode is Mode.PARITY:
        return pl.when(ratio < 0).then(0.0).otherwise(ratio)
    is_unknown = pl.col("fault").is_in([NO_SUCH_BUCKET, NOT_A_NUMBER])
    is_known = (pl.col("total") > 0) & ~is_unknown.fill_null(value=False)
    return pl.when(is_known).then(ratio.clip(0.0, 1.0))


def _fault(measured: Measurement, mode: Mode) -> pl.Expr:
    """Return what is wrong with the counters of a row, if anything."""
    bad, total = pl.col("_bad"), pl.col("events")
    if measured.objective.bad is None:
        exceeds = total.is_null() | (bad < -MAX_GOOD_EXCESS_RATIO * total)
        name = "good_exceeds_total"
    else:
        most = total * (1 + MAX_BAD_EXCESS_RATIO) + MAX_BAD_EXCESS_COUNT
        exceeds = total.is_null() | (total == 0) & (bad > 0) | (bad > most)
        name = "bad_exceeds_total"
    lacks = measured.indicator.lacks_bucket and mode is Mode.PRODUCT
    # Slices judge for themselves which of them hold no number.
    is_counted = measured.objective.method is Method.OCCURRENCES
    is_number = (bad.is_finite() & total.is_finite()).fill_null(value=True)
    return (
        pl.when(pl.col("overlap_count") > 0)
        .then(pl.lit("replica_overlap"))
        .when(pl.lit(lacks))
        .then(pl.lit(NO_SUCH_BUCKET))
        .when(pl.lit(is_counted) & ~is_number)
        .then(pl.lit(NOT_A_NUMBER))
        .when(exceeds)
        .then(pl.lit(name))
    )


def _coverage() -> pl.Expr:
    """Return the share of the samples due in the window that its best-covered series has."""
    samples = pl.col("sample_count") * pl.col("gap_seconds")
    known = pl.col("gap_seconds").is_not_nan() & (pl.col("range_seconds") > 0)
    return pl.when(known).then((samples / pl.col("range_seconds")).clip(0.0, 1.0))
