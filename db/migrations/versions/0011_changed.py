"""A verdict of its own for a change of which nobody said whether it is better."""

from alembic import op

revision = "0011"
down_revision = "0010"

SQL = r"""
ALTER TABLE change DROP CONSTRAINT change_kind_check;
ALTER TABLE change ADD CONSTRAINT change_kind_check CHECK (kind IN ('regression', 'improvement', 'changed', 'step'));

ALTER TABLE dashboard.compared ADD COLUMN changed int NOT NULL DEFAULT 0;
COMMENT ON COLUMN dashboard.compared.changed IS 'rows with a change of which nobody said whether it is better';

CREATE OR REPLACE FUNCTION dashboard.keep_compared() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
BEGIN
    DELETE FROM dashboard.compared WHERE comparison_id = new.id;
    INSERT INTO dashboard.compared
    SELECT new.id, new.made, new.platform, new.mode, base.run_id, head.run_id,
           coalesce((new.counts ->> 'regression')::int, 0), coalesce((new.counts ->> 'improvement')::int, 0),
           coalesce((new.counts ->> 'unchanged')::int, 0), coalesce((new.counts ->> 'inconclusive')::int, 0),
           coalesce((new.counts ->> 'missing')::int, 0), coalesce((new.counts ->> 'failed')::int, 0),
           coalesce((new.counts ->> 'invalid')::int, 0), (new.summary ->> 'notable')::float8,
           (new.summary -> 'control' ->> 'rows')::int, (new.summary -> 'control' ->> 'largest')::float8,
           (new.summary -> 'control' ->> 'published')::int, coalesce((new.counts ->> 'changed')::int, 0)
    FROM arm AS base, arm AS head WHERE base.id = new.base_arm_id AND head.id = new.head_arm_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE VIEW dashboard.comparison AS
SELECT compared.made, compared.platform, compared.mode, base.commit AS base, head.commit AS head, head.subject,
       regressions, improvements, unchanged, inconclusive, missing, failed, invalid, notable,
       control_rows, control_largest, control_published, host.name AS host, head_run.digest AS run,
       base_run.of_history AND head_run.of_history AS of_history, changed
FROM dashboard.compared LEFT JOIN comparison ON comparison.id = comparison_id
LEFT JOIN revision AS base ON base.id = base_revision_id LEFT JOIN revision AS head ON head.id = head_revision_id
LEFT JOIN run AS base_run ON base_run.id = base_run_id LEFT JOIN run AS head_run ON head_run.id = head_run_id
LEFT JOIN host ON host.id = head_run.host_id;

CREATE OR REPLACE VIEW dashboard.branch_comparison AS
SELECT branch.id AS branch_id, member.ordinal, compared.made, compared.platform, compared.mode, base.commit AS base,
       head.commit AS head, head.subject, regressions, improvements, unchanged, inconclusive, missing, failed, invalid, changed
FROM branch JOIN branch_revision AS member ON member.branch_id = branch.id
JOIN comparison ON comparison.head_revision_id = member.revision_id
JOIN branch_revision AS before ON before.branch_id = branch.id AND before.revision_id = comparison.base_revision_id
    AND before.ordinal < member.ordinal
JOIN dashboard.compared ON comparison_id = comparison.id
JOIN run AS base_run ON base_run.id = base_run_id AND base_run.of_history
JOIN run AS head_run ON head_run.id = head_run_id AND head_run.of_history
LEFT JOIN revision AS base ON base.id = comparison.base_revision_id LEFT JOIN revision AS head ON head.id = comparison.head_revision_id;
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
