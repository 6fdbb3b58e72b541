"""A mark on databases that `cliffwatch demo-data` filled."""

from alembic import op

revision = "0003"
down_revision = "0002"

SQL = """
CREATE TABLE demonstration (
    made timestamptz NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
COMMENT ON TABLE demonstration IS 'a row where the results were not measured for their readers: every page and report says so';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
