"""What the page of an incident shows, from the top: who, what now, since when, on what evidence."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from alerts.incidents import Incident
from alerts.service.live import PLOT_CAPTIONS
from alerts.service.pages.burn_bars import burn_bars
from alerts.service.pages.moments import moments
from alerts.service.pages.told_incidents import (
    evidence_key,
    findings,
    lead_kind,
    told_incident,
)
from alerts.service.parts import ServiceParts
from alerts.service.runbooks import runbook_url
from alerts.storing.records import HistoryEntry, IncidentRecord
from alerts.titles import subject_text
from slo.windows import duration

MAX_SIMILAR: Final = 5
MAX_EVIDENCE: Final = 60
_USUAL_STEP: Final = "compare the ranks' compute times, then their device signals"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPlot:
    """A drawing with what stands above it."""

    name: str
    title: str
    words: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvidence:
    """One thing that was seen, of whom, and its name in links."""

    key: str
    who: str
    source: str
    time: datetime | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEntry:
    """One thing that happened."""

    at: datetime
    actor: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link to a page of the users' own."""

    url: str
    words: str


def incident_page(parts: ServiceParts, record: IncidentRecord) -> dict[str, object]:
    """Return what the template of an incident's page shows."""
    incident = told_incident(record.body)
    store, kind = parts.store, lead_kind(incident)
    return {
        "record": record,
        "incident": incident,
        "kind": kind,
        "runbook": runbook_url(kind, parts.settings),
        "next_step": next_step(incident),
        "resolves": resolution(record, incident),
        "alternatives": list(
            dict.fromkeys(name for one in incident.context for name in one.alternatives)
        ),
        "links": links(incident),
        "moments": moments(record, incident),
        "bars": burn_bars(incident.burns, parts.live.slo_state()),
        "plots": shown_plots(parts.live.plots(record.id)),
        "evidence": shown_evidence(incident),
        "history": [shown_entry(entry) for entry in store.history(record.id)],
        "similar": store.similar(record.id)[:MAX_SIMILAR],
        "merged_into": record.merged_into and store.get(record.merged_into),
        "inhibited_by": record.inhibited_by and store.get(record.inhibited_by),
        "fresh_key": secrets.token_hex(16),
    }


def next_step(incident: Incident) -> str:
    """Return the one thing to do next."""
    return next((one.action for one in findings(incident) if one.action), _USUAL_STEP)


def resolution(record: IncidentRecord, incident: Incident) -> str:
    """Return how it ends, so that nobody waits at the screen."""
    if record.state == "resolved":
        by = "its findings cleared" if record.resolved_by == "data" else f"by {record.resolved_by}"
        return f"It is over: {by}."
    pages = [one for one in incident.burns if one.severity == "page"] or incident.burns
    if not pages:
        return "It resolves by itself when its findings clear in the data."
    longest = duration(max(one.short_seconds for one in pages))
    return (
        f"The alert lets go by itself, at most {longest} after the steps are healthy again: no "
        "need to wait at the screen."
    )


def links(incident: Incident) -> list[Link]:
    """Return where the objectives that burn are written down and drawn, each once."""
    told = [
        Link(url=url, words=words)
        for burn in incident.burns
        for url, words in (
            (burn.runbook_url, f"Runbook of {burn.objective}"),
            (burn.dashboard_url, f"Dashboard of {burn.objective}"),
        )
        if url is not None and is_web_address(url)
    ]
    return list(dict.fromkeys(told))


def is_web_address(url: str) -> bool:
    """Return whether a link leads to a page, and runs nothing."""
    try:
        return urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False


def shown_plots(plots: Mapping[str, str]) -> list[ShownPlot]:
    """Return drawings with their captions, in the order of `PLOT_CAPTIONS`, others after them."""
    order = {name: place for place, name in enumerate(PLOT_CAPTIONS)}
    names = sorted(plots, key=lambda name: (order.get(_family(name), len(order)), name))
    return [_shown_plot(name, plots[name]) for name in names]


def _family(name: str) -> str:
    """Return what a drawing is one of."""
    return name.partition(":")[0].partition("-")[0]


def _shown_plot(name: str, svg: str) -> ShownPlot:
    family, own = _family(name), name.partition(": ")[2]
    title, words = PLOT_CAPTIONS.get(family, (family.replace("_", " ").capitalize(), ""))
    return ShownPlot(name=family, title=own or title, words=words, svg=svg)


def shown_evidence(incident: Incident) -> list[ShownEvidence]:
    """Return what an incident rests on, each thing once, suspects' first."""
    rows = (
        ShownEvidence(
            key=evidence_key(seen),
            who=subject_text(one),
            source=seen.source,
            time=seen.time,
            what=seen.what,
        )
        for one in findings(incident)
        for seen in one.evidence
    )
    return _once(rows)[:MAX_EVIDENCE]


def _once(rows: Iterable[ShownEvidence]) -> list[ShownEvidence]:
    """Return rows without those that say the same again."""
    return list({row.key: row for row in reversed(list(rows))}.values())[::-1]


def shown_entry(entry: HistoryEntry) -> ShownEntry:
    """Return what happened, with what was said about it."""
    said = [value for value in entry.body.values() if isinstance(value, str)]
    return ShownEntry(at=entry.at, actor=entry.actor, kind=entry.kind, text="; ".join(said))
