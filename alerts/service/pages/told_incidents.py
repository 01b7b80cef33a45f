"""From the JSON that the database keeps back to incidents, so that pages speak as all else does."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter

from alerts.incidents import Incident
from detectors.verdicts import Evidence, Kind, Verdict, rfc3339

_INCIDENT: Final = TypeAdapter(Incident)
_VERDICT: Final = TypeAdapter(Verdict)
_KEY_CHARACTERS: Final = 16


def told_incident(body: Mapping[str, Any]) -> Incident:
    """Return the incident that `alerts.incidents.incident_json` was made of."""
    return _INCIDENT.validate_python(body)


def told_verdict(body: Mapping[str, Any]) -> Verdict:
    """Return the finding that `detectors.verdicts.verdict_json` was made of."""
    return _VERDICT.validate_python(body)


def lead_kind(incident: Incident) -> Kind:
    """Return the kind that the runbook of an incident is about."""
    lead = next(iter((*incident.suspects, *incident.context)), None)
    return lead.kind if lead else "unknown"


def findings(incident: Incident) -> Sequence[Verdict]:
    """Return all findings of an incident, suspects first."""
    return (*incident.suspects, *incident.context)


def evidence_key(seen: Evidence) -> str:
    """Return the name of a piece of evidence in links: it stays while ticks reorder findings."""
    parts = (seen.source, rfc3339(seen.time) if seen.time else None, seen.what)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:_KEY_CHARACTERS]


def find_evidence(incident: Incident, key: str) -> Evidence | None:
    """Return the evidence with a name; null when the incident rests on it no more."""
    seen = (each for one in findings(incident) for each in one.evidence)
    return next((each for each in seen if evidence_key(each) == key), None)
