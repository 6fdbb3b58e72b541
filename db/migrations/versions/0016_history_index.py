"""Histories ask of thousands of runs whether they are of history: an index that says so without the runs' records."""

from alembic import op

revision = "0016"
down_revision = "0015"

SQL = "CREATE INDEX run_of_history ON run (id) INCLUDE (digest) WHERE of_history"


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
