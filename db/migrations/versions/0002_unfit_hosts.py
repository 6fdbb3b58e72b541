"""Why a host gave back a job: shown with the host until it offers to work in that mode again."""

from alembic import op

revision = "0002"
down_revision = "0001"

SQL = r"""
ALTER TABLE host ADD unfit jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN host.unfit IS
    'by mode, the reason with which it gave back its last job; a mode that it offers again is removed';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
