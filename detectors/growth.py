"""How fast counters of ports grow, in bins that people can read, and for how long.

Only a difference between two good samples is evidence: an old total is history (fabric reference,
section 0). What counts as good is said in `detectors.counters`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import TIME, schema_of
from detectors.counters import BUNDLE
from detectors.port_readings import PORT_KINDS

GROWTH: Final = schema_of(
    {
        "host": pl.String,
        "port": pl.String,
        "port_kind": pl.String,
        "signal": pl.String,
        "bin": TIME,
        "first": TIME,
        "grown": pl.Float64,
        "seconds": pl.Float64,
        "rate": pl.Float64,
    }
)
"""One row a counter of a port and bin. `grown` is how much it grew in the `seconds` that are known;
`first` is when it was first seen to grow in the bin, null if it did not. A bin with nothing known
is no row. Of a counter that the port's parts count, the part that grew most stands."""

PORT: Final = ("host", "port", "port_kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpellParams:
    """When bad bins in a row are a spell.

    Attributes:
        bin_seconds: Width of a bin.
        min_bins: Bins in a row that must be bad, or as many seconds in fewer long intervals.
        max_gap_bins: Good or unknown bins that do not end a run.
    """

    bin_seconds: float = 300.0
    min_bins: int = 2
    max_gap_bins: int = 1

    def __post_init__(self) -> None:
        """Refuse bins without width."""
        if self.bin_seconds <= 0 or self.min_bins < 1:
            raise ValueError(
                "bin_seconds must be above 0 and min_bins at least 1, found "
                f"{self.bin_seconds} and {self.min_bins}"
            )

    @property
    def width(self) -> timedelta:
        """Width of a bin."""
        return timedelta(seconds=self.bin_seconds)


def port_growth(
    intervals: pl.DataFrame, signals: tuple[str, ...], bin_seconds: float
) -> pl.DataFrame:
    """Return the growth of ports' counters.

    Args:
        intervals: `INTERVALS`; what is not known (a reset), what lies over a gap and what is
            settling tells nothing, and a bundle nothing beside its members. A counter that came
            to its top grew by at least what was left; afterwards it tells nothing.
        signals: The counters wanted.
        bin_seconds: Width of a bin; bins start at multiples of it.

    Returns:
        `GROWTH`, by port, signal and bin.
    """
    width = int(bin_seconds * 1e6)
    least = pl.when(pl.col("saturated"), ~pl.col("reset"), pl.col("min_delta") > 0).then(
        "min_delta"
    )
    grown = pl.coalesce("delta", least)
    parts = (
        intervals.lazy()
        .filter(
            pl.col("port_kind").is_in(PORT_KINDS),
            pl.col("signal").is_in(signals),
            grown.is_not_null(),
            pl.col("near"),
            ~pl.col("settling"),
            ~pl.col("device").str.contains(BUNDLE),
        )
        .with_columns(bin=(pl.col("end").cast(pl.Int64) // width * width).cast(TIME))
        .group_by(*PORT, "device", "signal", "bin")
        .agg(
            first=pl.col("end").filter(grown > 0).min(),
            grown=grown.sum(),
            seconds=pl.col("seconds").sum(),
        )
        .with_columns(rate=pl.col("grown") / pl.col("seconds"))
    )
    return (
        parts.sort("rate", "seconds", "device", descending=[True, True, False])
        .unique([*PORT, "signal", "bin"], keep="first", maintain_order=True)
        .select(GROWTH.names())
        .sort(*PORT, "signal", "bin")
        .collect()
    )


def bad_spells(bad: pl.DataFrame, known: pl.DataFrame, params: SpellParams) -> pl.DataFrame:
    """Return the spells of bad bins that last, one row a port and spell.

    Args:
        bad: Bad bins of ports: `PORT`, `bin`, `first` and `seconds`; several rows of a bin are one.
        known: All bins of the same ports in which anything was known: `PORT` and `bin`.
        params: What lasts. A port that was bad in all that is known of it need not last: that is
            all there is.

    Returns:
        `PORT`, `onset`, `start` and `stop` (first and last bad bin), `detected` (when enough bins
        had passed, or the first long interval had ended), `cleared` (null while it lasts), `brief`
        (it did not last), `from_start` and `to_end` (it touches the ends of what is known).
    """
    bins = bad.group_by(*PORT, "bin").agg(pl.col("first").min(), pl.col("seconds").max())
    edges = known.group_by(PORT).agg(opened=pl.col("bin").min(), closed=pl.col("bin").max())
    brief = (pl.col("bins") < params.min_bins) & (
        pl.col("seconds") < params.min_bins * params.bin_seconds
    )
    return (
        bins.sort(*PORT, "bin")
        .with_columns(run=run_numbers([*PORT], params.bin_seconds, params.max_gap_bins))
        .group_by(*PORT, "run")
        .agg(
            onset=pl.col("first").min(),
            start=pl.col("bin").min(),
            stop=pl.col("bin").max(),
            bins=pl.len(),
            seconds=pl.col("seconds").sum(),
        )
        .join(edges, on=PORT)
        .with_columns(
            brief=brief,
            from_start=pl.col("start") == pl.col("opened"),
            to_end=pl.col("stop") + params.width >= pl.col("closed"),
        )
        .with_columns(
            detected=pl.max_horizontal(pl.col("start") + params.width * params.min_bins, "onset"),
            cleared=pl.when(~pl.col("to_end")).then(pl.col("stop") + params.width),
        )
        .filter(~pl.col("brief") | (pl.col("from_start") & (pl.col("stop") == pl.col("closed"))))
        .select(*PORT, *_SPELL)
        .sort(*PORT, "start")
    )


_SPELL: Final = (
    *("onset", "start", "stop", "detected", "cleared"),
    *("brief", "from_start", "to_end"),
)


def of_spell(bins: pl.DataFrame, spell: Mapping[str, Any]) -> pl.DataFrame:
    """Return the bins of a port during one of its spells.

    Args:
        bins: Rows with `PORT` and `bin`.
        spell: A row of `bad_spells`.
    """
    return bins.filter(
        *(pl.col(name) == spell[name] for name in PORT),
        pl.col("bin").is_between(spell["start"], spell["stop"]),
    )


def run_numbers(keys: list[str], bin_seconds: float, max_gap_bins: int) -> pl.Expr:
    """Return the number of the run of bins that a row belongs to.

    Args:
        keys: Columns that name whose bins these are; the frame is sorted by them and `bin`.
        bin_seconds: Width of a bin.
        max_gap_bins: Bins missing in between that do not end a run.
    """
    allowed = timedelta(seconds=bin_seconds * (max_gap_bins + 1))
    gap = pl.col("bin").diff()
    return ((gap.over(keys) if keys else gap) > allowed).fill_null(value=True).cum_sum()
