"""The page of goodput: a stacked bar a run, the figures behind it, and what is not known."""

from typing import Any, Final

import polars as pl

from paceline.fleet_review import FleetReview
from paceline.goodput_output import NAMELESS, ettr_text, goodput_phrase, worst_first
from paceline.reports.page_templates import page_templates
from paceline.reports.stacked_bars import Bar, stacked_bars
from slo.parts import PARTS

MAX_BARS: Final = 12
"""Runs that are drawn: those that lost most. Without steps there is little to see of a run, so that
those with steps come first."""

MAX_ROWS: Final = 200


def goodput_page(review: FleetReview) -> str:
    """Return the page, which needs nothing beside itself.

    Args:
        review: What the history tells.
    """
    runs = worst_first(review.goodput.runs)
    rows = runs.head(MAX_ROWS).to_dicts()
    seconds = {part: float(runs[f"{part}_seconds"].sum()) for part in PARTS}
    expected = {row["run"]: ettr_text(row) for row in review.ettr.iter_rows(named=True)}
    known = [row for row in rows if row["goodput_ratio"] is not None]
    bars = [_bar(row) for row in (known or rows)[:MAX_BARS]]
    return (
        page_templates()
        .get_template("goodput.html.j2")
        .render(
            runs=rows,
            more=runs.height - len(rows),
            undrawn=runs.height - len(bars),
            drawing=stacked_bars(bars, whole=None, prefix="goodput"),
            parts={part: text for part, text in PARTS.items() if seconds[part] > 0.0},
            ettr=expected,
            needs=_needs(review.goodput.needs),
            undated=[name or NAMELESS for name in review.goodput.undated],
            nameless=NAMELESS,
        )
    )


def _bar(row: dict[str, Any]) -> Bar:
    size = f" on {row['gpus']} GPUs" if row["gpus"] else ""
    return Bar(
        name=f"{row['run'] or NAMELESS}",
        figure=f"goodput {goodput_phrase(row)}{size}",
        parts={part: row[f"{part}_seconds"] for part in PARTS if row[f"{part}_seconds"]},
    )


def _needs(needs: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what is not known, and of how many runs."""
    counts = needs.group_by("need").agg(runs=pl.len(), run=pl.col("run").sort().first())
    return counts.sort("runs", "need", descending=[True, False]).to_dicts()
