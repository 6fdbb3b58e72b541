"""How the code of a run's kernels differs, as its host found out from their images."""

from alembic import op

revision = "0019"
down_revision = "0018"

SQL = """
CREATE TABLE run_code (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    digest text NOT NULL,
    content bytea NOT NULL
);
COMMENT ON TABLE run_code IS 'code.json of a run: functions that differ between its kernels, and sizes of parts of their images';
COMMENT ON COLUMN run_code.content IS 'JSON, zstd';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
