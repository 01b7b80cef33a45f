"""Lists of findings: pages that leave nothing out and tell nothing twice, in both databases."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from alerts.incidents import Incident
from alerts.storing.databases import open_database
from alerts.storing.incident_store import IncidentStore
from alerts.storing.verdict_lists import VerdictFilters, find_verdicts


def of_host(incident: Incident, number: int) -> Incident:
    """Return the same fault in another run on another host; every second one is over."""
    host, run = f"hx8-{number:03d}", f"run-{number}"
    subject = replace(incident.suspects[0].subject, host=host, run=run)
    cleared = incident.as_of if number % 2 else None
    return replace(
        incident,
        id=f"{number:016x}",
        run=run,
        suspects=(replace(incident.suspects[0], subject=subject, cleared=cleared),),
        burns=(),
    )


@pytest.mark.parametrize(
    ("filters", "limit", "expected"),
    [
        pytest.param(VerdictFilters(), 2, [5, 4, 3, 2, 1], id="all, two a page"),
        pytest.param(VerdictFilters(lasting=True), 1, [4, 2], id="what lasts, one a page"),
        pytest.param(VerdictFilters(host="hx8-003"), 2, [3], id="one host"),
        pytest.param(VerdictFilters(kind="hang"), 2, [], id="no such kind"),
    ],
)
def test_pages(
    database_url: str,
    thermal_incident: Incident,
    service_now: datetime,
    filters: VerdictFilters,
    limit: int,
    expected: list[int],
) -> None:
    """Page after page gives every finding that fits once, the last to be found first."""
    engine = open_database(database_url)
    store = IncidentStore(engine)
    for number in range(1, 6):
        at = service_now + timedelta(seconds=number // 2)
        store.refresh([of_host(thermal_incident, number)], now=at)
    found, after = list[str](), None
    for _ in range(6):
        page = find_verdicts(engine, filters, limit=limit, after=after)
        found += [one.body["subject"]["host"] for one in page.records]
        after = page.next_after
        if after is None:
            break
    engine.dispose()

    assert sorted(found, reverse=True) == [f"hx8-{number:03d}" for number in expected]
