"""The tables of the incident database; `alerts/storing/migrations/` makes them.

Source: for the outbox, the pattern "transactional outbox" (microservices.io): what is to be sent is
written in the transaction that changes the incident, and a worker sends it later. Ids are texts of
ours, so that two databases can be compared; numbers are for people.

Words: `incidents.state` is open, acknowledged, mitigated or resolved. `outbox.action` is trigger,
acknowledge, resolve or renew; its `state` is waiting, claimed, delivered or dead. `inbox.state` is
waiting, claimed, done or dead. A null is not known, or has not happened.
"""

from typing import Final

from sqlalchemy import (
    JSON,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
)

from alerts.storing.column_types import PlainText, UtcTime, row_number

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""Constraints have names, so that a later migration can find them."""

INCIDENTS: Final = Table(
    "incidents",
    METADATA,
    # The first id that its evidence had: that of the evidence moves with the onset.
    Column("id", PlainText, primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("state", PlainText, nullable=False),
    Column("severity", PlainText, nullable=False),
    Column("run", PlainText),
    Column("title", PlainText, nullable=False),
    Column("onset", UtcTime),
    Column("detected", UtcTime),
    Column("paged_at", UtcTime),
    Column("acknowledged_at", UtcTime),
    Column("mitigated_at", UtcTime),
    Column("resolved_at", UtcTime),
    # `data`, or who it was: what people resolved is not opened again by the same evidence.
    Column("resolved_by", PlainText),
    Column("assignee", PlainText),
    Column("merged_into", PlainText, ForeignKey("incidents.id")),
    Column("reopened_count", Integer, nullable=False),
    # When somebody said that it is not over: evidence that ended before does not close it.
    Column("reopened_at", UtcTime),
    # Same kind and subject, whatever the run: what "seen before" goes by.
    Column("likeness", PlainText, nullable=False),
    # The window of maintenance, and the incident, that keep it quiet.
    Column("maintenance", PlainText),
    Column("inhibited_by", PlainText),
    # `alerts.incidents.incident_json` of the newest evidence.
    Column("body", JSON, nullable=False),
    Column("first_seen", UtcTime, nullable=False),
    Column("updated", UtcTime, nullable=False),
    # Counts the writes: the ETag, and what an optimistic writer compares.
    Column("version", Integer, nullable=False),
    Index(None, "state", "number"),
    Index(None, "likeness"),
    Index(None, "merged_into"),
)

INCIDENT_HISTORY: Final = Table(
    "incident_history",
    METADATA,
    Column("id", row_number(), primary_key=True, autoincrement=True),
    Column("incident", PlainText, ForeignKey("incidents.id"), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("actor", PlainText, nullable=False),
    Column("kind", PlainText, nullable=False),
    Column("body", JSON, nullable=False),
    # One action has one key, however often it is asked for.
    Column("key", PlainText, nullable=False, unique=True),
    Index(None, "incident", "id"),
)

INCIDENT_ALIASES: Final = Table(
    "incident_aliases",
    METADATA,
    Column("alias", PlainText, primary_key=True),
    Column("incident", PlainText, ForeignKey("incidents.id"), nullable=False),
    Index(None, "incident"),
)

INCIDENT_MARKS: Final = Table(
    "incident_marks",
    METADATA,
    Column("incident", PlainText, ForeignKey("incidents.id"), nullable=False),
    # `run`, `host`, `rack`, `switch`, `kind`, and `burn` for identities of firings.
    Column("name", PlainText, nullable=False),
    Column("value", PlainText, nullable=False),
    PrimaryKeyConstraint("incident", "name", "value"),
    Index(None, "name", "value"),
)

VERDICTS: Final = Table(
    "verdicts",
    METADATA,
    Column("id", PlainText, primary_key=True),
    Column("incident", PlainText, ForeignKey("incidents.id"), nullable=False),
    # Kind, level and subject: what stays when onset and evidence move.
    Column("identity", PlainText, nullable=False),
    Column("kind", PlainText, nullable=False),
    Column("level", PlainText, nullable=False),
    Column("host", PlainText),
    Column("onset", UtcTime),
    Column("body", JSON, nullable=False),
    Column("first_seen", UtcTime, nullable=False),
    Column("last_seen", UtcTime, nullable=False),
    Column("cleared", UtcTime),
    # 1: somebody put it here by hand, so that ticks leave it here.
    Column("pinned", Integer, nullable=False),
    Index(None, "incident"),
    Index(None, "identity"),
)

INBOX: Final = Table(
    "inbox",
    METADATA,
    Column("id", row_number(), primary_key=True, autoincrement=True),
    Column("key", PlainText, nullable=False, unique=True),
    Column("received", UtcTime, nullable=False),
    Column("body", JSON, nullable=False),
    Column("state", PlainText, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", UtcTime),
    Column("claimed_by", PlainText),
    Column("claimed_until", UtcTime),
    Column("error", PlainText),
    Index(None, "state", "id"),
)

ALERT_EPISODES: Final = Table(
    "alert_episodes",
    METADATA,
    Column("fingerprint", PlainText, nullable=False),
    Column("starts_at", UtcTime, nullable=False),
    Column("status", PlainText, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("annotations", JSON, nullable=False),
    Column("ends_at", UtcTime),
    # `alerts.alert_episodes.EndKind`; null while it fires.
    Column("end_kind", PlainText),
    Column("due_at", UtcTime),
    Column("group_key_hash", PlainText),
    Column("incident", PlainText, ForeignKey("incidents.id")),
    Column("last_seen", UtcTime, nullable=False),
    PrimaryKeyConstraint("fingerprint", "starts_at"),
    Index(None, "status"),
    Index(None, "incident"),
)

OUTBOX: Final = Table(
    "outbox",
    METADATA,
    Column("id", row_number(), primary_key=True, autoincrement=True),
    Column("key", PlainText, nullable=False, unique=True),
    Column("incident", PlainText, ForeignKey("incidents.id")),
    Column("receiver", PlainText, nullable=False),
    Column("dedup_key", PlainText, nullable=False),
    Column("action", PlainText, nullable=False),
    Column("body", JSON, nullable=False),
    Column("due", UtcTime, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("state", PlainText, nullable=False),
    Column("claimed_by", PlainText),
    Column("claimed_until", UtcTime),
    Column("last_error", PlainText),
    Column("created", UtcTime, nullable=False),
    Column("delivered_at", UtcTime),
    Index(None, "state", "due"),
    Index(None, "incident"),
    Index(None, "dedup_key", "receiver"),
)

LEASES: Final = Table(
    "leases",
    METADATA,
    Column("name", PlainText, primary_key=True),
    Column("holder", PlainText, nullable=False),
    Column("until", UtcTime, nullable=False),
    # Counts the holders: what an earlier one still writes is refused.
    Column("fence", Integer, nullable=False, server_default="0"),
)

MEMBERS: Final = Table(
    "members",
    METADATA,
    Column("name", PlainText, primary_key=True),
    # Moves while it lives; nobody compares clocks.
    Column("beat", Integer, nullable=False),
    # From which tick on it has seen every one.
    Column("since", UtcTime, nullable=False),
)

GROUP_FINDINGS: Final = Table(
    "group_findings",
    METADATA,
    Column("group_name", PlainText, nullable=False),
    Column("tick", UtcTime, nullable=False),
    # `VERDICTS` with their detectors, as an Arrow file.
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("group_name", "tick"),
    Index(None, "tick"),
)

CURSORS: Final = Table(
    "cursors",
    METADATA,
    Column("name", PlainText, primary_key=True),
    Column("body", JSON, nullable=False),
)

MAINTENANCE: Final = Table(
    "maintenance",
    METADATA,
    Column("id", PlainText, primary_key=True),
    # Names (`run`, `host`, `rack`) and the values that they must have.
    Column("matchers", JSON, nullable=False),
    Column("starts", UtcTime, nullable=False),
    Column("ends", UtcTime, nullable=False),
    Column("who", PlainText, nullable=False),
    Column("why", PlainText, nullable=False),
    Index(None, "ends"),
)
