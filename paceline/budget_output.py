"""What `paceline slo report` prints: for each group what is left, how fast it goes, whose it is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
import polars as pl

from alerts.wording import count_text, percent_text, rate_text
from detectors.verdicts import rfc3339
from paceline.json_rows import json_rows
from slo.budget_reviews import ObjectiveReview
from slo.budgets import MIN_JUDGED_COVERAGE_RATIO
from slo.guard_conditions import max_lone_failure_rate
from slo.objectives import Objective
from slo.windows import duration

Row = Mapping[str, Any]

_CLOCK: Final = "%Y-%m-%d %H:%M"
_WORDS: Final = {
    "firing": "FIRING",
    "fault": "the data contradict each other",
    "warming_up": "warming up: too little history for some windows",
    "quiet": "quiet",
    "no_data": "NO DATA in any window",
}


def budget_bytes(source: str, reviews: Sequence[ObjectiveReview]) -> bytes:
    """Return reviews as JSON, indented, with a final line break."""
    told = {"source": source, "objectives": [review_json(one) for one in reviews]}
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def review_json(review: ObjectiveReview) -> dict[str, object]:
    """Return one review as JSON has it: times as RFC 3339, what is not known null."""
    objective = review.objective
    return {
        "objective": objective.name,
        "title": objective.title,
        "promise": objective.promise,
        "method": objective.method.value,
        "as_of": rfc3339(review.as_of),
        "lone_failures": {
            one.name: max_lone_failure_rate(objective, one) for one in objective.windows
        },
        "exclusions": [
            {
                "start": rfc3339(one.start),
                "end": rfc3339(one.end),
                "author": one.author,
                "reason": one.reason,
            }
            for one in objective.exclusions
        ],
        "budgets": json_rows(review.budgets),
        "budgets_beside": json_rows(review.beside),
        "outlooks": json_rows(review.outlooks),
        "burns": json_rows(review.burns),
        "days": json_rows(review.days),
        "contributors": json_rows(review.contributors),
        "trend": json_rows(review.trend),
    }


def budget_text(source: str, reviews: Sequence[ObjectiveReview], top: int) -> str:
    """Return what people read, and paste into a ticket.

    Args:
        source: Where the series come from.
        reviews: The objectives.
        top: How many groups and contributors of each to show.
    """
    return "\n".join(line for one in reviews for line in _review_lines(source, one, top))


def _review_lines(source: str, review: ObjectiveReview, top: int) -> Iterator[str]:
    objective = review.objective
    yield f"{objective.title} ({objective.name}): {objective.promise}"
    yield (
        f"As of {review.as_of:{_CLOCK}} UTC, from {source}. "
        f"{objective.method.value}{_semantics(review)}."
    )
    yield from _lone_failure_lines(objective)
    yield from _exclusion_lines(objective)
    if review.budgets.is_empty():
        yield "No event in the period: nothing is known, which is not the same as healthy."
    worst = _worst_first(review)
    for row in worst.head(top).iter_rows(named=True):
        yield ""
        yield from _group_lines(review, row)
    if worst.height > top:
        yield f"and {worst.height - top} more groups, with more left; see --top or --format json"
    yield from _contributor_lines(review, top)
    yield ""


def _semantics(review: ObjectiveReview) -> str:
    """Return whose arithmetic was followed; nothing where nothing was counted."""
    told: list[str] = review.budgets["semantics"].unique().to_list()
    return "".join(f", {one}" for one in told)


def _worst_first(review: ObjectiveReview) -> pl.DataFrame:
    """Return the groups: those that fire, then those with the least left."""
    labels = list(review.objective.group_labels)
    both = review.budgets.with_columns(_all=0).join(
        review.outlooks.with_columns(_all=0), on=["_all", *labels], nulls_equal=True
    )
    return both.sort(pl.col("state") != "firing", "budget_left_ratio", *labels, nulls_last=True)


def _lone_failure_lines(objective: Objective) -> Iterator[str]:
    """Yield below which traffic one bad event alone pages."""
    rates = [
        max_lone_failure_rate(objective, one) for one in objective.windows if one.severity == "page"
    ]
    known = [one for one in rates if one is not None]
    what = "step" if objective.slow_step_ratio is not None else "event"
    if known:
        yield f"A single failure pages below {max(known):.3g} {what}s per hour."
    elif rates:
        yield "A single failure never pages."


def _exclusion_lines(objective: Objective) -> Iterator[str]:
    for one in objective.exclusions:
        yield (
            f"Maintenance {one.start:%Y-%m-%d %H:%M %Z} to {one.end:%Y-%m-%d %H:%M %Z}, declared "
            f"by {one.author}: {one.reason}"
        )


def _group_lines(review: ObjectiveReview, row: Row) -> Iterator[str]:
    """Yield all about one group."""
    labels = review.objective.group_labels
    yield f"{group_name(row, labels)}: {_WORDS[row['state']]}"
    for budget in (row, *_of(review.beside, row, labels)):
        yield f"  {_budget_words(budget)}"
    if row["excluded_seconds"]:
        yield (
            f"  without maintenance ({row['excluded_seconds'] / 60:.0f} min): "
            f"{_left(row['net_budget_left_ratio'])} left, {count_text(row['net_bad'])} bad of "
            f"{count_text(row['net_total'])}"
        )
    if is_judged(row):
        yield f"  {_outlook_words(row)}"
    for burn in _of(review.burns, row, labels):
        yield f"  {_burn_words(burn)}"
    if row["fault"]:
        yield f"  data fault: {row['fault'].replace('_', ' ')}; do not trust these numbers"
    days = [one for one in _of(review.days, row, labels) if one["bad"] > 0]
    if days:
        days.sort(key=lambda one: -one["bad"])
        said = [f"{count_text(one['bad'])} up to {one['time']:{_CLOCK}}" for one in days[:3]]
        yield f"  worst days: {', '.join(said)}"


def _of(frame: pl.DataFrame, row: Row, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of the same group."""
    same = [pl.col(one).eq_missing(pl.lit(row[one], dtype=pl.String)) for one in labels]
    return frame.filter(pl.all_horizontal(pl.lit(value=True), *same)).to_dicts()


