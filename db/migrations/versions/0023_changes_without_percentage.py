"""Changes from and to zero, and of negative values: they have the values of both sides in place of a percentage. And changes of sides
that did not take turns.
"""

from alembic import op

revision = "0023"
down_revision = "0022"

SQL = """
ALTER TABLE verdict ADD COLUMN base_value float8;
ALTER TABLE verdict ADD COLUMN head_value float8;
COMMENT ON COLUMN verdict.base_value IS 'with head_value: what both sides read, of a change that has no percentage';

ALTER TABLE change ALTER COLUMN size DROP NOT NULL;
ALTER TABLE change ADD COLUMN base_value float8;
ALTER TABLE change ADD COLUMN head_value float8;
ALTER TABLE change ADD CONSTRAINT change_size_or_values
    CHECK ((size IS NULL) = (base_value IS NOT NULL AND head_value IS NOT NULL));
ALTER TABLE change ADD CONSTRAINT change_candidate_size CHECK (state <> 'candidate' OR size IS NOT NULL);
COMMENT ON COLUMN change.size IS
    'a fraction of base; null of a change that has no percentage, which has base_value and head_value';

ALTER TABLE change ADD COLUMN apart boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN change.apart IS 'its sides did not take turns, so that it is a difference between two measurements';

ALTER TABLE news ADD COLUMN apart boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN news.apart IS 'some of the regressions are differences between two measurements';
ALTER TABLE news ALTER COLUMN worst DROP NOT NULL;
ALTER TABLE news ADD COLUMN step text;
COMMENT ON COLUMN news.step IS
    'the first of the regressions that have no percentage, in words (0 to 2 B/op); null where all have one';

CREATE OR REPLACE VIEW dashboard.change AS
SELECT change.digest AS change, change.series_id, series.digest AS series, series.platform, series.mode, suite, benchmark,
       coalesce(nullif(substr(name, length(benchmark) + 2), ''), 'none') AS parameters, metric, change.state, kind, size, ci_low,
       ci_high, found, change.base_revision_id, change.head_revision_id, base.commit AS base, head.commit AS head, head.subject,
       regression_report.digest AS report,
       coalesce(head.committed, head.authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                                WHERE arm.revision_id = head.id)) AS at,
       unit, base_value, head_value
FROM change LEFT JOIN series ON series.id = change.series_id LEFT JOIN benchmark_case ON benchmark_case.id = case_id
LEFT JOIN revision AS base ON base.id = change.base_revision_id LEFT JOIN revision AS head ON head.id = change.head_revision_id
LEFT JOIN regression_report ON regression_report.id = report_id;
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
