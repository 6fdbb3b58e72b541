"""Jobs that fail because of what was asked for, and not because of the kernel."""

from alembic import op

revision = "0024"
down_revision = "0023"

SQL = """
ALTER TABLE lease DROP CONSTRAINT lease_outcome_check;
ALTER TABLE lease ADD CONSTRAINT lease_outcome_check
    CHECK (outcome IN ('done', 'kernel-failed', 'not-possible', 'host-failed', 'cancelled', 'expired', 'given-back'));

ALTER TABLE job ADD COLUMN whose text CHECK (whose IN ('kernel', 'usage'));
UPDATE job SET whose = 'kernel' WHERE state = 'failed';
ALTER TABLE job ADD CONSTRAINT job_failed_whose CHECK ((state = 'failed') = (whose IS NOT NULL));
COMMENT ON COLUMN job.whose IS
    'of a failed job: kernel, or usage where what was asked for cannot be measured; null of every other job';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
