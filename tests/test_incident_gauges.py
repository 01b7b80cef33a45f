"""Tests of what is measured of open incidents."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerts.storing.records import IncidentRecord
from paceline.watching.incident_gauges import incident_gauges

ONSET = datetime(2026, 1, 5, 1, tzinfo=UTC)
KNOWN = IncidentRecord(
    id="a1",
    number=1,
    state="open",
    severity="page",
    run="r",
    title="r runs slow",
    onset=ONSET,
    detected=ONSET + timedelta(minutes=4),
    paged_at=None,
    first_seen=ONSET,
    updated=ONSET,
    version=1,
    body={"blast_radius": {"gpu_hours_lost": 2.0}},
)


def told(record: IncidentRecord) -> dict[tuple[str, ...], float]:
    """Values by name and labels."""
    return {(one.metric.name, *one.labels): one.value for one in incident_gauges([record], "c")}


def test_known() -> None:
    """What happened has its time, and the cost is in seconds of GPUs."""
    assert told(KNOWN) == {
        ("paceline_incident_open", "c", "a1"): 1.0,
        ("paceline_incident_timestamp_seconds", "c", "a1", "onset"): ONSET.timestamp(),
        ("paceline_incident_timestamp_seconds", "c", "a1", "detected"): ONSET.timestamp() + 240,
        ("paceline_incident_lost_gpu_seconds", "c", "a1"): 7200.0,
    }


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="no evidence is kept"),
        pytest.param({"blast_radius": None}, id="no radius"),
        pytest.param({"blast_radius": {"gpu_hours_lost": None}}, id="the cost is not known"),
    ],
)
def test_not_known(body: dict[str, object]) -> None:
    """What is not known has no series: never zero."""
    record = replace(KNOWN, onset=None, detected=None, body=body)

    assert told(record) == {("paceline_incident_open", "c", "a1"): 1.0}
