"""Candidates that a first fresh comparison leaves open have a second one, of more boots."""

from alembic import op

revision = "0022"
down_revision = "0021"

SQL = """
ALTER TABLE confirmation ADD COLUMN boots integer CHECK (boots > 0);
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
