"""Tests of which incident is meant."""

import pytest

from alerts.blast_radii import BlastRadius
from alerts.incidents import Incident
from paceline.choices import UnknownIncidentError, chosen_incident


def incident(name: str) -> Incident:
    """An incident with an id; nothing else of it matters here."""
    return Incident(
        id=name,
        title=f"run of {name}",
        run=None,
        severity="page",
        state="open",
        as_of=None,
        onset=None,
        onset_before_data=False,
        detected=None,
        paged_at=None,
        cleared=None,
        ttd_seconds=None,
        ttp_seconds=None,
        ttr_seconds=None,
        suspects=(),
        context=(),
        burns=(),
        blast_radius=BlastRadius(jobs=()),
        needed=None,
    )


THREE = [incident("4f2a"), incident("4f90"), incident("b001")]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("gravest", "4f2a", id="the gravest is the first"),
        pytest.param("b001", "b001", id="an id"),
        pytest.param("4f9", "4f90", id="the first characters of an id"),
    ],
)
def test_meant(name: str, meant: str) -> None:
    """An incident is meant by its id, by the beginning of it, or as the gravest."""
    assert chosen_incident(THREE, name).id == meant


@pytest.mark.parametrize(
    ("incidents", "name", "message"),
    [
        pytest.param(
            THREE,
            "4f",
            "several incidents begin with '4f'; known: 4f2a (run of 4f2a); 4f90 (run of 4f90)",
            id="a beginning of two",
        ),
        pytest.param(
            THREE[2:], "c", "no incident 'c'; known: b001 (run of b001)", id="one that is not there"
        ),
        pytest.param(
            [],
            "gravest",
            "no incident there: nothing was found in what could be read",
            id="nothing was found",
        ),
    ],
)
def test_refused(incidents: list[Incident], name: str, message: str) -> None:
    """Who is not meant by one name is told with the names that there are."""
    with pytest.raises(UnknownIncidentError) as told:
        chosen_incident(incidents, name)

    assert str(told.value) == message
