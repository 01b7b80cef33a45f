"""Tests of what stays of findings when times and evidence move."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from alerts.identities import likeness, marks, places, verdict_identity
from alerts.incidents import Incident
from detectors.verdicts import Evidence, Subject, Verdict

SLOW = Verdict(
    kind="slow",
    level="rank",
    subject=Subject(run="orion", attempt=0, host="hx8-015", rank=116, gpu=4),
    confidence="low",
    onset=datetime(2026, 1, 5, 10, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(
            replace(
                SLOW, onset=None, confidence="high", evidence=(Evidence(source="a", what="b"),)
            ),
            True,
            id="another onset and more evidence",
        ),
        pytest.param(replace(SLOW, kind="degrading"), False, id="another kind"),
        pytest.param(
            replace(SLOW, subject=replace(SLOW.subject, rank=117)), False, id="another rank"
        ),
    ],
)
def test_identity(other: Verdict, *, same: bool) -> None:
    """A finding is known again by kind, level and subject alone."""
    assert (verdict_identity(other) == verdict_identity(SLOW)) is same


@pytest.mark.parametrize(
    ("subject", "same"),
    [
        pytest.param(
            Subject(run="vega", host="hx8-015", rank=3, gpu=4), True, id="the GPU in another run"
        ),
        pytest.param(Subject(run="orion", host="hx8-016", rank=116, gpu=4), False, id="elsewhere"),
    ],
)
def test_likeness(slow_host_incident: Incident, subject: Subject, *, same: bool) -> None:
    """Incidents are alike when the same is wrong with the same thing, in whatever run."""
    first = replace(slow_host_incident, suspects=(SLOW,))
    other = replace(first, suspects=(replace(SLOW, subject=subject),))

    assert (likeness(other) == likeness(first)) is same


def test_likeness_of_burns(slow_host_incident: Incident) -> None:
    """Without a finding, incidents are alike when the same objective burns in the same run."""
    bare = replace(slow_host_incident, suspects=(), context=())
    other = replace(bare, burns=())

    assert (likeness(bare) == likeness(bare), likeness(bare) == likeness(other)) == (
        True,
        not bare.burns,
    )


def test_likeness_within_a_run(slow_host_incident: Incident) -> None:
    """A rank without a host is like the same rank of the same run only."""
    ranks = [Subject(run="orion", rank=3), Subject(run="orion", attempt=1, rank=3)]
    ranks.append(Subject(run="vega", rank=3))
    told = [
        likeness(replace(slow_host_incident, suspects=(replace(SLOW, subject=one),)))
        for one in ranks
    ]

    assert (told[0] == told[1], told[0] == told[2]) == (True, False)


def test_marks() -> None:
    """An incident is found by both ends of a link, by racks that names tell, and by ranks."""
    link = Subject(link="gpu-r3-n07:ib0 - leaf-3:eth12", switch="leaf-3")

    assert marks(link) == [
        ("host", "gpu-r3-n07"),
        ("host", "leaf-3"),
        ("rack", "r3"),
        ("switch", "leaf-3"),
    ]
    assert marks(SLOW.subject) == [("host", "hx8-015"), ("rank", "orion/116")]


def test_places() -> None:
    """Hosts that share only a rack share no place."""
    one, other = Subject(host="gpu-r3-n07"), Subject(host="gpu-r3-n08")

    assert places([one]) & places([other]) == frozenset()
