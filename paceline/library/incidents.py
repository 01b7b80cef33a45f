"""Incidents and verdicts of evidence: what is wrong, on what evidence, and why that was said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, overload

import polars as pl

from alerts.incidents import Incident
from alerts.titles import subject_text
from alerts.wording import UNKNOWN, amount_text, clock_text, counted_text, span_text
from collectors.frames import TIME, schema_of
from detectors.verdicts import Verdict, verdict_frame
from paceline.choices import GRAVEST, chosen_incident
from paceline.explanation_output import explanation_text, verdict_list
from paceline.explanations import Explanation
from paceline.explanations import explain as explain_verdict
from paceline.library.cards import Card, Shown, section, text_card
from paceline.library.evidence import Evidence, silent
from paceline.library.parts import fields_of
from paceline.reports.postmortem_text import postmortem_markdown
from paceline.reports.postmortems import Postmortem, postmortem_of

MAX_LINES: Final = 6
"""Lines of a part of a card; the object holds all."""

INCIDENT_ROWS: Final = schema_of(
    {
        "id": pl.String,
        "title": pl.String,
        "severity": pl.String,
        "state": pl.String,
        "run": pl.String,
        "culprit": pl.String,
        "cause": pl.String,
        "onset": TIME,
        "detected": TIME,
        "paged_at": TIME,
        "cleared": TIME,
        "ttd_seconds": pl.Float64,
        "ttp_seconds": pl.Float64,
        "ttr_seconds": pl.Float64,
        "ranks": pl.Int64,
        "hosts": pl.Int64,
        "gpu_hours_lost": pl.Float64,
    }
)
"""One incident, as `alerts.incidents.Incident` has it. `culprit` and `cause` are those of the first
suspect, null where nobody is accused; a null time or cost is not known."""


class UnknownVerdictError(LookupError):
    """There is no verdict of that number."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IncidentCard(Shown, Incident):
    """An incident that shows itself: headline, culprit, evidence, and what it cost."""

    def card(self) -> Card:
        """Return the incident as a notebook shows it."""
        suspects = [f"{_headline(one)}" for one in self.suspects]
        seen = [f"{one.source}: {one.what}" for who in self.suspects for one in who.evidence]
        actions = [one.action for one in (*self.suspects, *self.context) if one.action]
        return Card(
            title=f"{self.severity.upper()} {self.title}",
            facts=_facts(self),
            sections=(
                section("Suspects", suspects[:MAX_LINES]),
                section("Evidence", seen[:MAX_LINES]),
                section("Next", list(dict.fromkeys(actions))[:MAX_LINES]),
                section("What would decide", [self.needed] if self.needed else []),
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Incidents(Shown, Sequence[IncidentCard]):
    """Incidents in reading order: pages first, open ones first, then by onset.

    Attributes:
        items: The incidents.
    """

    items: tuple[IncidentCard, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """`INCIDENT_ROWS`, one row an incident, in the same order."""
        rows = [_row(one) for one in self.items]
        return pl.DataFrame(rows, schema=INCIDENT_ROWS)

    def named(self, name: str) -> IncidentCard:
        """Return the incident that is meant.

        Args:
            name: Its id, the first characters of it, or `gravest`.

        Raises:
            UnknownIncidentError: None is called so, or several are; the message lists them.
        """
        return chosen_incident(self.items, name)

    @overload
    def __getitem__(self, at: int) -> IncidentCard: ...
    @overload
    def __getitem__(self, at: slice) -> "Incidents": ...
    def __getitem__(self, at: int | slice) -> "IncidentCard | Incidents":
        """Return an incident by its place from 0, or some of them."""
        return Incidents(items=self.items[at]) if isinstance(at, slice) else self.items[at]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.items)

    def card(self) -> Card:
        """Return all of them, a line each; without any, that this is no proof of health."""
        if not self.items:
            return Card(title="No incident. That is not a proof of health: look at what was read.")
        lines = [f"{one.id}  {one.severity}, {one.state}: {one.title}" for one in self.items]
        return Card(title=counted_text(len(self.items), "incident"), text="\n".join(lines))

    def _repr_html_(self) -> str:
        """Return the cards of the first ones, one below the other."""
        shown = "".join(one._repr_html_() for one in self.items[:MAX_LINES])
        return shown + (Shown._repr_html_(self) if len(self.items) != 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ShownExplanation(Shown, Explanation):
    """An explanation that shows itself.

    Attributes:
        number: Which verdict it is, from 1.
        count: How many verdicts there are.
    """

    number: int
    count: int

    @property
    def thresholds(self) -> pl.DataFrame:
        """`THRESHOLDS`: which threshold would end each finding, the nearest first."""
        return pl.DataFrame(list(_threshold_rows(self)), schema=THRESHOLDS)

    def card(self) -> Card:
        """Return why, step by step."""
        title, _, lines = explanation_text(self, self.number, self.count).partition("\n")
        return text_card(title, lines)


THRESHOLDS: Final = schema_of(
    {
        "detector": pl.String,
        "finding": pl.String,
        "threshold": pl.String,
        "set": pl.Float64,
        "stands_to": pl.Float64,
        "gone_at": pl.Float64,
    }
)
"""One threshold that ends a finding when it is drawn tighter: what it is `set` to, the strictest
value that was tried at which the finding stands, and the first at which it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ShownPostmortem(Postmortem):
    """A postmortem that shows itself: as the document, and not as a card."""

    @property
    def markdown(self) -> str:
        """The document, ready for a ticket or a wiki."""
        return postmortem_markdown(self)

    def _repr_markdown_(self) -> str:
        """Return the document for a notebook."""
        return self.markdown

    def _repr_html_(self) -> str:
        """Return the document for a notebook that shows HTML first."""
        from markdown_it import MarkdownIt  # noqa: PLC0415 -- only a notebook needs it

        written: str = (
            MarkdownIt("commonmark", {"html": False}).enable("table").render(self.markdown)
        )
        return written

    def __repr__(self) -> str:
        """Return the document."""
        return self.markdown


def incidents(evidence: Evidence) -> Incidents:
    """Return the incidents of evidence, one a fault: pages first, open ones first, then by onset.

    Args:
        evidence: What was opened.
    """
    return Incidents(
        items=tuple(IncidentCard(**fields_of(one)) for one in evidence.analysis.incidents)
    )


def verdicts(evidence: Evidence) -> pl.DataFrame:
    """Return the findings of all detectors.

    Args:
        evidence: What was opened.

    Returns:
        `number` (from 1, as `explain` takes it), `who` (in words) and `VERDICTS`, in the order of
        `paceline analyze`. Healthy is no row; a row of kind `unknown` is not healthy.
    """
    ordered = evidence.analysis.verdicts
    frames = [verdict_frame([one]) for one in ordered] or [verdict_frame([])]
    who = pl.Series("who", [subject_text(one) for one in ordered], dtype=pl.String)
    return pl.concat(frames).insert_column(0, who).with_row_index("number", offset=1)


def explain(evidence: Evidence, verdict: int = 1) -> ShownExplanation:
    """Return why a verdict was said: peers, evidence, raw lines, and what would change it.

    Args:
        evidence: What was opened.
        verdict: Its number in `verdicts`, from 1.

    Raises:
        UnknownVerdictError: There is none of that number; the message lists those that are.
    """
    found = evidence.analysis.verdicts
    if not found:
        raise UnknownVerdictError(
            f"no verdict {verdict}: nothing was found in {evidence.name}; look at what was read"
        )
    if not 1 <= verdict <= len(found):
        raise UnknownVerdictError(f"no verdict {verdict}; there are:\n{verdict_list(found)}")
    told = explain_verdict(evidence.reading, found[verdict - 1], evidence.params.detectors, silent)
    return ShownExplanation(**fields_of(told), number=verdict, count=len(found))


def postmortem(evidence: Evidence, incident: str | Incident = GRAVEST) -> ShownPostmortem:
    """Return what the data gives for the document that is written after an incident.

    Args:
        evidence: What was opened.
        incident: The incident, its id or the first characters of it, or `gravest`.

    Raises:
        UnknownIncidentError: None is called so, or several are; the message lists them.
    """
    chosen = the_incident(evidence, incident)
    return ShownPostmortem(**fields_of(postmortem_of(evidence.analysis, chosen)))


def the_incident(evidence: Evidence, incident: str | Incident) -> Incident:
    """Return the incident that is meant.

    Args:
        evidence: What was opened.
        incident: The incident, its id or the first characters of it, or `gravest`.

    Raises:
        UnknownIncidentError: None is called so, or several are; the message lists them.
    """
    if isinstance(incident, Incident):
        return incident
    return chosen_incident(evidence.analysis.incidents, incident)


def _facts(incident: Incident) -> tuple[tuple[str, str], ...]:
    """Return culprit, times and cost of an incident."""
    radius = incident.blast_radius
    culprit = subject_text(incident.suspects[0]) if incident.suspects else "not known"
    since = " or before: the data begins there" if incident.onset_before_data else ""
    return (
        ("culprit", culprit),
        ("onset", f"{clock_text(incident.onset)}{since}"),
        ("detected", f"{clock_text(incident.detected)}, after {span_text(incident.ttd_seconds)}"),
        ("paged", clock_text(incident.paged_at) if incident.paged_at else "nobody was woken"),
        ("ended", clock_text(incident.cleared) if incident.cleared else incident.state),
        ("hurts", f"{', '.join(radius.jobs) or UNKNOWN}; ranks: {_count(radius.ranks)}"),
        ("GPU-hours lost", _cost_text(radius.gpu_hours_lost)),
        ("id", incident.id),
    )


def _cost_text(hours: float | None) -> str:
    return UNKNOWN if hours is None else f"{amount_text(hours)} (MODELED)"


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def _headline(verdict: Verdict) -> str:
    times = "" if verdict.slowdown is None else f" x{verdict.slowdown:.2f}"
    cause = "" if verdict.cause is None else f", {verdict.cause}"
    return f"{subject_text(verdict)}: {verdict.kind}{times}{cause}, confidence {verdict.confidence}"


def _row(incident: Incident) -> dict[str, object]:
    """Return a row of `INCIDENT_ROWS`."""
    lead = next(iter(incident.suspects), None)
    radius = incident.blast_radius
    own = {
        "culprit": lead and subject_text(lead),
        "cause": lead and lead.cause,
        "ranks": radius.ranks,
        "hosts": radius.hosts,
        "gpu_hours_lost": radius.gpu_hours_lost,
    }
    return {name: own[name] if name in own else getattr(incident, name) for name in INCIDENT_ROWS}


def _threshold_rows(explanation: Explanation) -> Iterator[dict[str, object]]:
    for finding in explanation.findings:
        for margin in finding.margins:
            yield {
                "detector": finding.detector,
                "finding": finding.verdict.kind,
                "threshold": margin.threshold.name,
                "set": margin.threshold.value,
                "stands_to": margin.stands_to,
                "gone_at": margin.gone_at,
            }
