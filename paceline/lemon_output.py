"""What `paceline lemons` prints: who is flagged and why, and the ranking that it stands in."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
import polars as pl

from detectors.lemon_events import find_score_events
from detectors.lemon_params import LemonParams
from detectors.lemons import LemonReview
from detectors.verdicts import Evidence, Verdict, rfc3339, verdict_json
from paceline.goodput_output import plain_rows

MAX_SHOWN: Final = 5
"""Events of a lemon that the text shows; the JSON holds all that the verdict has."""

_COLUMNS: Final = (
    *("host", "part", "pool", "score", "failures", "days", "named_count", "job_count"),
    *("ratio_low", "ratio", "ratio_high", "chance", "q_value", "bad_chance", "is_lemon", "tier"),
)


def lemon_bytes(review: LemonReview, params: LemonParams, top: int) -> bytes:
    """Return verdicts, ranking and history as JSON, indented, with a final line break.

    Args:
        review: What was found.
        params: What it was found with.
        top: How many of the ranking to tell, each with the events behind its score.
    """
    ranking = _opened_ranking(review, params, top)
    told = {
        "verdicts": [verdict_json(one) for one in review.verdicts],
        "ranking": ranking,
        "history": _facts(review),
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _opened_ranking(review: LemonReview, params: LemonParams, top: int) -> list[dict[str, Any]]:
    """Return the first of the ranking with their events."""
    if review.history is None:
        return []
    shown = review.ranking.head(top).select(_COLUMNS)
    events = find_score_events(review.history, params.history.decay)
    told = [
        events.filter(
            pl.col("host") == unit["host"], pl.col("part").eq_missing(pl.lit(unit["part"]))
        )
        for unit in shown.iter_rows(named=True)
    ]
    return [
        unit | {"events": plain_rows(own.drop("host", "part"))}
        for unit, own in zip(shown.to_dicts(), told, strict=True)
    ]


def _facts(review: LemonReview) -> dict[str, object]:
    """Return what the answer stands on; counts are null where the history was not judged."""
    history = review.history
    if history is None:
        return {"span_days": review.span_days, "as_of": None, "nodes": None, "failed_jobs": None}
    named = history.failures.filter("is_named")["run"].n_unique()
    return {
        "span_days": review.span_days,
        "as_of": rfc3339(history.as_of),
        "nodes": review.ranking.filter(pl.col("part").is_null()).height,
        "failed_jobs": history.failures["run"].n_unique(),
        "named_jobs": named,
        "unexplained_jobs": history.unexplained_count,
        "repairs": history.repairs.height,
    }


def lemon_text(review: LemonReview, params: LemonParams, top: int) -> str:
    """Return what people read.

    Args:
        review: What was found.
        params: What it was found with.
        top: How many of the ranking to show.
    """
    if review.history is None:
        return (
            f"Jobs span {review.span_days:.1f} days; {params.min_span_days:.0f} are needed to tell "
            "a lemon from bad luck: nobody is judged.\n"
        )
    parts = [_head(review), *(_verdict_text(one) for one in review.verdicts)]
    if not any(one.kind == "lemon" for one in review.verdicts):
        parts.append("Nobody is flagged.\n")
    return "\n".join([*parts, _ranking_text(review.ranking.head(top))])


def _head(review: LemonReview) -> str:
    facts = _facts(review)
    return (
        f"{review.span_days:.0f} days to {facts['as_of']}, {facts['nodes']:,} nodes: "
        f"{facts['failed_jobs']:,} jobs ended by infrastructure, {facts['named_jobs']:,} of them "
        f"name a node; {facts['unexplained_jobs']:,} more failed without a word.\n"
    )


def _verdict_text(verdict: Verdict) -> str:
    at = f" (q {verdict.q_value:.2g}, {verdict.confidence})" if verdict.q_value is not None else ""
    lines = [f"{verdict.kind.upper()} {verdict.subject.phrase()}{at}"]
    lines += [f"  {_evidence_text(one)}" for one in verdict.evidence[: MAX_SHOWN + 1]]
    left = len(verdict.evidence) - MAX_SHOWN - 1
    lines += [f"  and {left} more"] if left > 0 else []
    lines += [f"  next: {verdict.action}"]
    lines += [f"  what would decide: {verdict.needed}"] if verdict.needed else []
    return "\n".join([*lines, ""])


def _evidence_text(seen: Evidence) -> str:
    time = f"{seen.time:%Y-%m-%d %H:%M} " if seen.time else ""
    return f"{time}{seen.what} [{seen.source}]"


def _ranking_text(ranking: pl.DataFrame) -> str:
    """Return the ranking as a table: score, failures, use, rate and its interval, who."""
    lines = ["  score  failures  days  rate  90 % interval   who"]
    lines += [_row(unit) for unit in ranking.iter_rows(named=True)]
    title = "The worst by score; a rank alone flags nobody; --node NAME opens a score"
    return "\n".join([title, *lines, ""])


def _row(unit: Mapping[str, Any]) -> str:
    who = unit["host"] if unit["part"] is None else f"{unit['part']} on {unit['host']}"
    tier = f" ({unit['tier']})" if unit["tier"] else ""
    return (
        f"  {unit['score']:5.2f}  {unit['failures']:8.2f}  {unit['days']:4.0f}  "
        f"{unit['ratio']:4.1f}  {unit['ratio_low']:5.1f} to {unit['ratio_high']:5.1f}  {who}{tier}"
    )


class UnknownNodeError(ValueError):
    """Nobody of that name ran a job."""


def score_text(review: LemonReview, params: LemonParams, node: str) -> str:
    """Return what the score of a node, and of parts that failed in it, is made of.

    Args:
        review: What was found, of a history that was long enough.
        params: What it was found with.
        node: Its name.

    Raises:
        UnknownNodeError: No job ran there.
    """
    units = review.ranking.filter(pl.col("host") == node) if review.ranking.width else None
    if review.history is None or units is None or units.is_empty():
        raise UnknownNodeError(
            f"wanted a node that ran jobs, found '{node}'; --format json --top 9999 lists them"
        )
    events = find_score_events(review.history, params.history.decay)
    return "\n".join(
        _opened(unit, events.filter(pl.col("host") == node)) for unit in units.to_dicts()
    )


def _opened(unit: Mapping[str, Any], events: pl.DataFrame) -> str:
    """Return one score with its events."""
    own = events.filter(pl.col("part").eq_missing(pl.lit(unit["part"])))
    who = unit["host"] if unit["part"] is None else f"{unit['part']} on {unit['host']}"
    verdict = f"flagged, {unit['tier']}" if unit["tier"] else "not flagged"
    made = (
        f"  score {unit['score']:.2f} = {unit['failures']:.2f} of its failures as history fades + "
        f"{unit['score'] - unit['failures']:.2f} of nodes named like it; "
        f"{unit['days']:.0f} days of use; times in UTC"
    )
    lines = [f"{who}: {verdict} (q {unit['q_value']:.2g})", made]
    lines += [f"  {_event_text(row)}" for row in own.iter_rows(named=True)]
    lines += [] if own.height else ["  nothing is known against it"]
    return "\n".join([*lines, ""])


def _event_text(row: Mapping[str, Any]) -> str:
    time = f"{row['time']:%Y-%m-%d %H:%M}"
    quote = f"{row['what'] or 'nothing says why'} [{row['source'] or 'jobs'}]"
    if row["kind"] != "failure":
        return f"{time}         {row['kind']}: {quote}"
    shared = "" if row["is_named"] else "one of several that may have been it: "
    return f"{time}  +{row['counts']:.2f}  job {row['run']} failed: {shared}{quote}"
