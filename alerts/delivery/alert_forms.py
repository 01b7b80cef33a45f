"""An incident in the form of an alert: labels that name it, annotations that tell of it.

Source: Alertmanager: an alert is its labels, so they may not change while it lasts. They are those
of the incident as it was told first; what is learnt later goes into the annotations.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from alerts.delivery.letters import Letter
from alerts.delivery.telling import Places, links_of
from alerts.incidents import Incident
from alerts.pages import page_text

ALERT_NAME: Final = "PacelineIncident"
INCIDENT_LABEL: Final = "incident"
"""Label that holds the incident's id; it is how we know our own alerts again."""

_LINKS: Final = {
    "Incident": "incident_url",
    "Runbook": "runbook_url",
    "Dashboard": "dashboard_url",
}


def alert_labels(letter: Letter) -> Mapping[str, str]:
    """Return the labels of a letter's alert: none is empty, and none changes while it lasts."""
    incident = _first_told(letter)
    lead = next(iter((*incident.suspects, *incident.context)), None)
    labels = {
        "alertname": ALERT_NAME,
        INCIDENT_LABEL: incident.id,
        "severity": incident.severity,
        "run": incident.run,
        "kind": lead.kind if lead else "burn",
        "host": lead.subject.host if lead else None,
    }
    return {name: value for name, value in labels.items() if value}


def alert_annotations(letter: Letter, places: Places) -> Mapping[str, str]:
    """Return what is said about a letter's alert."""
    links = {_LINKS[link.text]: link.url for link in links_of(letter.incident, places)}
    told = {"summary": letter.incident.title, "description": page_text(letter.incident)}
    return told | links


def alert_start(letter: Letter) -> datetime:
    """Return when a letter's alert began: when the fault was seen, as alerts have it."""
    incident = _first_told(letter)
    return incident.paged_at or incident.detected or incident.onset or letter.created


def _first_told(letter: Letter) -> Incident:
    return letter.standing or letter.incident
