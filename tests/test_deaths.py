"""A process that died and the rank that does not come are one fault."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from detectors.deaths import named_deaths
from detectors.placing import ROLES
from detectors.verdicts import Evidence, Subject, Verdict

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


def crash(minutes: float | None = -5, cause: str = "xid_79", **who: Any) -> Verdict:
    """A process that died on a GPU of a host, so long after the hang was told."""
    names: dict[str, Any] = {"run": "a", "host": "h2"} | who
    subject = Subject(**names)
    onset = None if minutes is None else START + timedelta(minutes=minutes)
    seen = (Evidence(source="kern.log:1", what="fell off the bus"),)
    return Verdict(
        kind="crash",
        level="gpu" if subject.gpu is not None else "host",
        subject=subject,
        confidence="high",
        cause=cause,
        onset=onset,
        evidence=seen,
    )


def hang(detected: datetime | None = START, **who: Any) -> Verdict:
    """A rank that has not come."""
    seen = (Evidence(source="job.log:1", what="rank 11 was not heard"),)
    names: dict[str, Any] = {"run": "a", "rank": 11} | who
    return Verdict(
        kind="hang",
        level="rank",
        subject=Subject(**names),
        confidence="high",
        detected=detected,
        evidence=seen,
    )


def places(*hosts: str) -> pl.DataFrame:
    """Ranks of the run, each on the host given."""
    rows = [{"run": "a", "rank": rank, "host": host} for rank, host in enumerate(hosts)]
    return pl.DataFrame(rows, ROLES)


def told(*verdicts: Verdict, roles: pl.DataFrame | None = None) -> list[tuple[str, int | None]]:
    """Kind and rank of what is left."""
    found = named_deaths(verdicts, ROLES.to_frame() if roles is None else roles)
    return [(one.kind, one.subject.rank) for one in found]


ONE = [("crash", 11)]
BOTH = [("crash", None), ("hang", 11)]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param([crash(), hang()], ONE, id="one died, and one does not come"),
        pytest.param([crash(gpu=3), hang()], ONE, id="the same of a GPU"),
        pytest.param([crash(host=None, gpu=3), hang()], ONE, id="or of a place on an unknown host"),
        pytest.param([crash(0.5), hang()], ONE, id="clocks of two hosts differ"),
        pytest.param([crash(30), hang()], BOTH, id="who died later did not hold up the others"),
        pytest.param([crash(None), hang()], BOTH, id="nobody knows when it died"),
        pytest.param([crash(), hang(None)], BOTH, id="nor when the others complained"),
        pytest.param([crash(cause="operator"), hang()], BOTH, id="an operator is no death"),
        pytest.param([crash(host=None), hang()], BOTH, id="a death without a place is nobody's"),
        pytest.param([crash(run="b"), hang()], BOTH, id="a death in another run is another's"),
        pytest.param([crash(run=None), hang()], ONE, id="a kernel knows no run"),
        pytest.param(
            [crash(), hang(), hang(rank=12)],
            [*BOTH, ("hang", 12)],
            id="two do not come: which of them died is open",
        ),
        pytest.param(
            [crash(), crash(host="h3"), hang()],
            [("crash", None), *BOTH],
            id="two died: which of them does not come is open",
        ),
        pytest.param(
            [crash(rank=7), hang()], [("crash", 7), ("hang", 11)], id="it was another rank"
        ),
        pytest.param([crash(), hang(host="h2")], [("crash", None)], id="it hangs where one died"),
        pytest.param([crash(None), hang(host="h2")], [("crash", None)], id="whenever that was"),
        pytest.param([crash(30), hang(host="h2")], BOTH, id="unless that was later"),
        pytest.param([crash(), hang(host="h3")], BOTH, id="it hangs on another host"),
        pytest.param(
            [crash(gpu=3), hang(host="h2", gpu=4)], BOTH, id="it hangs on another GPU of the host"
        ),
        pytest.param(
            [crash(), replace(hang(), level="job")], BOTH, id="a hang that names nobody stays"
        ),
    ],
)
def test_deaths(verdicts: list[Verdict], expected: list[tuple[str, int | None]]) -> None:
    """What is left of a crash and of an absence."""
    assert told(*verdicts) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        pytest.param(places("h1", "h2"), ONE, id="it is one of the run's hosts"),
        pytest.param(places("h1", "h3"), BOTH, id="it is none of them"),
    ],
)
def test_members(roles: pl.DataFrame, expected: list[tuple[str, int | None]]) -> None:
    """A host without a rank of the run has no part in its hang."""
    assert told(crash(), hang(), roles=roles) == expected


def test_evidence_of_both_is_kept() -> None:
    """The crash quotes what the hang had seen first."""
    (found,) = named_deaths([crash(), hang()], ROLES.to_frame())
    assert [one.source for one in found.evidence] == ["kern.log:1", "job.log:1"]
