"""Samples of many series as flat arrays, and where a range begins and ends in each of them.

Source: Prometheus, promql/engine.go: which samples a range selects. We differ in how they are
found: series that were scraped together share their stamps, so that one search serves all of them;
the others are counted onto the evaluation grid in one pass.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from detectors.panels import Bools, Floats, Ints

MICROSECONDS_A_MILLISECOND: Final = 1000
_NOT_LABELS: Final = ("time", "value")


class DuplicateSampleError(ValueError):
    """One series has two values at one time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracks:
    """Series by their labels, each with its samples in the order of time.

    Attributes:
        labels: One row a series, by label, numbered by `_series`; a null is an absent label.
        offsets: Where each series begins in `milliseconds` and `values`; one more than series.
        milliseconds: Time of each sample since the epoch.
        values: The samples; NaN where `markers` says so.
        markers: Whether a sample is a staleness marker; null when none is.
    """

    labels: pl.DataFrame
    offsets: Ints
    milliseconds: Ints
    values: Floats
    markers: Bools | None = None

    @property
    def count(self) -> int:
        """How many series there are."""
        return self.offsets.size - 1

    @property
    def series(self) -> Ints:
        """The series of each sample."""
        return np.repeat(np.arange(self.count), np.diff(self.offsets))

    def unmarked(self) -> "Tracks":
        """Return the series without their staleness markers; one that had nothing else is empty."""
        return self if self.markers is None else self._only(~self.markers)

    def finite(self) -> "Tracks":
        """Return the series without markers and without samples that are no finite number."""
        kept: Bools = np.isfinite(self.values)
        return self if kept.all() else self._only(kept)

    def _only(self, kept: Bools) -> "Tracks":
        """Return the series with some of their samples; none of them is a marker."""
        sizes = np.bincount(self.series[kept], minlength=self.count)
        return Tracks(
            labels=self.labels,
            offsets=_offsets(sizes),
            milliseconds=self.milliseconds[kept],
            values=self.values[kept],
        )


def label_names(samples: pl.DataFrame) -> list[str]:
    """Return the names of the columns that identify a series."""
    return [name for name in samples.columns if name not in _NOT_LABELS]


def tracks_of(samples: pl.DataFrame) -> Tracks:
    """Return samples as flat arrays.

    Args:
        samples: One row a sample: `time`, `value`, and every other column a label (null: absent). A
            null `value` is a staleness marker. Times count in whole milliseconds.

    Raises:
        DuplicateSampleError: A series has two different values at one time.
    """
    number, labels = _series_of_rows(samples)
    stamps: Ints = samples["time"].dt.epoch("ms").cast(pl.Int64).to_numpy()
    order = _order(number, stamps)
    if order is not None:
        samples, number, stamps = samples[order], number[order], stamps[order]
    again = (number[1:] == number[:-1]) & (stamps[1:] == stamps[:-1])
    if again.any():
        kept = ~np.concatenate([[False], again])
        _refuse_conflicts(samples, kept)
        samples, number, stamps = samples.filter(pl.Series(kept)), number[kept], stamps[kept]
    value = samples["value"].cast(pl.Float64)
    return Tracks(
        labels=labels,
        offsets=_offsets(np.bincount(number, minlength=labels.height)),
        milliseconds=stamps,
        values=value.fill_null(float("nan")).to_numpy(),
        markers=value.is_null().to_numpy() if value.null_count() else None,
    )


