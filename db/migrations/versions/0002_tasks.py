"""The tables of Procrastinate, which holds the service's own background tasks."""

import procrastinate.schema
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(procrastinate.schema.SchemaManager.get_schema())
