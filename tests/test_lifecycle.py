"""Tests of the life of an incident."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerts.lifecycle import (
    DATA,
    Action,
    AlreadyAcknowledgedError,
    AlreadyMitigatedError,
    AlreadyResolvedError,
    Asked,
    EmptyNoteError,
    Life,
    NotOverError,
    RefusedActionError,
    Told,
    act_on,
    follow,
)

START = datetime(2026, 1, 5, 10, tzinfo=UTC)


def minute(count: int) -> datetime:
    """Return a time some minutes after the start."""
    return START + timedelta(minutes=count)


def asked(at: int = 5, note: str | None = None, assignee: str | None = None) -> Asked:
    """Return what Ann asks at a minute."""
    return Asked(actor="ann", at=minute(at), note=note, assignee=assignee)


OPEN = Life()
TAKEN = Life(state="acknowledged", acknowledged_at=minute(5), assignee="ann")
MITIGATED = Life(state="mitigated", mitigated_at=minute(5))
BY_ANN = Life(state="resolved", resolved_at=minute(5), resolved_by="ann", mitigated_at=minute(5))
BY_DATA = replace(BY_ANN, resolved_by=DATA)


@pytest.mark.parametrize(
    ("life", "action", "what", "expected"),
    [
        pytest.param(OPEN, "acknowledge", asked(), TAKEN, id="who acknowledges works on it"),
        pytest.param(
            replace(OPEN, assignee="bob"),
            "acknowledge",
            asked(),
            replace(TAKEN, assignee="bob"),
            id="whoever worked on it already still does",
        ),
        pytest.param(OPEN, "mitigate", asked(), MITIGATED, id="what is open can be mitigated"),
        pytest.param(OPEN, "resolve", asked(), BY_ANN, id="what is over hurts nobody either"),
        pytest.param(
            replace(MITIGATED, mitigated_at=minute(3)),
            "resolve",
            asked(),
            replace(BY_ANN, mitigated_at=minute(3)),
            id="what was mitigated before stays so",
        ),
        pytest.param(
            BY_ANN,
            "reopen",
            asked(9),
            Life(reopened_count=1, reopened_at=minute(9)),
            id="what is over begins anew",
        ),
        pytest.param(
            MITIGATED,
            "reopen",
            asked(9),
            Life(reopened_at=minute(9)),
            id="what hurts again was never over",
        ),
        pytest.param(BY_ANN, "note", asked(note="fan"), BY_ANN, id="a note changes nothing"),
        pytest.param(
            BY_ANN,
            "assign",
            asked(assignee="bob"),
            replace(BY_ANN, assignee="bob"),
            id="what is over can be assigned for the review",
        ),
        pytest.param(TAKEN, "assign", asked(), replace(TAKEN, assignee=None), id="to nobody"),
    ],
)
def test_actions(life: Life, action: Action, what: Asked, expected: Life) -> None:
    """Each action leads from one step to the next and keeps what it does not concern."""
    assert act_on(life, action, what) == expected


@pytest.mark.parametrize(
    ("life", "action", "error", "way_out"),
    [
        pytest.param(TAKEN, "acknowledge", AlreadyAcknowledgedError, "assign it", id="twice taken"),
        pytest.param(
            MITIGATED, "acknowledge", AlreadyAcknowledgedError, "assign it", id="taken too late"
        ),
        pytest.param(
            MITIGATED, "mitigate", AlreadyMitigatedError, "resolve it when", id="twice mitigated"
        ),
        *(
            pytest.param(BY_ANN, one, AlreadyResolvedError, "reopen it first", id=f"{one} too late")
            for one in ("acknowledge", "mitigate", "resolve")
        ),
        pytest.param(OPEN, "reopen", NotOverError, "add a note", id="not over"),
        pytest.param(TAKEN, "reopen", NotOverError, "add a note", id="not over either"),
        pytest.param(OPEN, "note", EmptyNoteError, "say what", id="an empty note"),
    ],
)
def test_refusals(
    life: Life, action: Action, error: type[RefusedActionError], way_out: str
) -> None:
    """A step that does not fit is refused by its name, with the way out."""
    with pytest.raises(error, match=way_out):
        act_on(life, action, asked())


def told(onset: int, ended: int | None = None, *, is_newer: bool = True) -> Told:
    """Return evidence from a minute to another; null lasts."""
    over = None if ended is None else minute(ended)
    return Told(lasts=ended is None, onset=minute(onset), ended=over, is_newer=is_newer)


@pytest.mark.parametrize(
    ("life", "what", "expected"),
    [
        pytest.param(TAKEN, told(0), TAKEN, id="what lasts goes on as people left it"),
        pytest.param(OPEN, told(0, 5), BY_DATA, id="what has cleared is over"),
        pytest.param(BY_ANN, told(0), BY_ANN, id="the same evidence opens nothing again"),
        pytest.param(BY_ANN, told(5), BY_ANN, id="nor what began as it was resolved"),
        pytest.param(BY_ANN, told(6), Life(reopened_count=1), id="what began later opens it again"),
        pytest.param(
            BY_ANN,
            told(6, 8),
            replace(BY_DATA, resolved_at=minute(8), mitigated_at=minute(8), reopened_count=1),
            id="what came back and went is over again",
        ),
        pytest.param(
            BY_DATA, told(0), Life(reopened_count=1), id="the data take back that it was over"
        ),
        pytest.param(BY_DATA, told(0, is_newer=False), BY_DATA, id="older data take nothing back"),
        pytest.param(
            BY_DATA,
            told(0, 7),
            replace(BY_DATA, resolved_at=minute(7), mitigated_at=minute(7)),
            id="a better estimate of the end counts",
        ),
        pytest.param(
            replace(OPEN, reopened_at=minute(9)),
            told(0, 5),
            replace(OPEN, reopened_at=minute(9)),
            id="people opened it after that end",
        ),
        pytest.param(
            replace(OPEN, reopened_at=minute(3)), told(0, 5), BY_DATA, id="it ended after that"
        ),
    ],
)
def test_data(life: Life, what: Told, expected: Life) -> None:
    """What the data say is followed, once, as far as people have not said otherwise."""
    after = follow(life, what)

    assert (after, follow(after, replace(what, is_newer=False))) == (expected, expected)
