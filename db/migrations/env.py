"""Alembic's entry: applies migrations on the connection that it is handed (cliffwatch_service.postgres.migrate)."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
