"""From a reading to what people ask: findings, burns, incidents; and the JSON that machines get."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

import polars as pl

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.incidents import Incident, incident_json, join_incidents
from collectors.readings import Reading
from detectors.holds import HoldParams, add_holds
from detectors.verdicts import Verdict, rfc3339, verdict_json
from paceline.attempt_output import attempts_json
from paceline.burning import BurnReplay, replay_burns
from paceline.engines.spreads import Spread
from paceline.findings import DetectorParams, find_all
from paceline.spans import TIMED, end_of_data
from paceline.stored_tiers import tier_lines
from slo.growth import BurnParams
from slo.losses import run_sizes
from slo.objectives import Objective
from slo.specs import load_ready


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisParams:
    """How a reading is analysed.

    Attributes:
        detectors: Thresholds of all detectors.
        burns: Arithmetic and mode of the burn evaluation.
        scrape_seconds: Time between evaluations in the replay.
        joining: When symptoms are one fault.
        holds: When a crashed job held its nodes for nothing.
        objectives: What is promised; null takes those that come with Paceline.
        spread: What works on the partitions of a store; null judges the reading as a whole.
    """

    detectors: DetectorParams = field(default_factory=DetectorParams)
    burns: BurnParams = field(default_factory=BurnParams)
    scrape_seconds: float = 15.0
    joining: JoinParams = field(default_factory=JoinParams)
    holds: HoldParams = field(default_factory=HoldParams)
    objectives: Sequence[Objective] | None = None
    spread: Spread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All that an analysis gives.

    Attributes:
        reading: What was read.
        verdicts: Findings, in reading order.
        replay: Judged steps, burn rates and firings.
        incidents: One a fault: pages first.
        as_of: End of the data; null when no source has a clock.
    """

    reading: Reading
    verdicts: list[Verdict]
    replay: BurnReplay
    incidents: list[Incident]
    as_of: datetime | None


def analyze(
    reading: Reading,
    params: AnalysisParams,
    say: Callable[[str, int, int], None],
    told: Sequence[Verdict] = (),
) -> Analysis:
    """Return findings, burns and incidents of a reading.

    Args:
        reading: What was read, with its runs named.
        params: All thresholds.
        say: Told before each part: its name, how many are done, how many there are.
        told: What coarser tiers of a store say of times whose samples are gone.
    """
    found = [*_found(reading, params, say), *told]
    verdicts = add_holds(found, reading.jobs, reading.events, reading.steps, params.holds)
    objectives = [load_ready()] if params.objectives is None else params.objectives
    replay = _replayed(reading.steps, objectives, params)
    as_of = end_of_data(reading)
    sizes = run_sizes(reading.steps.lazy(), reading.placements.lazy(), reading.jobs.lazy())
    facts = RunFacts(sizes=sizes.collect(), events=replay.events)
    incidents = join_incidents(verdicts, replay.firings, facts, params.joining, now=as_of)
    return Analysis(
        reading=reading, verdicts=verdicts, replay=replay, incidents=incidents, as_of=as_of
    )


def _found(
    reading: Reading, params: AnalysisParams, say: Callable[[str, int, int], None]
) -> list[Verdict]:
    """Return the findings of all detectors, of those that can be spread by who spreads them."""
    if params.spread is None:
        return find_all(reading, params.detectors, say)
    folded = params.spread.folded(params.detectors.devices, say)
    return find_all(reading, params.detectors, say, folded)


def _replayed(
    steps: pl.DataFrame, objectives: Sequence[Objective], params: AnalysisParams
) -> BurnReplay:
    if params.spread is None:
        return replay_burns(
            steps, objectives, scrape_seconds=params.scrape_seconds, params=params.burns
        )
    return params.spread.burns(steps, objectives, params.scrape_seconds, params.burns)


def analysis_json(analysis: Analysis) -> dict[str, object]:
    """Return the object of the command line's JSON contract."""
    return {
        "verdicts": [verdict_json(one) for one in analysis.verdicts],
        "incidents": [incident_json(one) for one in analysis.incidents],
        "coverage": coverage_json(analysis.reading),
        "rejects": rejects_json(analysis.reading.rejects),
    }


def coverage_json(reading: Reading) -> dict[str, object]:
    """Return what was there: rows by frame, time spans, and where less came than was due."""
    spans = {
        name: [rfc3339(one) for one in _ends(reading.frame(name)[at])]
        for name, at in TIMED
        if reading.frame(name)[at].drop_nulls().len()
    }
    rows = {
        name: reading.frame(name).height
        for name in ("samples", "steps", "ops", "collectives", "transfers")
    }
    rows |= {name: reading.frame(name).height for name in ("events", "jobs", "placements", "links")}
    gaps = (
        reading.coverage.group_by("entity", "signal")
        .agg(pl.col("seen").sum(), pl.col("expected").sum())
        .filter(pl.col("seen") < pl.col("expected"))
        .sort("entity", "signal")
    )
    sources = {
        source
        for name in ("samples", "steps", "ops", "collectives", "transfers", "events")
        for source in reading.frame(name)["source"].unique().to_list()
    }
    told: dict[str, object] = {
        "sources_read": len(sources),
        "rows": rows,
        "spans": spans,
        "gaps": gaps.to_dicts(),
        "attempts": attempts_json(reading.jobs),
    }
    tiers = tier_lines(reading.coverage)
    return told | {"tiers": tiers} if tiers else told


def _ends(times: pl.Series) -> list[datetime]:
    """Return the first and the last of some times."""
    return times.sort().drop_nulls().gather([0, -1]).to_list()


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectReason:
    """Why lines or files became nothing else.

    Attributes:
        reason: In words.
        count: How many lines or files.
        sources: In how many sources.
        example: One of them: source, line and text.
    """

    reason: str
    count: int
    sources: int
    example: str


def reject_reasons(rejects: pl.DataFrame) -> list[RejectReason]:
    """Return the reasons of rejection, most frequent first, each with its first example.

    Args:
        rejects: `REJECTS`.
    """
    line = pl.when(pl.col("position").is_not_null()).then(pl.format(":{}", "position"))
    where = pl.concat_str("source", line.fill_null(""), pl.lit(" "), pl.col("text").fill_null(""))
    rows = (
        rejects.sort("source", "position", nulls_last=False)
        .with_columns(example=_printable(where).str.strip_chars_end().str.slice(0, 160))
        .group_by("reason")
        .agg(
            pl.col("count").fill_null(1).clip(1).sum().alias("count"),
            pl.col("source").n_unique().alias("sources"),
            pl.col("example").first(),
        )
        .sort(["count", "reason"], descending=[True, False])
    )
    return [RejectReason(**row) for row in rows.iter_rows(named=True)]


def _printable(text: pl.Expr) -> pl.Expr:
    """Return text in which everything that would upset a terminal is a dot."""
    return text.str.replace_all(r"[\p{C}\x{FFFD}]+", ".")


def rejects_json(rejects: pl.DataFrame) -> dict[str, object]:
    """Return how much was rejected, why, and one example of each reason."""
    reasons = [asdict(one) for one in reject_reasons(rejects)]
    return {"count": sum(one.count for one in reject_reasons(rejects)), "reasons": reasons}
