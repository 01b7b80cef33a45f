"""The end of a claim: a letter was taken, waits for the next try, or is dead.

Everything here happens in one transaction of the caller. A claim that somebody else took over in
the meantime is left alone: its letter was sent at least once, by the same key.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, update

from alerts.delivery.claims import RENEW, Claim
from alerts.delivery.letters import Action, Letter, Renewal, incident_of
from alerts.delivery.renewals import drop_reminders, go_on, plan_renewal, repeated_action
from alerts.incidents import Incident
from alerts.storing.tables import OUTBOX


class ActionError(ValueError):
    """A row of the outbox asks for something that no receiver can be told."""


def letter_of(row: Mapping[str, Any], standing: Mapping[str, object] | None) -> Letter:
    """Return the letter that a row holds.

    Args:
        row: A row of the outbox.
        standing: Body of the incident as the receiver was told of it before; null when it was not.

    Raises:
        LetterError: A body is no incident.
        ActionError: The action is not known.
    """
    told = repeated_action(row["body"]) if row["action"] == RENEW else row["action"]
    return Letter(
        key=row["key"],
        dedup_key=row["dedup_key"],
        action=_action(told),
        incident=_named(row, row["body"]),
        standing=None if standing is None else _named(row, standing),
        created=row["created"],
    )


def _named(row: Mapping[str, Any], body: Mapping[str, object]) -> Incident:
    """Return the incident of a body under the id that it is kept by."""
    incident = incident_of(body)
    return incident if row["incident"] is None else replace(incident, id=row["incident"])


def _action(text: str) -> Action:
    match text:
        case "trigger" | "acknowledge" | "resolve":
            return text
        case _:
            raise ActionError(f"wanted trigger, acknowledge or resolve, found {text!r}")


def finish_delivered(
    connection: Connection, claim: Claim, renewal: Renewal | None, *, now: datetime
) -> None:
    """Close a letter that was taken, and plan what keeps its receiver reminded."""
    action = claim.row["action"]
    if action == RENEW:
        close_claim(connection, claim, **go_on(claim.row["body"], renewal, now=now))
        return
    if not close_claim(connection, claim, state="delivered", delivered_at=now, last_error=None):
        return
    if action == "resolve":
        drop_reminders(connection, claim.row)
    if renewal is not None and action != "acknowledge":
        plan_renewal(connection, claim.row, renewal, now=now)


def finish_later(connection: Connection, claim: Claim, reason: str, *, due: datetime) -> None:
    """Put a letter back for another try."""
    close_claim(connection, claim, state="waiting", due=due, last_error=reason)


def finish_refused(connection: Connection, claim: Claim, reason: str) -> None:
    """Put a letter aside that will never be taken; people see why."""
    is_ours = close_claim(connection, claim, state="dead", last_error=reason)
    if is_ours and claim.row["action"] == "resolve":
        drop_reminders(connection, claim.row)


def close_claim(connection: Connection, claim: Claim, **values: object) -> bool:
    """Write the end of a claim; return whether it still was ours."""
    free = {"claimed_by": None, "claimed_until": None}
    done = connection.execute(update(OUTBOX).where(claim.is_ours).values(**free, **values))
    return done.rowcount == 1
