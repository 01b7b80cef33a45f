"""What several watches need to share a fleet: members, fences of leases, findings of groups."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"

_TIME: Final = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables, and count the holders of leases from 0 on."""
    op.add_column("leases", sa.Column("fence", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "members",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("since", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_members"),
    )
    op.create_table(
        "group_findings",
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("tick", _TIME, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("group_name", "tick", name="pk_group_findings"),
    )
    op.create_index("ix_group_findings_tick", "group_findings", ["tick"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("group_findings")
    op.drop_table("members")
    op.drop_column("leases", "fence")
