"""Bisections in walltime whose commits icount names: steps on a platform in a mode of their own, and why a bisection is where it is."""

from alembic import op

revision = "0021"
down_revision = "0020"

SQL = """
ALTER TABLE bisection ADD COLUMN why text;
COMMENT ON COLUMN bisection.why IS 'of one in walltime: in which mode it goes on, and why; null of one in icount';

ALTER TABLE bisection_step ADD COLUMN platform text REFERENCES platform;
ALTER TABLE bisection_step ADD COLUMN mode text;
UPDATE bisection_step SET platform = bisection.platform, mode = bisection.mode FROM bisection WHERE bisection.id = bisection_id;
ALTER TABLE bisection_step ALTER COLUMN platform SET NOT NULL;
ALTER TABLE bisection_step ALTER COLUMN mode SET NOT NULL;
COMMENT ON COLUMN bisection_step.mode IS 'icount in a bisection in walltime: whether its ends differ there too';
ALTER TABLE bisection_step DROP CONSTRAINT bisection_step_bisection_id_base_revision_id_head_revision__key;
ALTER TABLE bisection_step ADD CONSTRAINT bisection_step_pair
    UNIQUE (bisection_id, platform, mode, base_revision_id, head_revision_id);

ALTER TABLE change ADD COLUMN located_in text CHECK (located_in = 'icount');
COMMENT ON COLUMN change.located_in IS 'icount, of a change in walltime whose commit icount named and walltime bore out; else null';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
