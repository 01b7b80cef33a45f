"""Find the rank that Megatron's straggler detector shows as slowest by far, and why.

Source: progress reference, section 1.6. The report names the rank of each extreme: the longest
forward pass against the shortest says how slow, and a clock, power or throughput that is lowest on
the same rank says why. The lists of lowest ranks hold as many as were asked for and accuse nobody.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from detectors.verdicts import Confidence, Evidence, Subject, Verdict, verdict_frame

_SIGNALS: Final = {
    "sm_clock_hertz": "clock",
    "power_watts": "power",
    "temperature_celsius": "temperature",
    "throughput_flops": "throughput",
}
"""What may be extreme on the slow rank, in words."""

_REPORT: Final = ("run", "source", "position")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtremeParams:
    """When an extreme accuses.

    Attributes:
        min_slowdown: Longest over shortest forward pass, for a rank that is also lowest in clock.
        min_alone: The same without that.
        min_clock_ratio: Highest over lowest clock from which the clock is a reason.
        min_share: Share of the reports in which it must be the same rank.
    """

    min_slowdown: float = 1.15
    min_alone: float = 1.3
    min_clock_ratio: float = 1.05
    min_share: float = 0.5

    def __post_init__(self) -> None:
        """Refuse thresholds that every rank would pass."""
        if min(self.min_slowdown, self.min_alone) <= 1.0:
            raise ValueError(f"ratios must be above 1.0, got {self.min_slowdown}, {self.min_alone}")


def find_reported_extremes(events: pl.LazyFrame, params: ExtremeParams) -> pl.DataFrame:
    """Return the ranks whose forward pass is longest by far in most reports.

    Args:
        events: `EVENTS`; of kind straggler_report the code is `min` or `max` and a signal, the
            message its value in base units.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow at level rank; cause thermal_or_power where the same rank has the
        lowest clock. Partition key: run.
    """
    figures = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == "straggler_report")
        .select(*_REPORT, "time", "rank", "code", value=_value())
        .drop_nulls(["rank", "code", "value"])
        .sort(*_REPORT, "code", "rank")
        .collect()
    )
    reports = [
        report
        for part in figures.partition_by(_REPORT, maintain_order=True)
        if (report := _report(part)) is not None
    ]
    return verdict_frame(_judged(reports, params))


def _value() -> pl.Expr:
    return pl.col("message").cast(pl.Float64, strict=False)


def _report(part: pl.DataFrame) -> dict[str, Any] | None:
    """Return one report as its figures by code; null without both ends of the forward pass."""
    by_code = {row["code"]: row for row in part.iter_rows(named=True)}
    longest, shortest = (by_code.get(f"{side} forward_seconds") for side in ("max", "min"))
    if longest is None or shortest is None or shortest["value"] <= 0:
        return None
    return {
        **longest,
        "ratio": longest["value"] / shortest["value"],
        "shortest": shortest["value"],
        "extremes": by_code,
    }


def _judged(reports: list[dict[str, Any]], params: ExtremeParams) -> Iterator[Verdict]:
    """Yield one verdict a rank that is the slowest, by enough, in most reports of its run."""
    totals: dict[str | None, int] = {}
    accused: dict[tuple[str | None, int], list[dict[str, Any]]] = {}
    for report in reports:
        totals[report["run"]] = totals.get(report["run"], 0) + 1
        least = params.min_slowdown if _is_throttled(report, params) else params.min_alone
        if report["ratio"] >= least:
            accused.setdefault((report["run"], report["rank"]), []).append(report)
    for (run, _), found in accused.items():
        if len(found) >= params.min_share * totals[run]:
            yield _verdict(found, totals[run], params)


def _is_throttled(report: dict[str, Any], params: ExtremeParams) -> bool:
    """Return whether the slowest rank has the lowest clock, by enough."""
    low, high = (report["extremes"].get(f"{side} sm_clock_hertz") for side in ("min", "max"))
    if low is None or high is None or low["rank"] != report["rank"]:
        return False
    return bool(high["value"] >= params.min_clock_ratio * low["value"])


def _verdict(found: list[dict[str, Any]], total: int, params: ExtremeParams) -> Verdict:
    first = found[0]
    throttled = [one for one in found if _is_throttled(one, params)]
    told = throttled[0] if throttled else first
    confidence: Confidence = "high" if throttled else "medium"
    what = (
        f"forward pass {first['value']:.4g} s against {first['shortest']:.4g} s of the fastest "
        f"rank, in {len(found)} of {total} reports"
    )
    return Verdict(
        kind="slow",
        level="rank",
        subject=Subject(run=first["run"], rank=first["rank"]),
        onset=first["time"],
        detected=first["time"],
        slowdown=first["ratio"],
        cause="thermal_or_power" if throttled else None,
        confidence=confidence,
        peers="the fastest rank of the report",
        evidence=(
            Evidence(source=first["source"] or "events", time=first["time"], what=what),
            *_companions(told),
        ),
        action="look at the heat, power limit and clock events of this rank's GPU",
        needed="timers of all ranks, or device signals, tell how the other ranks compare",
    )


def _companions(report: dict[str, Any]) -> Iterator[Evidence]:
    """Yield what else is extreme on the slowest rank."""
    for signal, name in _SIGNALS.items():
        side, other = ("max", "min") if signal == "temperature_celsius" else ("min", "max")
        mine, theirs = (report["extremes"].get(f"{one} {signal}") for one in (side, other))
        if mine is None or theirs is None or mine["rank"] != report["rank"]:
            continue
        extreme = "highest" if side == "max" else "lowest"
        what = (
            f"{extreme} {name} of all ranks: {mine['value']:.4g} against {theirs['value']:.4g} "
            f"of rank {theirs['rank']}"
        )
        yield Evidence(source=report["source"] or "events", time=report["time"], what=what)
