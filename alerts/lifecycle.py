"""The life of an incident: which step follows which, and why one is refused.

Source: the incident responses of PagerDuty (acknowledge, resolve) and of Dispatch (active, stable,
closed). `mitigated` is what users feel no more and is not mended yet: time to mitigate ends there.
Everything here is pure; `alerts/storing/` keeps what comes out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

State = Literal["open", "acknowledged", "mitigated", "resolved"]
Action = Literal["acknowledge", "mitigate", "resolve", "reopen", "note", "assign"]

DATA: Final = "data"
"""Who resolves an incident when its findings have all cleared."""


class RefusedActionError(ValueError):
    """An action does not fit where an incident stands in its life."""


class AlreadyAcknowledgedError(RefusedActionError):
    """Somebody has taken the incident, or it has gone further than that."""


class AlreadyMitigatedError(RefusedActionError):
    """The incident hurts nobody any more."""


class AlreadyResolvedError(RefusedActionError):
    """The incident is over."""


class NotOverError(RefusedActionError):
    """An incident that is still open cannot be opened again."""


class EmptyNoteError(RefusedActionError):
    """A note says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Where an incident stands, and since when.

    Attributes:
        state: The step that it is on.
        acknowledged_at: When somebody took it; null while nobody has.
        mitigated_at: When it stopped hurting; null while it hurts.
        resolved_at: When it was over; null while it is not.
        resolved_by: `DATA`, or who said so; null while it is not resolved.
        assignee: Who works on it; null when nobody.
        reopened_count: How often it came back after it was over.
        reopened_at: When somebody last said that it is not over; null when nobody did since it was.
    """

    state: State = "open"
    acknowledged_at: datetime | None = None
    mitigated_at: datetime | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None
    assignee: str | None = None
    reopened_count: int = 0
    reopened_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asks of an incident.

    Attributes:
        actor: Who asks.
        at: When.
        note: A remark; the text, for `note`.
        assignee: Who is to work on it, for `assign`; null is nobody.
    """

    actor: str
    at: datetime
    note: str | None = None
    assignee: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the data say of an incident.

    Attributes:
        lasts: Whether a finding, or without any a burn, has not ended.
        onset: When the newest of its occasions began; null when no clock says.
        ended: When the last of them ended: for one that lasts, null; else the end of the data where
            no source tells it.
        is_newer: Whether it rests on more data than what was told before.
    """

    lasts: bool
    onset: datetime | None
    ended: datetime | None
    is_newer: bool = True


def act_on(life: Life, action: Action, asked: Asked) -> Life:
    """Return a life after an action.

    Raises:
        AlreadyAcknowledgedError: To acknowledge what is acknowledged or mitigated.
        AlreadyMitigatedError: To mitigate what is mitigated.
        AlreadyResolvedError: To acknowledge, mitigate or resolve what is over.
        NotOverError: To reopen what is open or acknowledged.
        EmptyNoteError: To note nothing.
    """
    return _ACTIONS[action](life, asked)


def follow(life: Life, told: Told) -> Life:
    """Return a life after what the data say.

    What lasts opens again what was over in two cases: it began after that, or the data themselves
    had said that it was over and take it back. What people resolved stays so, however long the same
    evidence goes on; and what people opened again is closed only by what ended after that.
    """
    if life.state != "resolved":
        goes_on = told.lasts or not _is_later(told.ended, life.reopened_at, unknown=True)
        return life if goes_on else _over(life, told)
    came_back = _is_later(told.onset, life.resolved_at)
    taken_back = told.lasts and life.resolved_by == DATA and told.is_newer
    if came_back or taken_back:
        opened = reopened(life)
        return opened if told.lasts else _over(opened, told)
    if life.resolved_by == DATA and not told.lasts:
        return _over(life, told)
    return life


def reopened(life: Life) -> Life:
    """Return a life that begins again; who works on it stays."""
    return Life(assignee=life.assignee, reopened_count=life.reopened_count + 1)


def _over(life: Life, told: Told) -> Life:
    """Return a life that the data end; what was mended before it was over was mended then."""
    ended = told.ended
    mitigated = life.mitigated_at
    if life.resolved_by == DATA and mitigated == life.resolved_at:
        mitigated = None
    return replace(
        life,
        state="resolved",
        resolved_at=ended,
        resolved_by=DATA,
        reopened_at=None,
        mitigated_at=_earlier(mitigated, ended),
    )


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((time for time in (one, other) if time is not None), default=None)


def _is_later(time: datetime | None, than: datetime | None, *, unknown: bool = False) -> bool:
    return unknown if time is None or than is None else time > than


def _acknowledge(life: Life, asked: Asked) -> Life:
    if life.state in {"acknowledged", "mitigated"}:
        whose = f"; {life.assignee} works on it" if life.assignee else ""
        raise AlreadyAcknowledgedError(
            f"wanted an open incident to acknowledge, found it {life.state}{whose}; "
            "assign it to take it over"
        )
    _refuse_over(life, "acknowledge")
    return replace(
        life,
        state="acknowledged",
        acknowledged_at=asked.at,
        assignee=life.assignee or asked.assignee or asked.actor,
    )


def _mitigate(life: Life, asked: Asked) -> Life:
    if life.state == "mitigated":
        raise AlreadyMitigatedError(
            "wanted an incident that hurts, found it mitigated; resolve it when it is mended, or "
            "reopen it when it hurts again"
        )
    _refuse_over(life, "mitigate")
    return replace(life, state="mitigated", mitigated_at=asked.at)


def _resolve(life: Life, asked: Asked) -> Life:
    _refuse_over(life, "resolve")
    return replace(
        life,
        state="resolved",
        resolved_at=asked.at,
        resolved_by=asked.actor,
        reopened_at=None,
        mitigated_at=life.mitigated_at or asked.at,
    )


def _reopen(life: Life, asked: Asked) -> Life:
    if life.state == "resolved":
        return replace(reopened(life), reopened_at=asked.at)
    if life.state == "mitigated":
        again = replace(life, state="open", mitigated_at=None, acknowledged_at=None)
        return replace(again, reopened_at=asked.at)
    raise NotOverError(
        f"wanted an incident that is mitigated or resolved to reopen, found it {life.state}; "
        "add a note to it instead"
    )


def _note(life: Life, asked: Asked) -> Life:
    if not (asked.note or "").strip():
        raise EmptyNoteError("wanted a note with text, found none; say what you saw or did")
    return life


def _assign(life: Life, asked: Asked) -> Life:
    return replace(life, assignee=asked.assignee)


def _refuse_over(life: Life, action: Action) -> None:
    if life.state == "resolved":
        raise AlreadyResolvedError(
            f"wanted an incident that is not over to {action}, found it resolved by "
            f"{life.resolved_by}; reopen it first"
        )


_ACTIONS: Final[Mapping[Action, Callable[[Life, Asked], Life]]] = {
    "acknowledge": _acknowledge,
    "mitigate": _mitigate,
    "resolve": _resolve,
    "reopen": _reopen,
    "note": _note,
    "assign": _assign,
}
