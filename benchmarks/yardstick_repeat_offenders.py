"""Y4, repeat offenders: which GPUs of Titan fail in the next 90 days, ranked by the past alone.

Data: G. Ostrouchov and others, "GPU Lifetimes on Titan Supercomputer: Survival Analysis and
Reliability" (SC'20). Also the planted fleets of scenarios D32, and their trap, for comparison.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.figures import Figure
from benchmarks.planted_fleets import FleetParams, PlantedFleet, planted_fleet
from collectors.frames import TIME
from detectors.class_rates import ClassParams, class_ratios, name_classes
from detectors.decayed_counts import DecayParams, exposures_of, with_weights
from detectors.lemon_params import LemonParams
from detectors.lemons import review_lemons
from detectors.part_stints import REPAIRS

NAME: Final = "Y4 repeat offenders"
FIRST: Final = datetime(2015, 1, 1, tzinfo=UTC)
WINDOW: Final = timedelta(days=90)
CUTOFFS: Final = 9
TOP: Final = 50
SEEDS: Final = range(5)
CALM_SEEDS: Final = range(20)
CAGE: Final = frozenset({"number 3"})
"""Of column, row, cage, slot and node in a location such as `c14-6c1s0n0`."""

TIE_BREAK: Final = 1e-6

Scores = tuple[float, float]
"""Average precision, and precision among the top 50; of planted lemons, precision and recall."""


def figures(data: Path) -> list[Figure]:
    """Return the figures of the cutoffs at hand, and those of the planted fleets."""
    stints = read_stints(data / "titan-gpu-life" / "stints_to_2017-03-21.csv")
    cutoffs = [FIRST + WINDOW * at for at in range(CUTOFFS)]
    ours, cage = (
        np.array([ranked(stints, cutoff, *way) for cutoff in cutoffs]).mean(axis=0)
        for way in ((ClassParams().weight, None), (TIE_BREAK, CAGE))
    )
    return [
        _titan("average precision", ours[0], 0.070, cage[0], "0.062"),
        _titan("precision among the top 50", ours[1], 0.145, cage[1], "0.133"),
        *_planted(),
    ]


def _titan(what: str, ours: float, bar: float, cage: float, published: str) -> Figure:
    return Figure(
        yardstick=NAME,
        what=f"{what}, mean of {CUTOFFS} cutoffs",
        value=f"{ours:.3f}",
        bar=f">= {bar}",
        holds=bool(ours >= bar),
        beside=f"faded count, cage as tie-break {cage:.3f}; over all 18 cutoffs {published}",
    )


def read_stints(path: Path) -> pl.DataFrame:
    """Return stints of GPUs: `stint`, `part`, `host`, `start`, `end`, `failed`."""
    told = pl.read_csv(path, schema_overrides={"SN": pl.String})
    moment = {
        name: pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        for name in ("insert", "remove")
    }
    return told.select(
        part="SN",
        host="location",
        start=moment["insert"],
        end=moment["remove"],
        failed=pl.col("event").is_not_null(),
    ).with_row_index("stint")


def ranked(
    stints: pl.DataFrame, cutoff: datetime, weight: float, wanted: frozenset[str] | None
) -> Scores:
    """Return how well the ranking at a cutoff foretells the failures of the next 90 days.

    Args:
        stints: What `read_stints` returns.
        cutoff: What ended before it is known, and that is all.
        weight: What the ratio of a part's classes is worth beside one failure of its own.
        wanted: Which classes are looked at; null takes all of the place and of the serial.
    """
    began = stints.filter(pl.col("start") <= cutoff)
    known = began.with_columns(
        failed=pl.col("failed") & (pl.col("end") <= cutoff), end=pl.col("end").clip(None, cutoff)
    )
    ratios = _class_ratios(known, cutoff, wanted)
    own = _faded(known, "part", cutoff, DecayParams().half_life_days)
    candidates = began.filter(pl.col("end") > cutoff).join(ratios, on="stint")
    scored = candidates.join(own, on="part", how="left").select(
        "part", score=pl.col("failures").fill_null(0.0) + weight * pl.col("ratio")
    )
    best = scored.group_by("part").agg(pl.col("score").max())
    later = stints.filter("failed", pl.col("end") > cutoff, pl.col("end") <= cutoff + WINDOW)
    truth = best.with_columns(hit=pl.col("part").is_in(later["part"].implode()))
    hits = truth.sort("score", "part", descending=[True, False])["hit"].to_numpy()
    return _average_precision(hits), float(hits[:TOP].mean())


def _class_ratios(
    known: pl.DataFrame, cutoff: datetime, wanted: frozenset[str] | None
) -> pl.DataFrame:
    """Return `stint` and `ratio`: how often the place and the batches of each stint fail."""
    params = ClassParams()
    failures = _faded(known, "stint", cutoff, params.half_life_days)
    spans = known.lazy().select(
        pl.col("stint").cast(pl.String).alias("host"),
        pl.col("start", "end").cast(TIME),
    )
    decay = DecayParams(half_life_days=params.half_life_days)
    days = exposures_of(spans, REPAIRS.to_frame().lazy(), cutoff, decay).collect()
    rows = (
        known.join(failures, on="stint", how="left")
        .join(days.with_columns(stint=pl.col("host").cast(pl.UInt32)).drop("host"), on="stint")
        .with_columns(pl.col("failures").fill_null(0.0))
    )
    placed, names = name_classes(rows, params)
    batches = _batches(placed["part"], params)
    placed = placed.hstack(batches)
    classes = [name for name in (*names, *batches.columns) if wanted is None or name in wanted]
    return placed.select("stint", ratio=class_ratios(placed, classes, params))


def _batches(serials: pl.Series, params: ClassParams) -> pl.DataFrame:
    """Return batches within batches: each start of a serial that divides the parts further.

    Serials are given in the order of making, so each digit more is a smaller batch; it is one as
    long as it has as many members on average as a class must have.
    """
    digits = serials.str.len_chars().max()
    starts = [serials.str.slice(0, at).alias(f"first {at}") for at in range(1, int(str(digits)))]
    counts = [1, *(start.n_unique() for start in starts)]
    most = serials.len() / params.min_members
    kept = [
        start
        for start, fewer, count in zip(starts, counts, counts[1:], strict=False)
        if fewer < count <= most
    ]
    return pl.DataFrame(kept)


def _faded(known: pl.DataFrame, key: str, cutoff: datetime, half_life_days: float) -> pl.DataFrame:
    """Return weighted `failures` by row or part."""
    decay = DecayParams(half_life_days=half_life_days)
    ended = known.filter("failed").lazy().with_columns(time=pl.col("end").cast(TIME))
    weighted = with_weights(ended, REPAIRS.to_frame().lazy(), cutoff, decay)
    return weighted.group_by(key).agg(failures=pl.col("weight").sum()).collect()


def _average_precision(hits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    ranks = np.flatnonzero(hits) + 1
    return float((np.arange(1, ranks.size + 1) / ranks).mean()) if ranks.size else 0.0


def _planted() -> list[Figure]:
    """Return how planted lemons are found, SIMULATED."""
    cases = {
        "30 times the rate, 80 % named": (FleetParams(), "0.98/0.84", (0.95, 0.80)),
        "30 times the rate, 50 % named": (FleetParams(named_share=0.5), "recall 0.57", (0.0, 0.57)),
        "20 times the rate, 50 % named": (
            FleetParams(ratio=20.0, named_share=0.5),
            "1.00/0.28",
            (0.0, 0.0),
        ),
        "8 times the rate, none named": (
            FleetParams(ratio=8.0, named_share=0.0),
            "nobody",
            (0.0, 0.0),
        ),
    }
    return [_calm(), *(_found(name, *case) for name, case in cases.items())]


def _calm() -> Figure:
    """Return whom the search flags where nobody is a lemon."""
    params = FleetParams(lemons=0)
    flagged = [_outcome(planted_fleet(params, seed))[1] for seed in CALM_SEEDS]
    return Figure(
        yardstick="D32 lemons, SIMULATED",
        what=f"{len(flagged)} fleets without a lemon: nodes flagged",
        value=f"{sum(flagged)}",
        bar="0",
        holds=not any(flagged),
    )


def _found(name: str, params: FleetParams, other: str, bars: Scores) -> Figure:
    rows = np.array([_outcome(planted_fleet(params, seed)) for seed in SEEDS])
    hits, flagged, top, charged = rows.sum(axis=0)
    lemons = params.lemons * len(SEEDS)
    precision = f"{hits / flagged:.2f}" if flagged else "-"
    wanted = hits >= bars[0] * flagged and hits >= bars[1] * lemons
    return Figure(
        yardstick="D32 lemons, SIMULATED",
        what=f"{name}: precision, recall, lemons in the top 20",
        value=f"{precision}, {hits / lemons:.2f}, {top / len(SEEDS):.1f} ({flagged} flagged)",
        bar=f">= {bars[0]:.2f}, {bars[1]:.2f}" if any(bars) else "",
        holds=bool(wanted) if any(bars) else None,
        beside=(
            f"Poisson tail and BH {other}; charging every node of a failed job in full puts "
            f"{charged / len(SEEDS):.1f} in the top 20"
        ),
    )


def _outcome(fleet: PlantedFleet) -> tuple[int, int, int, int]:
    """Return hits, flagged, lemons in our top 20, and in the top 20 by failed jobs in full."""
    review = review_lemons(fleet.records, LemonParams())
    flagged = {one.subject.host for one in review.verdicts if one.kind == "lemon"}
    failed = fleet.records.jobs.filter(pl.col("state") == "NODE_FAIL").explode("hosts")
    counts = failed.group_by("hosts").len().sort("len", "hosts", descending=[True, False])
    full = counts.head(20).collect()["hosts"]
    top = review.ranking["host"].head(20)
    return (
        len(flagged & fleet.lemons),
        len(flagged),
        len(set(top) & fleet.lemons),
        len(set(full) & fleet.lemons),
    )
