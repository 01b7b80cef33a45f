"""The budget report as one HTML page: no script, no network; its text pastes into a ticket."""

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from paceline.budget_output import budget_text
from paceline.reports.budget_plot import budget_plot
from slo.budget_reviews import ObjectiveReview


def build_budget_page(source: str, reviews: Sequence[ObjectiveReview], top: int) -> str:
    """Return the page.

    Args:
        source: Where the series come from.
        reviews: The objectives.
        top: How many groups and contributors of each to show.
    """
    environment = Environment(
        loader=PackageLoader("paceline.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Drawings are our own: Vega escapes the names that it writes into them.
    environment.filters["drawing"] = Markup
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
    return environment.get_template("budgets.html.j2").render(source=source, parts=parts)
