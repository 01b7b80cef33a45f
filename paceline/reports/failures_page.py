"""The page of failures: a stacked bar a week, and the tables of the text."""

from typing import Final

from paceline.failure_output import failure_text
from paceline.failure_tables import by_week, weeks_of
from paceline.fleet_review import FleetReview
from paceline.reports.page_templates import page_templates
from paceline.reports.stacked_bars import Bar, stacked_bars
from slo.failures import CAUSES

MAX_WEEKS: Final = 26
"""The latest weeks, which are drawn."""


def failures_page(review: FleetReview) -> str:
    """Return the page, which needs nothing beside itself.

    Args:
        review: What the history tells.
    """
    weeks = by_week(review.costs)
    shown = weeks_of(weeks).tail(MAX_WEEKS)
    counts = {(row["week"], row["cause"]): row["failures"] for row in weeks.to_dicts()}
    bars: list[Bar] = []
    for week in shown:
        parts = {cause: float(counts.get((week, cause), 0)) for cause in CAUSES}
        told = {cause: count for cause, count in parts.items() if count}
        name = f"week of {week}: {sum(told.values()):.0f}"
        bars.append(Bar(name=name, figure="", parts=told))
    most = max((sum(bar.parts.values()) for bar in bars), default=1.0)
    causes = set(weeks["cause"])
    return (
        page_templates()
        .get_template("failures.html.j2")
        .render(
            drawing=stacked_bars(bars, whole=most, prefix="failures") if bars else None,
            causes={name: text for name, text in CAUSES.items() if name in causes},
            text=failure_text(review, top=20),
        )
    )
