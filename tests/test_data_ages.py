"""Tests of tickets for sources that fell silent."""

from datetime import UTC, datetime, timedelta

import pytest

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.incidents import join_incidents
from alerts.policies.data_ages import SourceAge, decide_data_ages
from alerts.policies.policies import DataAge
from detectors.verdicts import Verdict

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
RULE = DataAge.model_validate_json('{"max_age": "15m"}')


def minute(count: int) -> datetime:
    """Return a time some minutes after the start."""
    return START + timedelta(minutes=count)


def judged(newest: int | None, now: int, before: list[Verdict] | None = None) -> list[Verdict]:
    """Return what is said of one source whose newest data are of a minute."""
    told = None if newest is None else minute(newest)
    sources = [SourceAge(name="dcgm", newest=told, since=START)]
    return decide_data_ages(sources, before or [], RULE, now=minute(now))


@pytest.mark.parametrize(
    ("newest", "now", "expected"),
    [
        pytest.param(0, 15, [], id="as old as it may be"),
        pytest.param(0, 16, [(0, 15, None)], id="older"),
        pytest.param(None, 15, [], id="not waited for long"),
        pytest.param(None, 16, [(0, 15, None)], id="it never gave any"),
    ],
)
def test_ages(newest: int | None, now: int, expected: list[tuple[int, int, None]]) -> None:
    """A silent source is found from the time of its newest data on."""
    found = [(one.onset, one.detected, one.cleared) for one in judged(newest, now)]

    assert found == [(minute(onset), minute(seen), None) for onset, seen, _ in expected]


def test_back() -> None:
    """A source that answers again is told of once more, with the end of its silence."""
    silent = judged(0, 20)
    still = judged(0, 40, silent)
    back = judged(39, 41, still)
    after = judged(40, 42, back)

    assert (still, [one.cleared for one in back], after) == (silent, [minute(39)], [])


def test_a_ticket() -> None:
    """A silent source is a ticket and never a page."""
    (incident,) = join_incidents(
        judged(None, 40), [], RunFacts.unknown(), JoinParams(), now=minute(40)
    )

    assert (incident.severity, incident.title) == (
        "ticket",
        "Cluster is partly unwatched: dcgm (silent source)",
    )
