"""The first tables: incidents with their history, evidence, inbox and outbox.

A step says its columns itself and takes none from `alerts.storing.tables`: that file tells how the
tables are today, a step how they were made. A test compares the two.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0001"
down_revision: Final = None

_JSON: Final = sa.JSON()
_COUNT: Final = sa.Integer()


def upgrade() -> None:
    """Make the tables."""
    _make_incidents()
    _make_history()
    _make_findable()
    _make_verdicts()
    _make_inbox()
    _make_episodes()
    _make_outbox()
    _make_rest()


def downgrade() -> None:
    """Drop the tables, those that name others first."""
    for table in (
        *("maintenance", "cursors", "leases", "outbox", "alert_episodes", "inbox", "verdicts"),
        *("incident_marks", "incident_aliases", "incident_history", "incidents"),
    ):
        op.drop_table(table)


def _make_incidents() -> None:
    op.create_table(
        "incidents",
        *_texts("id"),
        sa.Column("number", _COUNT, nullable=False),
        *_texts("state", "severity"),
        *_texts("run", nullable=True),
        *_texts("title"),
        *_times("onset", "detected", "paged_at", nullable=True),
        *_times("acknowledged_at", "mitigated_at", "resolved_at", nullable=True),
        *_texts("resolved_by", "assignee", "merged_into", nullable=True),
        sa.Column("reopened_count", _COUNT, nullable=False),
        *_times("reopened_at", nullable=True),
        *_texts("likeness"),
        *_texts("maintenance", "inhibited_by", nullable=True),
        sa.Column("body", _JSON, nullable=False),
        *_times("first_seen", "updated"),
        sa.Column("version", _COUNT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_incidents"),
        sa.UniqueConstraint("number", name="uq_incidents_number"),
        _incident_key("incidents", "merged_into"),
    )
    _index("incidents", "state", "number")
    _index("incidents", "likeness")
    _index("incidents", "merged_into")


def _make_history() -> None:
    op.create_table(
        "incident_history",
        _row_number(),
        *_texts("incident"),
        *_times("at"),
        *_texts("actor", "kind"),
        sa.Column("body", _JSON, nullable=False),
        *_texts("key"),
        sa.PrimaryKeyConstraint("id", name="pk_incident_history"),
        sa.UniqueConstraint("key", name="uq_incident_history_key"),
        _incident_key("incident_history"),
    )
    _index("incident_history", "incident", "id")


def _make_findable() -> None:
    op.create_table(
        "incident_aliases",
        *_texts("alias", "incident"),
        sa.PrimaryKeyConstraint("alias", name="pk_incident_aliases"),
        _incident_key("incident_aliases"),
    )
    _index("incident_aliases", "incident")
    op.create_table(
        "incident_marks",
        *_texts("incident", "name", "value"),
        sa.PrimaryKeyConstraint("incident", "name", "value", name="pk_incident_marks"),
        _incident_key("incident_marks"),
    )
    _index("incident_marks", "name", "value")


def _make_verdicts() -> None:
    op.create_table(
        "verdicts",
        *_texts("id", "incident", "identity", "kind", "level"),
        *_texts("host", nullable=True),
        *_times("onset", nullable=True),
        sa.Column("body", _JSON, nullable=False),
        *_times("first_seen", "last_seen"),
        *_times("cleared", nullable=True),
        sa.Column("pinned", _COUNT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_verdicts"),
        _incident_key("verdicts"),
    )
    _index("verdicts", "incident")
    _index("verdicts", "identity")


def _make_inbox() -> None:
    op.create_table(
        "inbox",
        _row_number(),
        *_texts("key"),
        *_times("received"),
        sa.Column("body", _JSON, nullable=False),
        *_texts("state"),
        sa.Column("attempts", _COUNT, nullable=False),
        *_times("due", nullable=True),
        *_texts("claimed_by", nullable=True),
        *_times("claimed_until", nullable=True),
        *_texts("error", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
        sa.UniqueConstraint("key", name="uq_inbox_key"),
    )
    _index("inbox", "state", "id")


def _make_episodes() -> None:
    op.create_table(
        "alert_episodes",
        *_texts("fingerprint"),
        *_times("starts_at"),
        *_texts("status"),
        sa.Column("labels", _JSON, nullable=False),
        sa.Column("annotations", _JSON, nullable=False),
        *_times("ends_at", nullable=True),
        *_texts("end_kind", nullable=True),
        *_times("due_at", nullable=True),
        *_texts("group_key_hash", "incident", nullable=True),
        *_times("last_seen"),
        sa.PrimaryKeyConstraint("fingerprint", "starts_at", name="pk_alert_episodes"),
        _incident_key("alert_episodes"),
    )
    _index("alert_episodes", "status")
    _index("alert_episodes", "incident")


def _make_outbox() -> None:
    op.create_table(
        "outbox",
        _row_number(),
        *_texts("key"),
        *_texts("incident", nullable=True),
        *_texts("receiver", "dedup_key", "action"),
        sa.Column("body", _JSON, nullable=False),
        *_times("due"),
        sa.Column("attempts", _COUNT, nullable=False),
        *_texts("state"),
        *_texts("claimed_by", nullable=True),
        *_times("claimed_until", nullable=True),
        *_texts("last_error", nullable=True),
        *_times("created"),
        *_times("delivered_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("key", name="uq_outbox_key"),
        _incident_key("outbox"),
    )
    _index("outbox", "state", "due")
    _index("outbox", "incident")
    _index("outbox", "dedup_key", "receiver")


def _make_rest() -> None:
    op.create_table(
        "leases",
        *_texts("name", "holder"),
        *_times("until"),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_table(
        "cursors",
        *_texts("name"),
        sa.Column("body", _JSON, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_cursors"),
    )
    op.create_table(
        "maintenance",
        *_texts("id"),
        sa.Column("matchers", _JSON, nullable=False),
        *_times("starts", "ends"),
        *_texts("who", "why"),
        sa.PrimaryKeyConstraint("id", name="pk_maintenance"),
    )
    _index("maintenance", "ends")


def _row_number() -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column("id", kind, autoincrement=True, nullable=False)


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _times(*names: str, nullable: bool = False) -> list[sa.Column[object]]:
    kind = sa.DateTime(timezone=True)
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def _incident_key(table: str, column: str = "incident") -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}"
    return sa.ForeignKeyConstraint([column], ["incidents.id"], name=name)


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
