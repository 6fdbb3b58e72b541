"""Branches whose commits are measured in the cases alone that each can touch."""

from alembic import op

revision = "0018"
down_revision = "0017"

SQL = """
ALTER TABLE follow DROP CONSTRAINT follow_policy_check;
ALTER TABLE follow ADD CONSTRAINT follow_policy_check CHECK (policy IN ('commit', 'affected', 'push', 'nightly'));
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
