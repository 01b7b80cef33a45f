"""A postmortem as Markdown, and as a page with its plots.

Source: as `paceline.reports.postmortems`. Blanks are for people to fill in. Names and messages from
the data are escaped in both forms: a log line is text, never markup.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt

from alerts.incidents import Incident
from alerts.wording import (
    UNKNOWN,
    amount_text,
    clock_text,
    flat_text,
    percent_text,
    span_text,
)
from paceline.reports.documents import RunDrawings, report_templates
from paceline.reports.postmortems import Postmortem
from paceline.reports.rank_map import MISSING_COLOR, RATIO_COLORS, RATIO_STOPS

_MARKUP: Final = re.compile(r"([\\|*<>\[\]`~#])")

MAX_CHARACTERS: Final = 400
"""A line of evidence; longer ones stand whole where they were read."""


def postmortem_markdown(postmortem: Postmortem) -> str:
    """Return the postmortem as Markdown, ready for a ticket or a wiki."""
    incident = postmortem.incident
    actions = [one.action for one in (*incident.suspects, *incident.context) if one.action]
    return (
        _markdown_templates()
        .get_template("postmortem.md.j2")
        .render(
            incident=incident,
            summary=_summary(postmortem),
            impact=_impact(postmortem),
            detection=_detection(incident),
            resolution=_resolution(incident),
            changes=postmortem.changes,
            moments=postmortem.moments,
            unknown=postmortem.unknown,
            actions=list(dict.fromkeys(actions)),
        )
    )


def postmortem_page(postmortem: Postmortem, drawings: Sequence[RunDrawings]) -> str:
    """Return the postmortem as an HTML page that needs nothing beside itself.

    Args:
        postmortem: What the data gives.
        drawings: Plots of the hurt runs.
    """
    written = MarkdownIt("commonmark", {"html": False}).enable("table")
    return (
        report_templates()
        .get_template("postmortem.html.j2")
        .render(
            title=postmortem.incident.title,
            body=written.render(postmortem_markdown(postmortem)),
            drawings=drawings,
            stops=[f"{stop:.2f}x" for stop in RATIO_STOPS],
            colors=RATIO_COLORS,
            missing=MISSING_COLOR,
        )
    )


def _summary(postmortem: Postmortem) -> str:
    """Return in a sentence or two who was hurt, how much, for how long, and by whom."""
    incident, steps = postmortem.incident, postmortem.steps
    ended = incident.cleared is not None
    lasted = f"lasted {span_text(incident.ttr_seconds)}" if ended else "still lasts"
    hurt = [f"{incident.title}. It began at {clock_text(incident.onset)} and {lasted}."]
    if steps is not None:
        hurt.append(
            f"A step took x{steps.slowdown:.2f} of its healthy time at the median; "
            f"{steps.slow:,} of {steps.judged:,} judged steps were slow."
        )
    lost = incident.blast_radius.gpu_hours_lost
    if lost is not None:
        hurt.append(f"It cost {amount_text(lost)} GPU-hours.")
    return " ".join(hurt)


def _impact(postmortem: Postmortem) -> list[tuple[str, str]]:
    """Return names and figures; what is not known says so."""
    incident, steps = postmortem.incident, postmortem.steps
    radius = incident.blast_radius
    rows = [
        ("runs", ", ".join(radius.jobs) or UNKNOWN),
        ("ranks that waited", UNKNOWN if radius.ranks is None else f"{radius.ranks:,}"),
        ("hosts", UNKNOWN if radius.hosts is None else f"{radius.hosts:,}"),
        ("lasted", span_text(incident.ttr_seconds)),
        ("GPU-hours lost", amount_text(radius.gpu_hours_lost)),
    ]
    if steps is not None:
        slow = f"{steps.slow:,} of {steps.judged:,} judged ({percent_text(steps.slow_ratio)})"
        pace = f"{steps.median_seconds:.2f} s, healthy {steps.baseline_seconds:.2f} s"
        rows += [("slow steps", slow), ("median step", f"{pace} (x{steps.slowdown:.2f})")]
    return rows


def _detection(incident: Incident) -> list[str]:
    """Return how it was found, and how long that took."""
    seen = _later(incident.detected, incident.ttd_seconds)
    if incident.paged_at is None:
        paged = "Nobody was paged: no burn-rate alert of the page tier fired on this data."
    else:
        paged = f"A page went out {_later(incident.paged_at, incident.ttp_seconds)}."
    return [f"First seen {seen}.", paged]


def _resolution(incident: Incident) -> str:
    if incident.cleared is None:
        return f"It still lasts at the end of the data, {clock_text(incident.as_of)}."
    return f"It ended {_later(incident.cleared, incident.ttr_seconds)}."


def _later(time: datetime | None, seconds: float | None) -> str:
    """Return a time with its distance from the onset, where that is known."""
    after = "" if seconds is None else f", {span_text(seconds)} after the onset"
    return f"{clock_text(time)}{after}"


def _markdown_templates() -> Environment:
    """Return the templates of Markdown, in which `md` escapes what is from data."""
    templates = Environment(
        loader=PackageLoader("paceline.reports", "templates"),
        autoescape=False,  # noqa: S701 -- Markdown, in which HTML is text: see `_escaped`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"md": _escaped, "clock": clock_text}
    return templates


def _escaped(text: str) -> str:
    """Return a text on one line in which nothing is markup."""
    flat = flat_text(text)
    cut = flat if len(flat) <= MAX_CHARACTERS else f"{flat[: MAX_CHARACTERS - 4]} ..."
    return _MARKUP.sub(r"\\\1", cut)
