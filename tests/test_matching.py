"""Tests of where the evidence of a tick belongs."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.blast_radii import BlastRadius
from alerts.faults import Fault, JoinParams
from alerts.firings import Firing
from alerts.identities import verdict_identity
from alerts.incidents import Incident, incident_of
from alerts.known_incidents import Known, MatchParams, findings, known_of, piece_of
from alerts.matching import Matching, match_incidents
from detectors.verdicts import Subject, Verdict

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
PARAMS = MatchParams()


def minute(count: int) -> datetime:
    """Return a time some minutes after the start."""
    return START + timedelta(minutes=count)


def slow(rank: int, onset: int = 0, cleared: int | None = None, **other: Any) -> Verdict:
    """Return that a rank of run `orion` is slow from a minute on; each has a host of its own."""
    told = {"kind": "slow", "level": "rank", "confidence": "high"}
    subject = Subject(run="orion", rank=rank, host=f"h{rank}")
    over = None if cleared is None else minute(cleared)
    return Verdict(**{**told, "subject": subject, **other}, onset=minute(onset), cleared=over)


def burning(active: int = 5) -> Firing:
    """Return a burn of run `orion` that pages."""
    return Firing(
        objective="steps",
        title="steps",
        promise="99 %",
        run="orion",
        severity="page",
        long_seconds=3600,
        short_seconds=300,
        factor=14.4,
        active_at=minute(active),
        fired_at=minute(active),
    )


def incident(
    *verdicts: Verdict, burns: Sequence[Firing] = (), runs: Sequence[str] = ("orion",)
) -> Incident:
    """Return one incident of findings and burns."""
    fault = Fault(runs=tuple(runs), verdicts=verdicts, firings=tuple(burns))
    return incident_of(fault, BlastRadius(jobs=tuple(runs)), JoinParams(), minute(60))


def known(
    name: str, *verdicts: Verdict, number: int = 1, ended: int | None = None, **other: Any
) -> Known:
    """Return an incident that is kept, with these findings."""
    one = known_of(piece_of(incident(*verdicts, burns=other.pop("burns", ()))), number=number)
    identities = frozenset(f"{one_place}" for one_place in other.pop("places", ()))
    return replace(
        one,
        id=name,
        is_over=ended is not None,
        ended=None if ended is None else minute(ended),
        places=identities,
        **{"aliases": frozenset[str](), **other},
    )


def homes(matching: Matching) -> dict[str, list[list[int | None]]]:
    """Return the ranks of the pieces at each incident; a new one is called `new`."""
    return {
        name if len(name) == 1 else "new": [
            [verdict.subject.rank for verdict in findings(piece)] for piece in pieces
        ]
        for name, pieces in matching.homes.items()
    }


A, B = slow(1), slow(2)


@pytest.mark.parametrize(
    ("found", "kept", "expected"),
    [
        pytest.param([incident(A)], [], {"new": [[1]]}, id="what nobody knows is new"),
        pytest.param(
            [incident(slow(1, onset=7))],
            [known("a", A)],
            {"a": [[1]]},
            id="an onset that moves is the same fault",
        ),
        pytest.param(
            [incident(slow(1, onset=50))],
            [known("a", A, ended=20)],
            {"a": [[1]]},
            id="what comes back soon opens the incident again",
        ),
        pytest.param(
            [incident(slow(1, onset=90))],
            [known("a", A, ended=20)],
            {"new": [[1]]},
            id="what comes back late is a new one",
        ),
        pytest.param(
            [incident(slow(1, onset=0, cleared=10))],
            [known("a", slow(1, onset=40))],
            {"new": [[1]]},
            id="what ended before an incident began is not of it",
        ),
        pytest.param(
            [incident(slow(1, onset=0, cleared=10))],
            [known("a", slow(1, onset=0), ended=10), known("b", slow(1, onset=40), number=2)],
            {"a": [[1]]},
            id="an old occasion goes to the old incident",
        ),
        pytest.param(
            [incident(A, burns=[burning()])],
            [known("a", burns=[burning()])],
            {"a": [[1]]},
            id="a burn gets its culprit",
        ),
        pytest.param(
            [incident(B, burns=[burning()])],
            [known("a", slow(1, onset=-60), burns=[burning()])],
            {"new": [[2]]},
            id="a burn that goes from fault to fault takes no incident along",
        ),
        pytest.param(
            [incident(slow(2, onset=5))],
            [known("a", A)],
            {"a": [[2]]},
            id="a cause takes the place of a symptom that began with it",
        ),
        pytest.param(
            [incident(slow(1, onset=50, kind="degrading"))],
            [known("a", A, places=["host=h1"])],
            {"a": [[1]]},
            id="another word for the same place",
        ),
        pytest.param(
            [incident(slow(2, onset=50))],
            [known("a", A, places=["host=h1"])],
            {"new": [[2]]},
            id="another place at another time is another fault",
        ),
        pytest.param(
            [incident(A), incident(slow(2, onset=5))],
            [known("a", A)],
            {"a": [[1]], "new": [[2]]},
            id="an incident that is told of takes in no other for being near",
        ),
        pytest.param(
            [incident(slow(2, onset=5, kind="lemon"))],
            [known("a", A)],
            {"new": [[2]]},
            id="a lemon is a finding of its own",
        ),
        pytest.param(
            [incident(slow(1, onset=0, cleared=10)), incident(slow(1, onset=30))],
            [],
            {"new": [[1], [1]]},
            id="what comes back within the first look is one incident",
        ),
        pytest.param(
            [incident(slow(1, onset=0, cleared=10)), incident(slow(1, onset=200))],
            [known("a", A)],
            {"a": [[1]], "new": [[1]]},
            id="what came back while nobody looked is two, when that took long",
        ),
    ],
)
def test_homes(
    found: list[Incident], kept: list[Known], expected: dict[str, list[list[int]]]
) -> None:
    """Evidence goes to the incident of the same fault, in whatever order it is told."""
    told = [match_incidents(order, kept, PARAMS) for order in itertools.permutations(found)]

    assert [homes(one) for one in told] == [expected] * len(told)


def test_ids_of_ticks() -> None:
    """An id that evidence had once is known for ever."""
    piece = incident(slow(9))

    matching = match_incidents([piece], [known("a", A, aliases=frozenset({piece.id}))], PARAMS)

    assert homes(matching) == {"a": [[9]]}


@pytest.mark.parametrize(
    ("severities", "whole"),
    [
        pytest.param(("ticket", "ticket"), "a", id="the older takes in the younger"),
        pytest.param(("ticket", "page"), "b", id="what woke someone keeps its name"),
    ],
)
def test_joins(severities: tuple[Any, Any], whole: str) -> None:
    """Two incidents that the data put together become one."""
    kept = [
        known(name, one, number=number, severity=severity)
        for number, (name, one, severity) in enumerate(
            zip("ab", (A, B), severities, strict=True), start=1
        )
    ]

    matching = match_incidents([incident(A, B)], kept, PARAMS)

    part = "b" if whole == "a" else "a"
    assert (dict(matching.joins), homes(matching)) == ({part: whole}, {whole: [[1, 2]]})


@pytest.mark.parametrize(
    ("found", "change"),
    [
        pytest.param([incident(A, B), incident(slow(2, onset=50))], {}, id="told of by itself"),
        pytest.param([incident(A, B)], {"ended": 5}, id="over"),
        pytest.param(
            [incident(A, B)], {"pinned": frozenset({verdict_identity(B)})}, id="put apart by hand"
        ),
    ],
)
def test_no_join(found: list[Incident], change: dict[str, Any]) -> None:
    """An incident with a reason to stand alone is not taken in."""
    kept = [known("a", A), known("b", B, number=2, **change)]

    assert match_incidents(found, kept, PARAMS).joins == {}


def test_pins() -> None:
    """What people put apart is carved out of evidence that holds it, and burns stay behind."""
    kept = [
        known("a", A, burns=[burning()]),
        known("b", B, number=2, pinned=frozenset({verdict_identity(B)})),
    ]

    matching = match_incidents([incident(A, B, burns=[burning()])], kept, PARAMS)

    burns = {name: [len(one.burns) for one in pieces] for name, pieces in matching.homes.items()}
    assert (homes(matching), burns) == ({"a": [[1]], "b": [[2]]}, {"a": [1], "b": [0]})


def test_nothing_left_of_evidence() -> None:
    """Evidence that is all put apart leaves nothing for another incident."""
    kept = [known("b", B, pinned=frozenset({verdict_identity(B)}))]

    assert homes(match_incidents([incident(B)], kept, PARAMS)) == {"b": [[2]]}


def test_a_pin_of_another_time() -> None:
    """What was put apart long ago is not what comes now."""
    kept = [known("b", B, ended=10, pinned=frozenset({verdict_identity(B)}))]

    matching = match_incidents([incident(slow(2, onset=200))], kept, PARAMS)

    assert homes(matching) == {"new": [[2]]}


def test_without_clocks() -> None:
    """Two findings without a time began together, and one with a time did not."""
    timeless = replace(slow(2), onset=None)
    kept = known("a", replace(A, onset=None))

    assert homes(match_incidents([incident(timeless)], [kept], PARAMS)) == {"a": [[2]]}
    assert homes(match_incidents([incident(B)], [kept], PARAMS)) == {"new": [[2]]}


def test_refused_params() -> None:
    """An incident cannot be reopened before it was over."""
    with pytest.raises(ValueError, match="0 or more"):
        MatchParams(max_reopen_seconds=-1)


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(1, 4),
            st.integers(0, 200),
            st.none() | st.integers(1, 60),
            st.sampled_from(["slow", "degrading", "crash"]),
        ),
        min_size=1,
        max_size=5,
    ),
    kept=st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=3),
    seed=st.randoms(use_true_random=False),
)
def test_order_and_doubles(
    rows: list[tuple[int, int, int | None, str]], kept: list[tuple[int, bool]], seed: Any
) -> None:
    """Neither the order of evidence nor telling it twice changes where it belongs."""
    found = [
        incident(slow(rank, onset, None if lasts is None else onset + lasts, kind=kind))
        for rank, onset, lasts, kind in rows
    ]
    incidents = [
        known("abc"[at], slow(rank), number=at + 1, ended=30 if is_over else None)
        for at, (rank, is_over) in enumerate(kept)
    ]
    shuffled = [*found, *found]
    seed.shuffle(shuffled)

    first = match_incidents(found, incidents, PARAMS)

    assert match_incidents(shuffled, incidents[::-1], PARAMS) == first
    placed = [piece for pieces in first.homes.values() for piece in pieces]
    assert {one.id for one in placed} == {one.id for one in found}
