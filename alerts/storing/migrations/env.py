"""What Alembic runs: the steps, on the connection that `alerts.storing.databases` hands over."""

from alembic import context

from alerts.storing.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
