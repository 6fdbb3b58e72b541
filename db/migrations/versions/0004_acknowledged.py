"""What a person says of a report is another word than what a comparison says of a change: `acknowledged`, not `confirmed`."""

from alembic import op

revision = "0004"
down_revision = "0003"

SQL = """
ALTER TABLE regression_report DROP CONSTRAINT regression_report_state_check;
UPDATE regression_report SET state = 'acknowledged' WHERE state = 'confirmed';
UPDATE triage SET state = 'acknowledged' WHERE state = 'confirmed';
ALTER TABLE regression_report ADD CONSTRAINT regression_report_state_check
    CHECK (state IN ('new', 'acknowledged', 'expected', 'fixed', 'noise'));
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
