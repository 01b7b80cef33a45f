"""What pages are made of: moments, bars, links and words, where little is known."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from alerts.incidents import Incident
from alerts.service.health_routes import readiness
from alerts.service.pages.burn_bars import burn_bars
from alerts.service.pages.fleet_page import node_words
from alerts.service.pages.incident_page import is_web_address, next_step, resolution
from alerts.service.pages.list_page import list_rows
from alerts.service.pages.moments import moments
from alerts.service.parts import ServiceParts
from alerts.service.settings import ServiceSettings
from alerts.storing.incident_store import IncidentStore
from alerts.storing.records import IncidentFilters, IncidentRecord, PageRequest


@pytest.fixture
def record(thermal_store: IncidentStore) -> IncidentRecord:
    """The incident as it is kept."""
    (record,) = thermal_store.find(IncidentFilters(), PageRequest()).records
    return record


def words(record: IncidentRecord, incident: Incident) -> list[str]:
    """Return what stands at each moment that has no time."""
    return [one.words for one in moments(record, incident)]


def test_moments_of_a_ticket(record: IncidentRecord, thermal_incident: Incident) -> None:
    """Where there is no clock the step stands for the onset, and nobody is paged for a ticket."""
    told = replace(record, severity="ticket", onset=None, detected=None, paged_at=None)
    suspect = replace(thermal_incident.suspects[0], onset_step=93)

    assert words(told, replace(thermal_incident, suspects=(suspect,))) == [
        "step 93 (no clock)",
        "not known",
        "nobody: a ticket",
        "not yet",
        "not yet",
        "not yet",
    ]


def test_moments_of_the_end(record: IncidentRecord, thermal_incident: Incident) -> None:
    """What never happened to an incident that is over is told as such, not as still to come."""
    over = replace(record, state="resolved", onset=None)
    incident = replace(thermal_incident, onset_before_data=True)

    assert words(over, incident) == [
        "before the data began",
        "",
        "",
        "by nobody",
        "not told",
        "not known",
    ]


def test_a_moment_before_the_onset(record: IncidentRecord, thermal_incident: Incident) -> None:
    """An onset that was estimated late makes no time negative."""
    early = replace(record, detected=(record.onset or record.updated) - timedelta(seconds=5))

    assert [one.since_seconds for one in moments(early, thermal_incident)][1] == 0.0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, (35.0, 90.9, 13.1, True), id="what is evaluated now"),
        pytest.param({"run": "other"}, (13.7, 90.9, 13.1, False), id="else when it fired"),
        pytest.param(
            {"run": "other", "factor": None}, (13.7, 90.9, None, False), id="no threshold is told"
        ),
        pytest.param(
            {"run": "other", "long_burn_rate": None, "short_burn_rate": None},
            (None, None, 90.9, False),
            id="nothing is known but the threshold",
        ),
        pytest.param(
            {"run": "other", "long_burn_rate": float("inf"), "short_burn_rate": 20.0},
            (None, 90.9, 65.5, False),
            id="a rate without a length",
        ),
        pytest.param(
            {"run": "x", "factor": None, "long_burn_rate": None, "short_burn_rate": 0.0},
            (None, 0.0, None, False),
            id="nothing burns",
        ),
    ],
)
def test_bars(
    thermal_incident: Incident, still_live: Any, changed: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """Bars end where their rate lies on a scale that holds threshold and rates."""
    burns = [replace(one, **changed) for one in thermal_incident.burns]
    (bar,) = burn_bars(burns, still_live.slo_states)
    widths = [bar.long_width, bar.short_width, bar.limit_x]

    assert (*(None if one is None else round(one, 1) for one in widths), bar.is_now) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://grafana.example/d/x", True, id="a page"),
        pytest.param("javascript:alert(1)", False, id="a script"),
        pytest.param("http://[", False, id="no address"),
        pytest.param("/runbooks", False, id="no site"),
    ],
)
def test_web_addresses(url: str, expected: bool) -> None:
    """Only what leads to a page is a link."""
    assert is_web_address(url) == expected


def test_without_an_action(record: IncidentRecord, thermal_incident: Incident) -> None:
    """Without an action of a finding the usual step is told, and without a burn how it ends."""
    suspect = replace(thermal_incident.suspects[0], action=None)
    bare = replace(thermal_incident, suspects=(suspect,), burns=())

    assert next_step(bare) == "compare the ranks' compute times, then their device signals"
    assert resolution(record, bare) == (
        "It resolves by itself when its findings clear in the data."
    )
    assert resolution(replace(record, state="resolved", resolved_by="data"), bare) == (
        "It is over: its findings cleared."
    )


def test_order_of_the_list(record: IncidentRecord) -> None:
    """A page of the list begins with pages that are not over; the rest stays newest first."""
    rows = [
        replace(record, number=4, severity="ticket"),
        replace(record, number=3, state="resolved"),
        replace(record, number=2),
        replace(record, number=1, state="mitigated"),
    ]

    assert [row.record.number for row in list_rows(rows)] == [2, 1, 4, 3]


def test_no_nodes() -> None:
    """Without nodes nothing is counted."""
    assert node_words([]) == ""


def test_unreachable_database(still_live: Any, service_now: datetime, tmp_path: Path) -> None:
    """A service whose database cannot be opened is not ready, and says which part it is."""
    engine = create_engine(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}")
    parts = ServiceParts(
        store=IncidentStore(engine),
        live=still_live,
        settings=ServiceSettings(),
        now=lambda: service_now,
    )
    told = readiness(parts)
    engine.dispose()

    assert (told.status, told.database) == ("not ready", "unreachable")