def _offsets(sizes: Ints) -> Ints:
    """Return where each series begins, from how many samples it has."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _series_of_rows(samples: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """Return the number of each row's series, and the labels of each series.

    Rows of one series mostly stand together: labels are compared once a run, not once a row.
    """
    names = label_names(samples)
    columns = [pl.col(name) for name in names]
    begins = [column.ne_missing(column.shift(1)) for column in columns]
    is_new = samples.select(pl.any_horizontal(pl.int_range(pl.len()) == 0, *begins)).to_series()
    runs = samples.filter(is_new).with_columns(_none=0).select("_none", *names)
    keys = runs.unique().sort(runs.columns).with_row_index("_series")
    joined = runs.join(keys, on=runs.columns, how="left", nulls_equal=True, maintain_order="left")
    number: Ints = joined["_series"].cast(pl.Int64).to_numpy()
    sizes = np.diff(np.append(np.flatnonzero(is_new.to_numpy()), samples.height))
    return np.repeat(number, sizes), keys.select("_series", *names)


def _order(number: Ints, stamps: Ints) -> Ints | None:
    """Return how rows have to be taken to be by series and time; null when they are already."""
    steps, ticks = np.diff(number), np.diff(stamps)
    if ((steps > 0) | ((steps == 0) & (ticks >= 0))).all():
        return None
    return np.lexsort((stamps, number))


def _refuse_conflicts(ordered: pl.DataFrame, kept: Bools) -> None:
    """Refuse a second value of one series at one time; the same sample twice is one."""
    again = pl.Series(~kept)
    differs = pl.col("value").ne_missing(pl.col("value").shift(1))
    torn = ordered.with_columns(_torn=differs & again).filter("_torn").drop("_torn")
    if torn.height:
        raise DuplicateSampleError(
            "wanted one value a series and time, found another in "
            f"{torn.rows(named=True)[:2]}; merge replicas first"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Series that are searched together.

    Attributes:
        rows: Their numbers in the tracks.
        stamps: Times of their samples: of one series for all when shared, else one after the other.
        values: Their samples: a row a series when shared, else one after the other.
        offsets: Where each series begins when not shared; null when shared.
    """

    rows: Ints
    stamps: Ints
    values: Floats
    offsets: Ints | None

    def counts_until(self, edges: Ints, *, inclusive: bool) -> Ints:
        """Return how many samples lie before each edge: positions that are good in `values`.

        Args:
            edges: Times in milliseconds, ascending.
            inclusive: Whether a sample on an edge lies before it.

        Returns:
            Shape (edge) when shared, else (series, edge), counted from the first series on.
        """
        if self.offsets is None:
            return _places(self.stamps, edges, after_equal=inclusive)
        sizes = np.diff(self.offsets)
        place = _places(edges, self.stamps, after_equal=not inclusive)
        width = edges.size + 1
        place += np.repeat(np.arange(sizes.size) * width, sizes)
        counted = np.bincount(place, minlength=sizes.size * width).reshape(sizes.size, width)
        until: Ints = np.cumsum(counted[:, :-1], axis=1)
        return until + self.offsets[:-1, None]

    @property
    def first(self) -> Ints | int:
        """The position of the first sample of each series."""
        return 0 if self.offsets is None else self.offsets[:-1, None]

    def base(self, number: int) -> int:
        """The position of the first sample of one of the series in `values`; 0 when shared."""
        return 0 if self.offsets is None else int(self.offsets[number])

    def is_whole(self, count: int) -> bool:
        """Whether these are all of so many series, in their order."""
        return self.rows.size == count and bool((np.diff(self.rows) == 1).all())

    def taken(self, positions: Ints) -> Floats:
        """Return the samples at positions, a row a series."""
        if self.offsets is None:
            return np.take(self.values, positions, axis=1, mode="clip")
        return np.take(self.values, positions, mode="clip")

    def row(self, number: int) -> Floats:
        """Return the samples of one of the series."""
        if self.offsets is None:
            row: Floats = self.values[number]
            return row
        return self.values[self.offsets[number] : self.offsets[number + 1]]


def _places(ordered: Ints, times: Ints, *, after_equal: bool) -> Ints:
    """Return where times belong in others, behind or before those that are equal."""
    return np.searchsorted(ordered, times, side="right" if after_equal else "left")


def blocks_of(tracks: Tracks) -> list[Block]:
    """Return the series in blocks: those with the same stamps together, the single ones in one.

    Args:
        tracks: Series without staleness markers.
    """
    alike: dict[tuple[int, int, int], list[list[int]]] = {}
    for row in np.flatnonzero(np.diff(tracks.offsets)).tolist():
        stamps = _stamps(tracks, row)
        peers = alike.setdefault((stamps.size, int(stamps[0]), int(stamps[-1])), [])
        same = (each for each in peers if np.array_equal(_stamps(tracks, each[0]), stamps))
        found = next(same, None)
        if found is None:
            peers.append([row])
        else:
            found.append(row)
    groups = [group for peers in alike.values() for group in peers]
    shared = [_shared(tracks, group) for group in groups if len(group) > 1]
    single = [group[0] for group in groups if len(group) == 1]
    return [*shared, _flat(tracks, single)] if single else shared


def _stamps(tracks: Tracks, row: int) -> Ints:
    """Return the times of one series."""
    return tracks.milliseconds[tracks.offsets[row] : tracks.offsets[row + 1]]


def _shared(tracks: Tracks, rows: list[int]) -> Block:
    """Return a block of series with the same stamps."""
    stamps = _stamps(tracks, rows[0])
    begins = tracks.offsets[rows]
    follows = bool((np.diff(begins) == stamps.size).all())
    if follows:
        values = tracks.values[begins[0] : begins[0] + len(rows) * stamps.size]
        values = values.reshape(len(rows), stamps.size)
    else:
        values = np.stack([tracks.values[begin : begin + stamps.size] for begin in begins])
    return Block(rows=np.array(rows), stamps=stamps, values=values, offsets=None)


def _flat(tracks: Tracks, rows: list[int]) -> Block:
    """Return a block of series that each have stamps of their own."""
    numbers = np.array(sorted(rows))
    chosen = np.zeros(tracks.count, dtype=np.bool_)
    chosen[numbers] = True
    kept = np.repeat(chosen, np.diff(tracks.offsets))
    sizes = np.diff(tracks.offsets)[numbers]
    return Block(
        rows=numbers,
        stamps=tracks.milliseconds[kept],
        values=tracks.values[kept],
        offsets=_offsets(sizes),
    )
