"""The Alertmanager configuration for our alerts, as a real Alertmanager obeys it."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
import requests
import yaml

from slo import alert_routes as alert_routes_module
from slo.alert_routes import alert_routes
from slo.burn_rules import burn_labels, routed_labels
from slo.specs import load_library, load_ready
from slo.windows import Severity

GENERATED = Path(alert_routes_module.__file__).parent / "generated"
OBJECTIVE = load_ready()
OTHER = replace(OBJECTIVE, name="other", group_labels=("zone",))
HURT = {"cluster": "c", "run": "hurt"}
WELL = {"cluster": "c", "run": "well"}
PATIENCE_SECONDS = 20.0

Alerts = dict[tuple[str, str], tuple[str, tuple[str, ...]]]
"""State and receivers of each alert, by severity and run."""


@pytest.fixture
def server(alertmanager: Callable[[str], AbstractContextManager[str]]) -> Iterator[str]:
    """An Alertmanager with our configuration, as it stands."""
    with alertmanager(alert_routes([OBJECTIVE, OTHER])) as url:
        yield url


def routed(severity: Severity, group: dict[str, str]) -> dict[str, dict[str, str]]:
    """A routed alert as Prometheus posts it."""
    return {"labels": {"alertname": severity, **group, **routed_labels(OBJECTIVE, severity)}}


def listed(url: str) -> Alerts:
    """What Alertmanager says of each alert."""
    return {
        (alert["labels"]["severity"], alert["labels"]["run"]): (
            alert["status"]["state"],
            tuple(receiver["name"] for receiver in alert["receivers"]),
        )
        for alert in requests.get(f"{url}/api/v2/alerts", timeout=10).json()
    }


def settled(url: str, expected: Alerts) -> Alerts:
    """What Alertmanager says once it says what is expected, or when patience ends."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while (found := listed(url)) != expected and time.monotonic() < give_up:
        time.sleep(0.1)
    return found


def test_inhibition(server: str) -> None:
    """Case 35: a page holds back tickets of its objective and group only; pairs reach nobody."""
    pair = {"labels": {"alertname": "x", **HURT, **burn_labels(OBJECTIVE, OBJECTIVE.windows[0])}}
    data = {"labels": {"alertname": "y", **HURT, "objective": "training-steps", "severity": "data"}}
    alerts = [
        routed("page", HURT),
        routed("ticket", HURT),
        routed("ticket", WELL),
        pair,
        data,
    ]
    expected = {
        ("page", "hurt"): ("active", ("page",)),
        ("ticket", "hurt"): ("suppressed", ("ticket",)),
        ("ticket", "well"): ("active", ("ticket",)),
        ("info", "hurt"): ("active", ("nobody",)),
        ("data", "hurt"): ("active", ("data",)),
    }

    requests.post(f"{server}/api/v2/alerts", json=alerts, timeout=10).raise_for_status()

    assert settled(server, expected) == expected


def test_ticket_remains(server: str) -> None:
    """Case 35: when the page ends, the ticket that it held back comes up."""
    alerts = [routed("page", HURT), routed("ticket", HURT)]
    held = {
        ("page", "hurt"): ("active", ("page",)),
        ("ticket", "hurt"): ("suppressed", ("ticket",)),
    }
    remains = {("ticket", "hurt"): ("active", ("ticket",))}
    ended = {**routed("page", HURT), "startsAt": "2026-01-01T00:00:00Z"}
    ended["endsAt"] = "2026-01-01T00:10:00Z"

    requests.post(f"{server}/api/v2/alerts", json=alerts, timeout=10).raise_for_status()
    before = settled(server, held)
    requests.post(f"{server}/api/v2/alerts", json=[ended], timeout=10).raise_for_status()

    assert (before, settled(server, remains)) == (held, remains)


def test_identity() -> None:
    """Groups and inhibition go by the objective and every group label, never by windows."""
    configuration = yaml.safe_load(alert_routes([OBJECTIVE, OTHER]))
    identity = ["objective", "cluster", "run", "zone"]

    assert configuration["inhibit_rules"][0]["equal"] == identity
    assert [route.get("group_by") for route in configuration["route"]["routes"]] == [
        None,
        *[["alertname", *identity]] * 3,
    ]


def test_generated(golden: Callable[[str, str], None]) -> None:
    """The committed configuration is that of the ready objectives."""
    golden(str(GENERATED / "alertmanager.yml"), alert_routes(load_library()))