def group_name(row: Row, labels: Sequence[str]) -> str:
    """Return whose budget it is."""
    named = [f"{label} {row[label]}" for label in labels if row[label] is not None]
    return ", ".join(named) or "everything"


def _budget_words(row: Row) -> str:
    kind = "rolling" if row["period"] == "rolling" else f"calendar {row['period']}"
    since = f"{kind} from {row['period_start']:{_CLOCK}}"
    counts = f"{count_text(row['bad'])} bad of {count_text(row['total'])}"
    known = f"data for {percent_text(row['coverage_ratio'])} of it"
    if is_judged(row):
        return f"{_left(row['budget_left_ratio'])} of the budget left, {since}: {counts}, {known}"
    return f"budget not judged, {since}: {known}; {counts} so far{_spent_words(row)}"


def is_judged(row: Row) -> bool:
    """Return whether there is enough data of the period to speak of its budget."""
    coverage: float | None = row["coverage_ratio"]
    return coverage is None or coverage >= MIN_JUDGED_COVERAGE_RATIO


def _spent_words(row: Row) -> str:
    """Return what is spent of what a whole period at the traffic seen so far would allow."""
    if row["budget_left_ratio"] is None:
        return ""
    spent = (1 - row["budget_left_ratio"]) * row["coverage_ratio"]
    # The coverage of a calendar's period is that of its part which is over.
    whole = "a whole period" if row["period"] == "rolling" else "the period up to now"
    return f", {percent_text(spent)} of what {whole} allows at this traffic"


def _left(ratio: float | None) -> str:
    """Return a share of a budget; an overspent one is below zero and never cut."""
    return percent_text(ratio)


def _outlook_words(row: Row) -> str:
    if row["is_spent"]:
        return "spent: every further bad event breaks the promise by more"
    if row["exhausts_at"] is None:
        return "does not run out at the present pace"
    return (
        f"runs out {row['exhausts_at']:{_CLOCK}} UTC at the pace of the last "
        f"{duration(row['pace_seconds'])}"
    )


def _burn_words(row: Row) -> str:
    """Return one pair: its burn in both windows, its limit and its state."""
    limit = (
        row["threshold_ratio"] * row["long_burn_rate"] / row["long_error_ratio"]
        if (row["long_error_ratio"])
        else None
    )
    said = f" (limit {rate_text(limit)})" if limit is not None else ""
    return (
        f"{row['severity']:<6} {_window(row, 'long')} and {_window(row, 'short')}{said}: "
        f"{row['state'].replace('_', ' ')}"
    )


def _window(row: Row, which: str) -> str:
    burn = row[f"{which}_burn_rate"]
    bad, total = count_text(row[f"{which}_bad"]), count_text(row[f"{which}_total"])
    name = duration(row[f"{which}_seconds"])
    return f"{name} no data" if burn is None else f"{name} {rate_text(burn)} ({bad}/{total})"


def _contributor_lines(review: ObjectiveReview, top: int) -> Iterator[str]:
    """Yield where the bad events of the period come from."""
    for (label,), rows in review.contributors.group_by("label", maintain_order=True):
        said = [
            f"{row['name'] or 'none'} {percent_text(row['share_ratio'])}"
            for row in rows.head(top).iter_rows(named=True)
        ]
        more = f", and {rows.height - top} more" if rows.height > top else ""
        yield f"Bad events by {label}: {', '.join(said)}{more}"
