"""What dashboards read: a schema of views without secrets, logs and addresses of people, and what makes them fast."""

from alembic import op

revision = "0008"
down_revision = "0007"

SQL = r"""
CREATE SCHEMA dashboard;
COMMENT ON SCHEMA dashboard IS 'views for Grafana (docs/dashboards.md): its role reads these and nothing else';

-- Counts of comparisons, narrow: the documents that they come from are large.
CREATE TABLE dashboard.compared (
    comparison_id bigint PRIMARY KEY REFERENCES comparison ON DELETE CASCADE,
    made timestamptz NOT NULL,
    platform text NOT NULL,
    mode text NOT NULL,
    base_run_id bigint NOT NULL,
    head_run_id bigint NOT NULL,
    regressions int NOT NULL,
    improvements int NOT NULL,
    unchanged int NOT NULL,
    inconclusive int NOT NULL,
    missing int NOT NULL,
    failed int NOT NULL,
    invalid int NOT NULL,
    notable float8,
    control_rows int,
    control_largest float8,
    control_published int
);
CREATE INDEX compared_made ON dashboard.compared (made);
CREATE INDEX compared_control ON dashboard.compared (made) WHERE control_rows IS NOT NULL;
COMMENT ON COLUMN dashboard.compared.control_largest IS 'of the A/A control: the largest difference of base to itself, a fraction';
COMMENT ON COLUMN dashboard.compared.control_published IS 'of the A/A control: rows in which base was reported to differ from itself';

CREATE FUNCTION dashboard.keep_compared() RETURNS trigger
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
           (new.summary -> 'control' ->> 'published')::int
    FROM arm AS base, arm AS head WHERE base.id = new.base_arm_id AND head.id = new.head_arm_id;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION dashboard.keep_compared() FROM PUBLIC;
CREATE TRIGGER keep_compared AFTER INSERT OR UPDATE ON comparison FOR EACH ROW EXECUTE FUNCTION dashboard.keep_compared();
UPDATE comparison SET made = made;

CREATE INDEX run_history ON run (platform, mode, received) WHERE of_history;
CREATE INDEX job_created ON job (created);
CREATE INDEX lease_granted ON lease (granted);
CREATE INDEX task_unfinished ON procrastinate_jobs (task_name, status) WHERE status IN ('todo', 'doing', 'failed');
CREATE INDEX task_event_at ON procrastinate_events (at);

-- What is measured ------------------------------------------------------------------------------------------------------

CREATE TABLE dashboard.pages (
    url text NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
COMMENT ON TABLE dashboard.pages IS 'where people find the pages: `cliffwatch migrate --pages-url` writes it';

CREATE VIEW dashboard.site AS
SELECT rtrim(coalesce((SELECT url FROM dashboard.pages), 'http://127.0.0.1:8000'), '/') AS url;

CREATE VIEW dashboard.branch AS
SELECT branch.id AS branch_id, tree.url AS tree, branch.name AS branch,
       regexp_replace(tree.url, '^.*/([^/]+)/*$', '\1') || ' ' || branch.name AS name,
       EXISTS (SELECT FROM follow WHERE follow.branch_id = branch.id) AS followed
FROM branch JOIN tree ON tree.id = tree_id
UNION ALL SELECT 0, NULL, NULL, 'all revisions, by date', false;

CREATE VIEW dashboard.series AS
SELECT series.id AS series_id, series.digest AS series, suite, benchmark,
       coalesce(nullif(substr(name, length(benchmark) + 2), ''), 'none') AS parameters,
       metric, unit, metric || ' in ' || unit AS metric_in_unit, platform, mode
FROM series JOIN benchmark_case ON benchmark_case.id = case_id;

CREATE VIEW dashboard.sweep AS
SELECT series.id AS series_id, series.digest AS series, suite, benchmark, metric, unit, metric || ' in ' || unit AS metric_in_unit,
       platform, mode, pair ->> 0 AS parameter, (pair ->> 1)::float8 AS value,
       coalesce((SELECT string_agg((other ->> 0) || '=' || (other ->> 1), '/' ORDER BY place)
                 FROM jsonb_array_elements(params) WITH ORDINALITY AS others (other, place) WHERE other ->> 0 <> pair ->> 0),
                'none') AS others
FROM series JOIN benchmark_case ON benchmark_case.id = case_id CROSS JOIN LATERAL jsonb_array_elements(params) AS pair
WHERE pair ->> 1 ~ '^[0-9]{1,15}([.][0-9]{1,9})?$';
COMMENT ON VIEW dashboard.sweep IS 'series once a parameter that is a number; others are the parameters beside it';

CREATE VIEW dashboard.measurement AS
SELECT point.series_id, point.arm_id, point.revision_id, revision.commit, revision.subject, revision.release, n, centre, low, high,
       environment.epoch, run.digest AS run
FROM point JOIN arm ON arm.id = point.arm_id JOIN run ON run.id = arm.run_id AND run.of_history
LEFT JOIN revision ON revision.id = point.revision_id LEFT JOIN environment ON environment.id = point.environment_id;
COMMENT ON VIEW dashboard.measurement IS 'points of history; a revision that was measured again has several';

-- The newest measurement is found among narrow rows; only what is left is looked up.
CREATE VIEW dashboard.point AS
SELECT newest.series_id, newest.branch_id, newest.ordinal, commit, subject, release, n, centre, low, high, epoch, run,
       coalesce(committed, authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                      WHERE arm.revision_id = newest.revision_id)) AS at
FROM (
    SELECT DISTINCT ON (point.series_id, member.branch_id, member.ordinal) point.series_id, member.branch_id, member.ordinal,
           point.revision_id, point.environment_id, n, centre, low, high, run.digest AS run
    FROM point JOIN arm ON arm.id = point.arm_id JOIN run ON run.id = arm.run_id AND run.of_history
    JOIN branch_revision AS member ON member.revision_id = point.revision_id
    ORDER BY point.series_id, member.branch_id, member.ordinal, point.arm_id DESC
) AS newest JOIN revision ON revision.id = newest.revision_id JOIN environment ON environment.id = newest.environment_id;
COMMENT ON VIEW dashboard.point IS 'a branch''s history, one point a revision: its newest measurement';

CREATE VIEW dashboard.point_by_date AS
SELECT newest.series_id, commit, subject, release, n, centre, low, high, epoch, run,
       coalesce(committed, authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                      WHERE arm.revision_id = newest.revision_id)) AS at
FROM (
    SELECT DISTINCT ON (point.series_id, point.revision_id) point.series_id, point.revision_id, point.environment_id, n, centre, low,
           high, run.digest AS run
    FROM point JOIN arm ON arm.id = point.arm_id JOIN run ON run.id = arm.run_id AND run.of_history
    ORDER BY point.series_id, point.revision_id, point.arm_id DESC
) AS newest JOIN revision ON revision.id = newest.revision_id JOIN environment ON environment.id = newest.environment_id;
COMMENT ON VIEW dashboard.point_by_date IS 'history of revisions on any branch or none';

CREATE VIEW dashboard.series_branch AS
SELECT DISTINCT point.series_id, member.branch_id FROM point JOIN arm ON arm.id = arm_id JOIN run ON run.id = run_id AND of_history
JOIN branch_revision AS member ON member.revision_id = point.revision_id;

-- OFFSET 0 keeps the inner part for each point by itself: merged with all arms it took twenty seconds.
CREATE VIEW dashboard.latest AS
SELECT series.id AS series_id, branch.id AS branch_id, commit, subject, n, centre, low, high, epoch, run, received
FROM series CROSS JOIN branch CROSS JOIN LATERAL (
    SELECT point.revision_id, point.environment_id, n, centre, low, high, run, received
    FROM point CROSS JOIN LATERAL (
        SELECT run.digest AS run, run.received FROM arm JOIN run ON run.id = run_id AND of_history
        JOIN branch_revision AS member ON member.revision_id = point.revision_id AND member.branch_id = branch.id
        WHERE arm.id = point.arm_id OFFSET 0
    ) AS measured
    WHERE point.series_id = series.id ORDER BY point.arm_id DESC LIMIT 1
) AS newest
JOIN revision ON revision.id = newest.revision_id JOIN environment ON environment.id = newest.environment_id;
COMMENT ON VIEW dashboard.latest IS 'what a series read last on a branch';

CREATE VIEW dashboard.revision AS
SELECT member.branch_id, member.ordinal, revision.id AS revision_id, commit, subject, run.platform, run.mode, arm.id AS arm_id
FROM branch_revision AS member JOIN revision ON revision.id = member.revision_id JOIN arm ON arm.revision_id = revision.id
JOIN run ON run.id = run_id AND of_history;
COMMENT ON VIEW dashboard.revision IS 'measured revisions of a branch, a row for each arm';

-- What is reported ------------------------------------------------------------------------------------------------------

-- What a query does not ask for costs nothing: the planner leaves out joins from the left to what is unique.
CREATE VIEW dashboard.comparison AS
SELECT compared.made, compared.platform, compared.mode, base.commit AS base, head.commit AS head, head.subject,
       regressions, improvements, unchanged, inconclusive, missing, failed, invalid, notable,
       control_rows, control_largest, control_published, host.name AS host, head_run.digest AS run,
       base_run.of_history AND head_run.of_history AS of_history
FROM dashboard.compared LEFT JOIN comparison ON comparison.id = comparison_id
LEFT JOIN revision AS base ON base.id = base_revision_id LEFT JOIN revision AS head ON head.id = head_revision_id
LEFT JOIN run AS base_run ON base_run.id = base_run_id LEFT JOIN run AS head_run ON head_run.id = head_run_id
LEFT JOIN host ON host.id = head_run.host_id;

CREATE VIEW dashboard.control AS
SELECT compared.made, compared.platform, compared.mode, host.name AS host, run.digest AS run, notable, control_rows AS rows,
       control_largest AS largest, control_published AS published
FROM dashboard.compared LEFT JOIN run ON run.id = head_run_id LEFT JOIN host ON host.id = run.host_id WHERE control_rows IS NOT NULL;
COMMENT ON VIEW dashboard.control IS 'A/A controls: base under a second name in the same run';

CREATE VIEW dashboard.branch_comparison AS
SELECT branch.id AS branch_id, member.ordinal, compared.made, compared.platform, compared.mode, base.commit AS base,
       head.commit AS head, head.subject, regressions, improvements, unchanged, inconclusive, missing, failed, invalid
FROM branch JOIN branch_revision AS member ON member.branch_id = branch.id
JOIN comparison ON comparison.head_revision_id = member.revision_id
JOIN branch_revision AS before ON before.branch_id = branch.id AND before.revision_id = comparison.base_revision_id
    AND before.ordinal < member.ordinal
JOIN dashboard.compared ON comparison_id = comparison.id
JOIN run AS base_run ON base_run.id = base_run_id AND base_run.of_history
JOIN run AS head_run ON head_run.id = head_run_id AND head_run.of_history
LEFT JOIN revision AS base ON base.id = comparison.base_revision_id LEFT JOIN revision AS head ON head.id = comparison.head_revision_id;
COMMENT ON VIEW dashboard.branch_comparison IS 'comparisons of history between two revisions of a branch';

CREATE VIEW dashboard.change AS
SELECT change.digest AS change, change.series_id, series.digest AS series, series.platform, series.mode, suite, benchmark,
       coalesce(nullif(substr(name, length(benchmark) + 2), ''), 'none') AS parameters, metric, change.state, kind, size, ci_low,
       ci_high, found, change.base_revision_id, change.head_revision_id, base.commit AS base, head.commit AS head, head.subject,
       regression_report.digest AS report,
       coalesce(head.committed, head.authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                                WHERE arm.revision_id = head.id)) AS at
FROM change LEFT JOIN series ON series.id = change.series_id LEFT JOIN benchmark_case ON benchmark_case.id = case_id
LEFT JOIN revision AS base ON base.id = change.base_revision_id LEFT JOIN revision AS head ON head.id = change.head_revision_id
LEFT JOIN regression_report ON regression_report.id = report_id;

CREATE VIEW dashboard.report AS
SELECT regression_report.digest AS report, state, opened, updated, base.commit AS base, head.commit AS head, head.subject,
       (SELECT count(*) FROM change WHERE report_id = regression_report.id AND change.state <> 'refuted') AS changes,
       (SELECT max(abs(size)) FROM change WHERE report_id = regression_report.id AND change.state <> 'refuted') AS largest,
       (SELECT string_agg(DISTINCT platform, ', ' ORDER BY platform) FROM change JOIN series ON series.id = series_id
        WHERE report_id = regression_report.id AND change.state <> 'refuted') AS platforms,
       (SELECT min(at) FROM triage WHERE triage.report_id = regression_report.id) AS judged
FROM regression_report
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id;
COMMENT ON VIEW dashboard.report IS 'regression reports; who owns one is left out: people write addresses there';

CREATE VIEW dashboard.report_state AS
SELECT digest AS report, state, opened, (SELECT min(at) FROM triage WHERE report_id = regression_report.id) AS judged
FROM regression_report;

-- Who works -------------------------------------------------------------------------------------------------------------

CREATE VIEW dashboard.target AS
SELECT known.platform, known.mode, newest.received AS newest,
       (SELECT count(*) FROM job WHERE job.platform = known.platform AND job.mode = known.mode AND state = 'queued') AS waiting,
       (SELECT count(*) FROM job WHERE job.platform = known.platform AND job.mode = known.mode AND state = 'leased') AS running,
       (SELECT max(last_seen) FROM host WHERE host.platform = known.platform
            AND (NOT about ? 'modes' OR about -> 'modes' ? known.mode)) AS seen,
       EXISTS (SELECT FROM follow, jsonb_array_elements(targets) AS target
               WHERE target = jsonb_build_array(known.platform, known.mode)) AS followed
FROM (SELECT platform.name AS platform, mode FROM platform CROSS JOIN (VALUES ('walltime'), ('icount')) AS modes (mode)) AS known
LEFT JOIN LATERAL (SELECT received FROM run WHERE run.platform = known.platform AND run.mode = known.mode AND of_history
                   ORDER BY received DESC LIMIT 1) AS newest ON true;
COMMENT ON VIEW dashboard.target IS 'per platform and mode: when it was measured last, what waits for it, when a host of it was seen';

CREATE VIEW dashboard.host AS
SELECT host.name AS host, host.platform, last_seen,
       array_to_string(ARRAY(SELECT jsonb_array_elements_text(
           CASE jsonb_typeof(about -> 'modes') WHEN 'array' THEN about -> 'modes' ELSE '[]' END)), ', ') AS modes,
       open.job_id::text AS job, open.granted AS busy_since,
       about ? 'modes' AND open.job_id IS NULL AND now() - last_seen > interval '10 minutes' AS offline
FROM host LEFT JOIN LATERAL (SELECT job_id, granted FROM lease WHERE host_id = host.id AND ended IS NULL LIMIT 1) AS open ON true;

CREATE VIEW dashboard.job AS
SELECT job.id::text AS job, job.platform, job.mode, job.state, job.created, job.started, job.ended,
       extract(epoch FROM job.started - job.created)::float8 AS waited_seconds,
       extract(epoch FROM job.ended - job.started)::float8 AS took_seconds, left(base_commit, 12) AS base, left(head_commit, 12) AS head,
       profile, due
FROM job JOIN request ON request.id = request_id;
COMMENT ON VIEW dashboard.job IS 'without reasons, which quote logs, and without who asked';

CREATE VIEW dashboard.lease AS
SELECT host.name AS host, host.platform, granted, lease.ended, coalesce(outcome, 'running') AS outcome, trust,
       extract(epoch FROM lease.ended - granted)::float8 AS seconds
FROM lease JOIN host ON host.id = host_id;

CREATE VIEW dashboard.run AS
SELECT run.digest AS run, run.platform, run.mode, status, of_history, host.name AS host, created, received, updated
FROM run LEFT JOIN host ON host.id = host_id;

-- The service itself ----------------------------------------------------------------------------------------------------

CREATE VIEW dashboard.worker AS SELECT id AS worker, last_heartbeat FROM procrastinate_workers;

CREATE VIEW dashboard.task AS
SELECT id AS task_id, task_name::text AS task, status::text AS status, attempts, scheduled_at AS due,
       (SELECT min(at) FROM procrastinate_events WHERE job_id = job.id) AS asked,
       (SELECT max(at) FROM procrastinate_events WHERE job_id = job.id) AS at
FROM procrastinate_jobs AS job WHERE status IN ('todo', 'doing', 'failed');
COMMENT ON VIEW dashboard.task IS 'background tasks that are not done, without what they are about';

CREATE VIEW dashboard.task_event AS
SELECT at, task_name::text AS task, type::text AS event
FROM procrastinate_events AS event JOIN procrastinate_jobs AS job ON job.id = event.job_id;

CREATE VIEW dashboard.uploaded AS SELECT day, sum(bytes)::float8 AS bytes FROM uploaded GROUP BY day;

CREATE VIEW dashboard.stored AS
SELECT relname::text AS name, pg_total_relation_size(pg_class.oid)::float8 AS bytes, greatest(reltuples, 0)::float8 AS rows
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r';

CREATE VIEW dashboard.schema_version AS SELECT version_num::text AS version FROM alembic_version;
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
