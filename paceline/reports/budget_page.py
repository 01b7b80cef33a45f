"""The budget report as one HTML page: no script, no network; its text pastes into a ticket."""

from collections.abc import Sequence

from paceline.budget_output import budget_text
from paceline.reports.budget_plot import budget_plot
from paceline.reports.page_templates import page_templates
from slo.budget_reviews import ObjectiveReview


def build_budget_page(source: str, reviews: Sequence[ObjectiveReview], top: int) -> str:
    """Return the page.

    Args:
        source: Where the series come from.
        reviews: The objectives.
        top: How many groups and contributors of each to show.
    """
    parts = [
        {
            "title": one.objective.title,
            "promise": one.objective.promise,
            "description": one.objective.description,
            "svg": budget_plot(one, prefix=f"b{number}"),
            "text": budget_text(source, [one], top).strip(),
        }
        for number, one in enumerate(reviews)
    ]
    return page_templates().get_template("budgets.html.j2").render(source=source, parts=parts)
