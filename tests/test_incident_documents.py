"""Tests of incidents that are read back from JSON."""

from typing import Any

import orjson
import pytest

from alerts.incident_documents import IncidentDocumentError, read_incident, read_verdict
from alerts.incidents import Incident, incident_json
from detectors.verdicts import verdict_json


def test_round_trip(slow_host_incident: Incident) -> None:
    """An incident and its findings are the same after JSON."""
    told = orjson.loads(orjson.dumps(incident_json(slow_host_incident)))
    finding = slow_host_incident.suspects[0]

    assert read_incident(told) == slow_host_incident
    assert read_verdict(orjson.loads(orjson.dumps(verdict_json(finding)))) == finding


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"id": None}, "an incident.*: id$", id="no id"),
        pytest.param({"suspects": [{}]}, "suspects.0.confidence", id="a finding without a level"),
    ],
)
def test_refusals(slow_host_incident: Incident, change: dict[str, Any], message: str) -> None:
    """What is no incident is refused with the places that are wrong."""
    with pytest.raises(IncidentDocumentError, match=message):
        read_incident({**incident_json(slow_host_incident), **change})


def test_refused_finding() -> None:
    """What is no finding is refused as such."""
    with pytest.raises(IncidentDocumentError, match="wanted a finding"):
        read_verdict({})
