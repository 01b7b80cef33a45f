"""Who and what a fault hurts: runs, ranks, hosts, and the GPU-hours it cost.

Source: reference on page text, part 3. In a lockstep run every rank waits for the culprit, so the
whole run is hurt, whatever the size of what is broken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from alerts.faults import Fault
from slo.losses import RUN_SIZES, SPANS, lost_gpu_hours
from slo.training import STEP_EVENTS

STOPPING_KINDS: Final = frozenset({"hang", "crash"})
"""Faults after which a run makes no step, so that the whole time is lost."""

_DIGITS: Final = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of the runs beside findings and burns.

    Attributes:
        sizes: `RUN_SIZES`.
        events: `STEP_EVENTS`, for what a fault cost.
    """

    sizes: pl.DataFrame
    events: pl.DataFrame

    @classmethod
    def unknown(cls) -> "RunFacts":
        """Return that nothing is known of any run."""
        return cls(sizes=RUN_SIZES.to_frame(), events=STEP_EVENTS.to_frame())

    @property
    def hosts(self) -> dict[str, list[str]]:
        """The hosts of each run, by run."""
        rows = self.sizes.drop_nulls("run").select("run", "hosts").sort("run")
        return dict(rows.iter_rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRadius:
    """Who and what a fault hurts.

    Attributes:
        jobs: Training runs, in alphabetical order.
        ranks: Ranks that wait for the culprit: all of a lockstep run; null when not known.
        hosts: Hosts of those ranks; null when not known.
        gpu_hours_lost: What it cost until it ended, or until now; null when not known.
        victims: Others that suffer without being at fault, by name and number.
    """

    jobs: tuple[str, ...]
    ranks: int | None = None
    hosts: int | None = None
    gpu_hours_lost: float | None = None
    victims: tuple[str, ...] = ()


def blast_radii(
    faults: Sequence[Fault], facts: RunFacts, *, now: datetime | None
) -> list[BlastRadius]:
    """Return whom each fault hurts, in the order of the faults.

    Args:
        faults: Faults; one without an onset cost what nobody can count.
        facts: Sizes and steps of the runs.
        now: End of the data: up to here a fault that lasts is counted; null when nothing has a
            clock.
    """
    rows = [
        (str(at), run, fault.onset, fault.cleared or now, _stops(fault))
        for at, fault in enumerate(faults)
        for run in fault.runs
    ]
    spans = pl.LazyFrame(rows, schema=SPANS, orient="row")
    told = (
        lost_gpu_hours(spans, facts.events.lazy(), facts.sizes.lazy())
        .join(facts.sizes.lazy().select("run", "host_count"), on="run", how="left")
        .group_by("span")
        .agg(_whole(name) for name in ("ranks", "host_count", "gpu_hours_lost"))
        .collect()
    )
    sums = {span: tuple(numbers) for span, *numbers in told.iter_rows()}
    return [
        _radius(fault, *sums.get(str(at), (None, None, None))) for at, fault in enumerate(faults)
    ]


def _stops(fault: Fault) -> bool:
    return any(one.kind in STOPPING_KINDS for one in fault.verdicts)


def _whole(name: str) -> pl.Expr:
    """Return the sum over all runs of a fault; null when one of them is not known."""
    return pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name)


def _radius(
    fault: Fault, ranks: int | None, hosts: int | None, gpu_hours_lost: float | None
) -> BlastRadius:
    return BlastRadius(
        jobs=fault.runs,
        ranks=ranks,
        hosts=hosts,
        gpu_hours_lost=gpu_hours_lost,
        victims=tuple(
            sorted({name for one in fault.verdicts for name in one.victims}, key=_by_number)
        ),
    )


def _by_number(name: str) -> list[str | int]:
    """Return a key that puts `rank 8` before `rank 10`."""
    return [int(part) if part.isdecimal() else part for part in _DIGITS.split(name)]
