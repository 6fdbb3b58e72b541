"""The schema of 0.1: trees and revisions, runs, comparisons, jobs, dashboards, GitHub, watching and news.

The service's own background tasks are in Procrastinate's tables.
"""

import procrastinate.schema
from alembic import op

revision = "0001"
down_revision = None

SQL = r"""
-- Trees, revisions, platforms and cases ---------------------------------------------------------------------
CREATE TABLE tree (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL UNIQUE,
    added timestamptz NOT NULL
);

CREATE TABLE revision (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    commit text NOT NULL UNIQUE CHECK (commit ~ '^[0-9a-f]{40}([0-9a-f]{24})?$'),
    tree_hash text,
    parents text[] NOT NULL DEFAULT '{}',
    author text,
    authored timestamptz,
    committed timestamptz,
    subject text,
    patch_id text,
    release text
);
COMMENT ON COLUMN revision.parents IS 'commits, the first parent first; empty where they are not known';
CREATE INDEX revision_subject ON revision USING gin (to_tsvector('simple', coalesce(subject, '')));

CREATE TABLE branch (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tree_id int NOT NULL REFERENCES tree,
    name text NOT NULL,
    UNIQUE (tree_id, name)
);

CREATE TABLE branch_revision (
    branch_id int NOT NULL REFERENCES branch ON DELETE CASCADE,
    ordinal int NOT NULL,
    revision_id int NOT NULL REFERENCES revision,
    PRIMARY KEY (branch_id, ordinal),
    UNIQUE (branch_id, revision_id)
);
COMMENT ON COLUMN branch_revision.ordinal IS 'place in first-parent order, from the root on';
CREATE INDEX branch_revision_revision ON branch_revision (revision_id);

CREATE TABLE kernel (
    digest text PRIMARY KEY,
    revision_id int NOT NULL REFERENCES revision,
    config_digest text,
    toolchain jsonb NOT NULL
);

CREATE TABLE platform (
    name text PRIMARY KEY,
    description text NOT NULL DEFAULT ''
);

CREATE TABLE host (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    platform text NOT NULL REFERENCES platform,
    added timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    about jsonb NOT NULL DEFAULT '{}',
    token_id int
);
COMMENT ON COLUMN host.about IS 'modes, isolation and the findings of its doctor, as the host last said';
COMMENT ON COLUMN host.token_id IS 'the token under which it offers to work; null where it only uploads';

CREATE TABLE environment (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    epoch text NOT NULL,
    facts jsonb NOT NULL
);
COMMENT ON COLUMN environment.epoch IS
    'digest of what must be equal for numbers to be compared: config, compiler, bench source, guest, '
    'processor, microcode';

CREATE TABLE benchmark_case (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    suite text NOT NULL,
    benchmark text NOT NULL,
    params jsonb NOT NULL,
    name text NOT NULL,
    digest text NOT NULL UNIQUE
);
COMMENT ON COLUMN benchmark_case.params IS
    'pairs of name and value in the order in which the benchmark takes them';
CREATE INDEX benchmark_case_suite ON benchmark_case (suite, id);

CREATE TABLE series (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    case_id int NOT NULL REFERENCES benchmark_case,
    metric text NOT NULL,
    unit text NOT NULL,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL CHECK (mode IN ('walltime', 'icount')),
    UNIQUE (case_id, metric, unit, platform, mode)
);
CREATE INDEX series_target ON series (platform, mode);

-- Runs, boots and samples -----------------------------------------------------------------------------------
CREATE TABLE run (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    identity text NOT NULL,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL CHECK (mode IN ('walltime', 'icount')),
    status text NOT NULL CHECK (status IN ('running', 'incomplete', 'complete')),
    host_id int REFERENCES host,
    environment_id int NOT NULL REFERENCES environment,
    created timestamptz NOT NULL,
    received timestamptz NOT NULL,
    updated timestamptz NOT NULL,
    record bytea NOT NULL,
    record_digest text NOT NULL,
    uploaded_by int NOT NULL,
    lease_id uuid,
    of_history boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN run.record IS 'run.json as it came, zstd';
COMMENT ON COLUMN run.lease_id IS
    'the lease for which its host made it; null where somebody measured by hand';
COMMENT ON COLUMN run.of_history IS
    'whether its points are of a series'' history and its changes open reports';
CREATE INDEX run_received ON run (received DESC, id DESC);
CREATE INDEX run_uploaded_by ON run (uploaded_by, received);
CREATE INDEX run_history ON run (platform, mode, received) WHERE of_history;
CREATE INDEX run_of_history ON run (id) INCLUDE (digest) WHERE of_history;

CREATE TABLE arm (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    name text NOT NULL,
    revision_id int REFERENCES revision,
    kernel_digest text REFERENCES kernel,
    label text NOT NULL,
    failure jsonb,
    own_settings boolean NOT NULL DEFAULT false,
    UNIQUE (run_id, name)
);
COMMENT ON COLUMN arm.own_settings IS
    'whether it has boot arguments, sysctls, configuration or a compiler of its own: it does not answer '
    'for its revision then';
CREATE INDEX arm_revision ON arm (revision_id);

CREATE TABLE columns (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    series int[] NOT NULL
);
COMMENT ON TABLE columns IS 'which series the values of a boot are of, in order; boots of one plan share one';

CREATE TABLE boot (
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    number int NOT NULL,
    arm_id bigint NOT NULL REFERENCES arm ON DELETE CASCADE,
    block int NOT NULL,
    stage text NOT NULL CHECK (stage IN ('screen', 'confirm')),
    layout text,
    status text NOT NULL,
    began timestamptz,
    ended timestamptz,
    received timestamptz NOT NULL,
    digest text NOT NULL,
    columns_id int NOT NULL REFERENCES columns,
    samples float8[] NOT NULL,
    PRIMARY KEY (run_id, number)
);
CREATE INDEX boot_arm ON boot (arm_id);

-- Samples of one boot are read together; measured values do not compress.
ALTER TABLE boot ALTER COLUMN samples SET STORAGE EXTERNAL;

CREATE TABLE boot_document (
    run_id bigint NOT NULL,
    number int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (run_id, number),
    FOREIGN KEY (run_id, number) REFERENCES boot ON DELETE CASCADE
);
COMMENT ON TABLE boot_document IS
    'what a boot holds besides its samples: boot.json, environment, readings, outcomes, problems; zstd';
ALTER TABLE boot_document ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE raw_output (
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    number int NOT NULL,
    digest text NOT NULL,
    files jsonb NOT NULL,
    received timestamptz NOT NULL,
    PRIMARY KEY (run_id, number)
);
COMMENT ON TABLE raw_output IS 'a boot''s folder as a zstd tar archive; files are name and size';

-- Points, comparisons, changes and reports ------------------------------------------------------------------
CREATE TABLE point (
    series_id int NOT NULL,
    arm_id bigint NOT NULL,
    revision_id int NOT NULL,
    environment_id int NOT NULL,
    n smallint NOT NULL,
    centre float8 NOT NULL,
    low float8,
    high float8
);
COMMENT ON TABLE point IS
    'one arm''s median over boots with its interval; made from boot.samples and made anew at any time';

-- History reads this index alone: what it answers lies together, however much is stored.
CREATE UNIQUE INDEX point_history ON point (series_id, arm_id) INCLUDE (revision_id, environment_id, n,
    centre, low, high);

CREATE TABLE comparison (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL,
    base_arm_id bigint NOT NULL REFERENCES arm ON DELETE CASCADE,
    head_arm_id bigint NOT NULL REFERENCES arm ON DELETE CASCADE,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    inputs text NOT NULL,
    method_version int NOT NULL,
    made timestamptz NOT NULL,
    counts jsonb NOT NULL,
    summary jsonb NOT NULL,
    rows bytea NOT NULL,
    UNIQUE (base_arm_id, head_arm_id)
);
COMMENT ON COLUMN comparison.inputs IS 'digest of the boots that went in: other boots, another comparison';
COMMENT ON COLUMN comparison.rows IS
    'the array `comparisons` of Comparison JSON (docs/formats.md), zstd; the rest of it is summary';
CREATE INDEX comparison_revisions ON comparison (head_revision_id, base_revision_id);
ALTER TABLE comparison ALTER COLUMN rows SET STORAGE EXTERNAL;

CREATE TABLE verdict (
    comparison_id bigint NOT NULL REFERENCES comparison ON DELETE CASCADE,
    series_id int NOT NULL REFERENCES series,
    verdict text NOT NULL,
    change float8,
    ci_low float8,
    ci_high float8,
    base_value float8,
    head_value float8,
    PRIMARY KEY (comparison_id, series_id)
);
COMMENT ON TABLE verdict IS 'rows of a comparison that are not unchanged; all of them are in its rows';
COMMENT ON COLUMN verdict.base_value IS
    'with head_value: what both sides read, of a change that has no percentage';
CREATE INDEX verdict_series ON verdict (series_id);

CREATE TABLE regression_report (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'acknowledged', 'expected', 'fixed', 'noise')),
    owner text,
    opened timestamptz NOT NULL,
    updated timestamptz NOT NULL,
    merged_into int REFERENCES regression_report
);
COMMENT ON TABLE regression_report IS 'the changes of one culprit: they step between the same two revisions';
COMMENT ON COLUMN regression_report.merged_into IS
    'the report of the culprit that its range turned out to hold; null where it stands for itself';
CREATE INDEX regression_report_inbox ON regression_report (state, opened DESC, id DESC);

CREATE TABLE change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    series_id int NOT NULL REFERENCES series,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    state text NOT NULL CHECK (state IN ('candidate', 'confirmed', 'refuted', 'superseded')),
    kind text NOT NULL CHECK (kind IN ('regression', 'improvement', 'changed', 'step')),
    size float8,
    ci_low float8,
    ci_high float8,
    comparison_id bigint REFERENCES comparison ON DELETE SET NULL,
    report_id int REFERENCES regression_report,
    found timestamptz NOT NULL,
    confirmation_id bigint,
    fresh_change float8,
    fresh_low float8,
    fresh_high float8,
    fresh_mde float8,
    bisection_id bigint,
    landed_revision_id int REFERENCES revision,
    located_in text CHECK (located_in = 'icount'),
    base_value float8,
    head_value float8,
    apart boolean NOT NULL DEFAULT false,
    CONSTRAINT change_size_or_values CHECK ((size IS NULL) = (base_value IS NOT NULL
    AND head_value IS NOT NULL)),
    CONSTRAINT change_candidate_size CHECK (state <> 'candidate' OR size IS NOT NULL)
);
COMMENT ON COLUMN change.fresh_change IS
    'what the fresh comparison read of a candidate that it did not bear out, a fraction';
COMMENT ON COLUMN change.fresh_mde IS 'the change that the fresh comparison could have detected, a fraction';
COMMENT ON COLUMN change.bisection_id IS
    'the bisection that named its revisions; null where a comparison did';
COMMENT ON COLUMN change.landed_revision_id IS
    'the merge that brought it to the branch; null where its head is on the branch itself';
COMMENT ON COLUMN change.located_in IS
    'icount, of a change in walltime whose commit icount named and walltime bore out; else null';
COMMENT ON COLUMN change.size IS
    'a fraction of base; null of a change that has no percentage, which has base_value and head_value';
COMMENT ON COLUMN change.apart IS
    'its sides did not take turns, so that it is a difference between two measurements';
CREATE INDEX change_series ON change (series_id);
CREATE INDEX change_report ON change (report_id);
CREATE INDEX change_found ON change (found DESC, id DESC);
CREATE INDEX change_confirmation ON change (confirmation_id);
CREATE INDEX change_between ON change (head_revision_id, base_revision_id);
CREATE INDEX change_improvement ON change (series_id) WHERE kind = 'improvement';

CREATE TABLE triage (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    report_id int NOT NULL REFERENCES regression_report,
    at timestamptz NOT NULL,
    by text NOT NULL,
    state text NOT NULL,
    owner text,
    note text NOT NULL
);
CREATE INDEX triage_report ON triage (report_id);

-- Followed branches, requests, jobs and leases --------------------------------------------------------------
CREATE TABLE token (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    hash bytea NOT NULL UNIQUE,
    scopes text[] NOT NULL,
    host text,
    created timestamptz NOT NULL,
    expires timestamptz,
    revoked timestamptz,
    last_used timestamptz
);
COMMENT ON COLUMN token.host IS 'the one host that may use it; null for any';

CREATE TABLE follow (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    branch_id int NOT NULL REFERENCES branch,
    policy text NOT NULL CHECK (policy IN ('commit', 'affected', 'push', 'nightly')),
    targets jsonb NOT NULL,
    suites text[] NOT NULL,
    profile text NOT NULL,
    head_commit text,
    requested_commit text,
    polled timestamptz,
    requested timestamptz,
    problem text,
    anchor text,
    anchor_commit text,
    anchor_problem text,
    CONSTRAINT follow_branch_policy UNIQUE (branch_id, policy)
);
COMMENT ON COLUMN follow.targets IS 'pairs of platform and mode';
COMMENT ON COLUMN follow.anchor IS
    'what was asked for: a commit, a tag, or none; null leaves it to the service';
COMMENT ON COLUMN follow.anchor_commit IS 'the commit that walltime runs measure beside base and head';
COMMENT ON COLUMN follow.anchor_problem IS 'why they are measured without it at present';

CREATE TABLE request (
    id uuid PRIMARY KEY,
    idempotency_key text NOT NULL,
    asked_by int NOT NULL REFERENCES token,
    body_digest text NOT NULL,
    tree text NOT NULL,
    base_commit text NOT NULL,
    head_commit text NOT NULL,
    suites text[] NOT NULL,
    profile text NOT NULL,
    boots text NOT NULL,
    priority smallint NOT NULL,
    note text NOT NULL DEFAULT '',
    created timestamptz NOT NULL,
    setup jsonb,
    cpus int NOT NULL DEFAULT 0,
    UNIQUE (asked_by, idempotency_key)
);
COMMENT ON COLUMN request.setup IS
    'arms, guest shapes, suites and files that it brings (cliffwatch.formats.setup); null where it has none';
COMMENT ON COLUMN request.cpus IS 'CPUs of the largest guest that it asks for, 0 where it names none';
CREATE INDEX request_created ON request (created DESC, id DESC);

CREATE TABLE job (
    id uuid PRIMARY KEY,
    request_id uuid NOT NULL REFERENCES request,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL,
    seed int NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled', 'parked')),
    priority smallint NOT NULL,
    due timestamptz NOT NULL,
    cancel boolean NOT NULL DEFAULT false,
    failed_hosts int[] NOT NULL DEFAULT '{}',
    run_id bigint REFERENCES run,
    reason text,
    created timestamptz NOT NULL,
    started timestamptz,
    ended timestamptz,
    whose text CHECK (whose IN ('kernel', 'usage')),
    UNIQUE (request_id, platform, mode),
    CONSTRAINT job_failed_whose CHECK ((state = 'failed') = (whose IS NOT NULL))
);
COMMENT ON COLUMN job.due IS
    'its place in the queue: when it was asked for, earlier by what its priority is worth';
COMMENT ON COLUMN job.whose IS
    'of a failed job: kernel, or usage where what was asked for cannot be measured; null of every other job';
CREATE INDEX job_queue ON job (platform, due, id) WHERE state = 'queued';
CREATE INDEX job_state ON job (state, created DESC, id DESC);
CREATE INDEX job_request ON job (request_id);
CREATE INDEX job_created ON job (created);

CREATE TABLE lease (
    id uuid PRIMARY KEY,
    job_id uuid NOT NULL REFERENCES job,
    host_id int NOT NULL REFERENCES host,
    granted timestamptz NOT NULL,
    expires timestamptz NOT NULL,
    ended timestamptz,
    outcome text CHECK (outcome IN ('done', 'kernel-failed', 'not-possible', 'host-failed', 'cancelled',
    'expired', 'given-back')),
    reason text,
    token_id int REFERENCES token,
    enrolled boolean NOT NULL DEFAULT false,
    trust text NOT NULL DEFAULT 'outside' CHECK (trust IN ('followed', 'outside'))
);
COMMENT ON COLUMN lease.enrolled IS 'taken with a token that is for this host alone';
COMMENT ON COLUMN lease.trust IS
    'followed: base and head were on the followed branch that the job is of when it was taken';
CREATE UNIQUE INDEX lease_open ON lease (job_id) WHERE ended IS NULL;
CREATE INDEX lease_host ON lease (host_id, granted DESC);
CREATE INDEX lease_expiry ON lease (expires) WHERE ended IS NULL;
CREATE INDEX lease_granted ON lease (granted);

CREATE TABLE event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL REFERENCES job,
    lease_id uuid REFERENCES lease,
    sequence int NOT NULL,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    data jsonb NOT NULL,
    UNIQUE NULLS NOT DISTINCT (job_id, lease_id, sequence)
);

CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    who text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE demonstration (
    made timestamptz NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
COMMENT ON TABLE demonstration IS
    'a row where the results were not measured for their readers: every page and report says so';

CREATE TABLE tag (
    tree_id int NOT NULL REFERENCES tree,
    name text NOT NULL,
    revision_id int NOT NULL REFERENCES revision,
    PRIMARY KEY (tree_id, name)
);
COMMENT ON TABLE tag IS
    'as a tree had them when a followed branch of it was looked at last; only of revisions that are known';
CREATE INDEX tag_name ON tag (name);
CREATE INDEX tag_revision ON tag (revision_id);

CREATE TABLE raw_piece (
    run_id bigint NOT NULL,
    number int NOT NULL,
    place int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (run_id, number, place),
    FOREIGN KEY (run_id, number) REFERENCES raw_output ON DELETE CASCADE
);
COMMENT ON TABLE raw_piece IS 'the archive of a raw_output, a MiB a piece, in order of place';
ALTER TABLE raw_piece ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE session (
    nonce_hash bytea PRIMARY KEY,
    token_id int NOT NULL REFERENCES token,
    began timestamptz NOT NULL
);
COMMENT ON TABLE session IS
    'browsers that are signed in: signing out removes the row, and every copy of the cookie is worth nothing';
CREATE INDEX session_began ON session (began);

CREATE TABLE uploaded (
    token_id int NOT NULL REFERENCES token,
    day date NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (token_id, day)
);
COMMENT ON TABLE uploaded IS
    'what was stored under a token on a day (UTC), in bytes of bodies as they came, unpacked';

CREATE TABLE backup (
    taken timestamptz PRIMARY KEY,
    bytes bigint NOT NULL
);
COMMENT ON TABLE backup IS
    'files that `cliffwatch backup` wrote and verified: the moment that each holds, and its size';

-- What dashboards read: views without secrets, logs and e-mail addresses ------------------------------------

CREATE SCHEMA dashboard;

COMMENT ON SCHEMA dashboard IS
    'views for Grafana (docs/dashboards.md): its role reads these and nothing else';

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
    control_published int,
    changed int NOT NULL DEFAULT 0
);
COMMENT ON COLUMN dashboard.compared.control_largest IS
    'of the base vs base check: the largest difference of base to itself, a fraction';
COMMENT ON COLUMN dashboard.compared.control_published IS
    'of the base vs base check: rows in which base was reported to differ from itself';
COMMENT ON COLUMN dashboard.compared.changed IS
    'rows with a change of which nobody said whether it is better';
CREATE INDEX compared_made ON dashboard.compared (made);
CREATE INDEX compared_control ON dashboard.compared (made) WHERE control_rows IS NOT NULL;

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
           (new.summary -> 'control' ->> 'published')::int, coalesce((new.counts ->> 'changed')::int, 0)
    FROM arm AS base, arm AS head WHERE base.id = new.base_arm_id AND head.id = new.head_arm_id;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION dashboard.keep_compared() FROM PUBLIC;

CREATE TRIGGER keep_compared AFTER INSERT OR UPDATE ON comparison FOR EACH ROW
    EXECUTE FUNCTION dashboard.keep_compared();

CREATE INDEX task_unfinished ON procrastinate_jobs (task_name, status) WHERE status IN ('todo', 'doing',
    'failed');

CREATE INDEX task_event_at ON procrastinate_events (at);

-- Dashboards: what is measured ------------------------------------------------------------------------------
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
SELECT series.id AS series_id, series.digest AS series, suite, benchmark, metric, unit,
       metric || ' in ' || unit AS metric_in_unit,
       platform, mode, pair ->> 0 AS parameter, (pair ->> 1)::float8 AS value,
       coalesce((SELECT string_agg((other ->> 0) || '=' || (other ->> 1), '/' ORDER BY place)
                 FROM jsonb_array_elements(params) WITH ORDINALITY AS others (other, place)
                 WHERE other ->> 0 <> pair ->> 0),
                'none') AS others
FROM series JOIN benchmark_case ON benchmark_case.id = case_id CROSS
    JOIN LATERAL jsonb_array_elements(params) AS pair
WHERE pair ->> 1 ~ '^[0-9]{1,15}([.][0-9]{1,9})?$';

COMMENT ON VIEW dashboard.sweep IS
    'series once a parameter that is a number; others are the parameters beside it';

CREATE VIEW dashboard.measurement AS
SELECT point.series_id, point.arm_id, point.revision_id, revision.commit, revision.subject,
       revision.release, n, centre, low, high,
       environment.epoch, run.digest AS run
FROM point JOIN arm ON arm.id = point.arm_id JOIN run ON run.id = arm.run_id AND run.of_history
LEFT JOIN revision ON revision.id = point.revision_id LEFT JOIN environment
    ON environment.id = point.environment_id;

COMMENT ON VIEW dashboard.measurement IS 'points of history; a revision that was measured again has several';

-- The newest measurement is found among narrow rows; only what is left is looked up.
CREATE VIEW dashboard.point AS
SELECT newest.series_id, newest.branch_id, newest.ordinal, commit, subject, release, n, centre, low, high,
       epoch, run,
       coalesce(committed, authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                      WHERE arm.revision_id = newest.revision_id)) AS at
FROM (
    SELECT DISTINCT ON (point.series_id, member.branch_id, member.ordinal) point.series_id,
           member.branch_id, member.ordinal,
           point.revision_id, point.environment_id, n, centre, low, high, run.digest AS run
    FROM point JOIN arm ON arm.id = point.arm_id JOIN run ON run.id = arm.run_id AND run.of_history
    JOIN branch_revision AS member ON member.revision_id = point.revision_id
    ORDER BY point.series_id, member.branch_id, member.ordinal, point.arm_id DESC
) AS newest JOIN revision ON revision.id = newest.revision_id JOIN environment
    ON environment.id = newest.environment_id;

COMMENT ON VIEW dashboard.point IS 'a branch''s history, one point a revision: its newest measurement';

CREATE VIEW dashboard.point_by_date AS
SELECT newest.series_id, commit, subject, release, n, centre, low, high, epoch, run,
       coalesce(committed, authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                      WHERE arm.revision_id = newest.revision_id)) AS at
FROM (
    SELECT DISTINCT ON (point.series_id, point.revision_id) point.series_id, point.revision_id,
           point.environment_id, n, centre, low,
           high, run.digest AS run
    FROM point JOIN arm ON arm.id = point.arm_id JOIN run ON run.id = arm.run_id AND run.of_history
    ORDER BY point.series_id, point.revision_id, point.arm_id DESC
) AS newest JOIN revision ON revision.id = newest.revision_id JOIN environment
    ON environment.id = newest.environment_id;

COMMENT ON VIEW dashboard.point_by_date IS 'history of revisions on any branch or none';

CREATE VIEW dashboard.series_branch AS
SELECT DISTINCT point.series_id, member.branch_id FROM point JOIN arm ON arm.id = arm_id JOIN run
       ON run.id = run_id AND of_history
JOIN branch_revision AS member ON member.revision_id = point.revision_id;

-- OFFSET 0 keeps the inner part for each point by itself: merged with all arms it took twenty seconds.
CREATE VIEW dashboard.latest AS
SELECT series.id AS series_id, branch.id AS branch_id, commit, subject, n, centre, low, high, epoch, run,
       received
FROM series CROSS JOIN branch CROSS JOIN LATERAL (
    SELECT point.revision_id, point.environment_id, n, centre, low, high, run, received
    FROM point CROSS JOIN LATERAL (
        SELECT run.digest AS run, run.received FROM arm JOIN run ON run.id = run_id AND of_history
        JOIN branch_revision AS member ON member.revision_id = point.revision_id
        AND member.branch_id = branch.id
        WHERE arm.id = point.arm_id OFFSET 0
    ) AS measured
    WHERE point.series_id = series.id ORDER BY point.arm_id DESC LIMIT 1
) AS newest
JOIN revision ON revision.id = newest.revision_id JOIN environment ON environment.id = newest.environment_id;

COMMENT ON VIEW dashboard.latest IS 'what a series read last on a branch';

CREATE VIEW dashboard.revision AS
SELECT member.branch_id, member.ordinal, revision.id AS revision_id, commit, subject, run.platform,
       run.mode, arm.id AS arm_id
FROM branch_revision AS member JOIN revision ON revision.id = member.revision_id JOIN arm
    ON arm.revision_id = revision.id
JOIN run ON run.id = run_id AND of_history;

COMMENT ON VIEW dashboard.revision IS 'measured revisions of a branch, a row for each arm';

-- Dashboards: comparisons, changes and reports --------------------------------------------------------------
-- What a query does not ask for costs nothing: the planner leaves out joins from the left to what is unique.
CREATE VIEW dashboard.comparison AS
SELECT compared.made, compared.platform, compared.mode, base.commit AS base, head.commit AS head,
       head.subject,
       regressions, improvements, unchanged, inconclusive, missing, failed, invalid, notable,
       control_rows, control_largest, control_published, host.name AS host, head_run.digest AS run,
       base_run.of_history AND head_run.of_history AS of_history, changed
FROM dashboard.compared LEFT JOIN comparison ON comparison.id = comparison_id
LEFT JOIN revision AS base ON base.id = base_revision_id LEFT JOIN revision AS head
    ON head.id = head_revision_id
LEFT JOIN run AS base_run ON base_run.id = base_run_id LEFT JOIN run AS head_run ON head_run.id = head_run_id
LEFT JOIN host ON host.id = head_run.host_id;

CREATE VIEW dashboard.control AS
SELECT compared.made, compared.platform, compared.mode, host.name AS host, run.digest AS run, notable,
       control_rows AS rows,
       control_largest AS largest, control_published AS published
FROM dashboard.compared LEFT JOIN run ON run.id = head_run_id LEFT JOIN host ON host.id = run.host_id
    WHERE control_rows IS NOT NULL;

COMMENT ON VIEW dashboard.control IS 'base vs base checks: base under a second name in the same run';

CREATE VIEW dashboard.branch_comparison AS
SELECT branch.id AS branch_id, member.ordinal, compared.made, compared.platform, compared.mode,
       base.commit AS base,
       head.commit AS head, head.subject, regressions, improvements, unchanged, inconclusive, missing,
       failed, invalid, changed
FROM branch JOIN branch_revision AS member ON member.branch_id = branch.id
JOIN comparison ON comparison.head_revision_id = member.revision_id
JOIN branch_revision AS before ON before.branch_id = branch.id
    AND before.revision_id = comparison.base_revision_id
    AND before.ordinal < member.ordinal
JOIN dashboard.compared ON comparison_id = comparison.id
JOIN run AS base_run ON base_run.id = base_run_id AND base_run.of_history
JOIN run AS head_run ON head_run.id = head_run_id AND head_run.of_history
LEFT JOIN revision AS base ON base.id = comparison.base_revision_id LEFT JOIN revision AS head
    ON head.id = comparison.head_revision_id;

COMMENT ON VIEW dashboard.branch_comparison IS 'comparisons of history between two revisions of a branch';

CREATE VIEW dashboard.change AS
SELECT change.digest AS change, change.series_id, series.digest AS series, series.platform, series.mode,
       suite, benchmark,
       coalesce(nullif(substr(name, length(benchmark) + 2), ''), 'none') AS parameters, metric,
       change.state, kind, size, ci_low,
       ci_high, found, change.base_revision_id, change.head_revision_id, base.commit AS base,
       head.commit AS head, head.subject,
       regression_report.digest AS report,
       coalesce(head.committed, head.authored, (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                                                WHERE arm.revision_id = head.id)) AS at,
       unit, base_value, head_value
FROM change LEFT JOIN series ON series.id = change.series_id LEFT JOIN benchmark_case
    ON benchmark_case.id = case_id
LEFT JOIN revision AS base ON base.id = change.base_revision_id LEFT JOIN revision AS head
    ON head.id = change.head_revision_id
LEFT JOIN regression_report ON regression_report.id = report_id;

CREATE VIEW dashboard.report AS
SELECT regression_report.digest AS report, state, opened, updated, base.commit AS base, head.commit AS head,
       head.subject,
       (SELECT count(*) FROM change WHERE report_id = regression_report.id
       AND change.state <> 'refuted') AS changes,
       (SELECT max(abs(size)) FROM change WHERE report_id = regression_report.id
       AND change.state <> 'refuted') AS largest,
       (SELECT string_agg(DISTINCT platform, ', ' ORDER BY platform) FROM change JOIN series
       ON series.id = series_id
        WHERE report_id = regression_report.id AND change.state <> 'refuted') AS platforms,
       (SELECT min(at) FROM triage WHERE triage.report_id = regression_report.id) AS judged
FROM regression_report
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id;

COMMENT ON VIEW dashboard.report IS
    'regression reports; who owns one is left out: people write addresses there';

CREATE VIEW dashboard.report_state AS
SELECT digest AS report, state, opened, (SELECT min(at) FROM triage
       WHERE report_id = regression_report.id) AS judged
FROM regression_report;

-- Dashboards: hosts and jobs --------------------------------------------------------------------------------
CREATE VIEW dashboard.target AS
SELECT known.platform, known.mode, newest.received AS newest,
       (SELECT count(*) FROM job WHERE job.platform = known.platform AND job.mode = known.mode
       AND state = 'queued') AS waiting,
       (SELECT count(*) FROM job WHERE job.platform = known.platform AND job.mode = known.mode
       AND state = 'leased') AS running,
       (SELECT max(last_seen) FROM host WHERE host.platform = known.platform
            AND (NOT about ? 'modes' OR about -> 'modes' ? known.mode)) AS seen,
       EXISTS (SELECT FROM follow, jsonb_array_elements(targets) AS target
               WHERE target = jsonb_build_array(known.platform, known.mode)) AS followed
FROM (SELECT platform.name AS platform, mode FROM platform CROSS JOIN (VALUES ('walltime'),
    ('icount')) AS modes (mode)) AS known
LEFT JOIN LATERAL (SELECT received FROM run WHERE run.platform = known.platform
    AND run.mode = known.mode AND of_history
                   ORDER BY received DESC LIMIT 1) AS newest ON true;

COMMENT ON VIEW dashboard.target IS
    'per platform and mode: when it was measured last, what waits for it, when a host of it was seen';

CREATE VIEW dashboard.host AS
SELECT host.name AS host, host.platform, last_seen,
       array_to_string(ARRAY(SELECT jsonb_array_elements_text(
           CASE jsonb_typeof(about -> 'modes') WHEN 'array' THEN about -> 'modes' ELSE '[]' END)), ', ') AS modes,
       open.job_id::text AS job, open.granted AS busy_since,
       about ? 'modes' AND open.job_id IS NULL AND now() - last_seen > interval '10 minutes' AS offline
FROM host LEFT JOIN LATERAL (SELECT job_id, granted FROM lease WHERE host_id = host.id
    AND ended IS NULL LIMIT 1) AS open ON true;

CREATE VIEW dashboard.job AS
SELECT job.id::text AS job, job.platform, job.mode, job.state, job.created, job.started, job.ended,
       extract(epoch FROM job.started - job.created)::float8 AS waited_seconds,
       extract(epoch FROM job.ended - job.started)::float8 AS took_seconds, left(base_commit, 12) AS base,
       left(head_commit, 12) AS head,
       profile, due
FROM job JOIN request ON request.id = request_id;

COMMENT ON VIEW dashboard.job IS 'without reasons, which quote logs, and without who asked';

CREATE VIEW dashboard.lease AS
SELECT host.name AS host, host.platform, granted, lease.ended, coalesce(outcome, 'running') AS outcome, trust,
       extract(epoch FROM lease.ended - granted)::float8 AS seconds
FROM lease JOIN host ON host.id = host_id;

CREATE VIEW dashboard.run AS
SELECT run.digest AS run, run.platform, run.mode, status, of_history, host.name AS host, created, received,
       updated
FROM run LEFT JOIN host ON host.id = host_id;

-- Dashboards: the service itself ----------------------------------------------------------------------------
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
SELECT relname::text AS name, pg_total_relation_size(pg_class.oid)::float8 AS bytes, greatest(reltuples,
       0)::float8 AS rows
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r';

CREATE VIEW dashboard.backup AS SELECT taken, bytes::float8 AS bytes FROM backup;

COMMENT ON VIEW dashboard.backup IS 'verified backups';

CREATE VIEW dashboard.schema_version AS SELECT version_num::text AS version FROM alembic_version;

-- GitHub: installations, webhooks and requests from pull requests -------------------------------------------

CREATE TABLE github_installation (
    id bigint PRIMARY KEY,
    account text NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'suspended', 'removed')),
    looked timestamptz NOT NULL
);
COMMENT ON TABLE github_installation IS
    'where the App is installed, by GitHub''s number; tokens are kept nowhere';

CREATE TABLE github_repository (
    id bigint PRIMARY KEY,
    installation_id bigint NOT NULL REFERENCES github_installation,
    name text NOT NULL,
    allowed boolean NOT NULL DEFAULT true,
    policy text
);
COMMENT ON COLUMN github_repository.id IS 'GitHub''s number: a repository keeps it when it is renamed';
COMMENT ON COLUMN github_repository.name IS 'OWNER/NAME, as GitHub said last';
COMMENT ON COLUMN github_repository.allowed IS 'whether the installation still reaches it';
COMMENT ON COLUMN github_repository.policy IS
    'of an administrator, as TOML; null: the file of the base branch';
CREATE INDEX github_repository_name ON github_repository (lower(name));

CREATE TABLE github_delivery (
    id uuid PRIMARY KEY,
    event text NOT NULL,
    action text,
    received timestamptz NOT NULL
);
COMMENT ON TABLE github_delivery IS 'which webhooks came, for a month; what they said is not kept';
CREATE INDEX github_delivery_received ON github_delivery (received);

CREATE TABLE github_pull_request (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repository_id bigint NOT NULL REFERENCES github_repository,
    number int NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'closed')),
    head text NOT NULL,
    base text NOT NULL,
    waits boolean NOT NULL DEFAULT false,
    approved_head text,
    problem text,
    targets jsonb NOT NULL DEFAULT '[]',
    fail_on text[] NOT NULL DEFAULT '{}',
    series bigint,
    version int,
    declined boolean NOT NULL DEFAULT false,
    looked timestamptz NOT NULL,
    sequence bigint NOT NULL DEFAULT 0,
    shown text,
    checked_head text,
    posted timestamptz,
    UNIQUE (repository_id, number)
);
COMMENT ON COLUMN github_pull_request.head IS 'the commit that GitHub named last';
COMMENT ON COLUMN github_pull_request.base IS
    'what is measured against; the tip of the base branch until that is known';
COMMENT ON COLUMN github_pull_request.waits IS
    'its author is from outside and no maintainer has asked for this head';
COMMENT ON COLUMN github_pull_request.approved_head IS
    'the head that a maintainer asked for; another one waits again';
COMMENT ON COLUMN github_pull_request.problem IS 'why nothing is measured, in words for its page';
COMMENT ON COLUMN github_pull_request.series IS 'of a mailing list, where a branch says so';
COMMENT ON COLUMN github_pull_request.declined IS
    'whether somebody without write access has been told so already';
COMMENT ON COLUMN github_pull_request.targets IS
    'pairs of platform and mode, of the policy that held last; fail_on likewise';
COMMENT ON COLUMN github_pull_request.sequence IS
    'of the comment that was posted last: a later one is never replaced by an earlier one';
COMMENT ON COLUMN github_pull_request.shown IS
    'digests of what was posted last: what says the same is not posted again';
COMMENT ON COLUMN github_pull_request.checked_head IS 'the head whose check run has not been completed';
CREATE INDEX github_pull_request_open ON github_pull_request (id) WHERE state = 'open';

CREATE TABLE github_measurement (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pull_request_id bigint NOT NULL REFERENCES github_pull_request ON DELETE CASCADE,
    pull_head text NOT NULL,
    base_commit text NOT NULL,
    head_commit text NOT NULL,
    version int,
    key text NOT NULL,
    again boolean NOT NULL,
    state text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'superseded', 'cancelled')),
    created timestamptz NOT NULL,
    UNIQUE (pull_request_id, key)
);
COMMENT ON TABLE github_measurement IS
    'what was asked for a head of a pull request; pull_head is what results are keyed by';
COMMENT ON COLUMN github_measurement.head_commit IS
    'what is measured: the head without commits that touch CI alone';
COMMENT ON COLUMN github_measurement.key IS 'the same wish for the same head is asked once';
COMMENT ON COLUMN github_measurement.again IS 'a comment asked for it, not the policy';

CREATE TABLE github_measurement_request (
    measurement_id bigint NOT NULL REFERENCES github_measurement ON DELETE CASCADE,
    request_id uuid NOT NULL REFERENCES request,
    PRIMARY KEY (measurement_id, request_id)
);
CREATE INDEX github_measurement_request_of ON github_measurement_request (request_id);

CREATE TABLE github_command (
    comment_id bigint PRIMARY KEY,
    repository_id bigint NOT NULL REFERENCES github_repository,
    number int NOT NULL,
    head_known text,
    received timestamptz NOT NULL,
    outcome text CHECK (outcome IN ('done', 'wrong', 'declined', 'gone')),
    done timestamptz
);
COMMENT ON TABLE github_command IS
    'comments that begin like a command; what they say is asked from GitHub and kept nowhere';
COMMENT ON COLUMN github_command.head_known IS
    'the head of the pull request when it came: a later one it does not speak of';

CREATE TABLE github_job_token (
    identity bytea PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    token_id bigint NOT NULL REFERENCES token,
    created timestamptz NOT NULL,
    expires timestamptz NOT NULL
);
COMMENT ON TABLE github_job_token IS
    'tokens of jobs that showed an identity of GitHub Actions, for a day after they ended';
COMMENT ON COLUMN github_job_token.identity IS
    'SHA-256 of the number (jti) of the identity token, each of which is good once';
COMMENT ON COLUMN github_job_token.hash IS 'SHA-256 of the secret';
COMMENT ON COLUMN github_job_token.token_id IS
    'whose rights it has: a token that nobody holds, one for a repository and trust';
CREATE INDEX github_job_token_expires ON github_job_token (expires);

-- Requests for more than two revisions: arms, guest shapes, suites and files --------------------------------

CREATE TABLE request_file (
    request_id uuid NOT NULL REFERENCES request,
    name text NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (request_id, name)
);
COMMENT ON TABLE request_file IS 'files that came with a request: patches, configuration, suites, data';
COMMENT ON COLUMN request_file.name IS 'its path below the request, as the setup names it';

CREATE TABLE run_comparison (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    digest text NOT NULL,
    inputs text NOT NULL,
    method_version int NOT NULL,
    made timestamptz NOT NULL,
    document bytea NOT NULL
);
COMMENT ON TABLE run_comparison IS
    'of runs whose arms are others than base and head: each arm against the first one';
COMMENT ON COLUMN run_comparison.inputs IS
    'digest of the boots that went in: other boots, another comparison';
COMMENT ON COLUMN run_comparison.document IS 'Comparison JSON (docs/formats.md), zstd';
ALTER TABLE run_comparison ALTER COLUMN document SET STORAGE EXTERNAL;

-- Watching: confirmations, bisections and the backlog of followed branches ----------------------------------

CREATE TABLE confirmation (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    branch_id int NOT NULL REFERENCES branch ON DELETE CASCADE,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    suites text[] NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'asked', 'answered', 'unanswered')),
    attempts int NOT NULL DEFAULT 0,
    request_id uuid REFERENCES request,
    comparison_id bigint REFERENCES comparison ON DELETE SET NULL,
    reason text,
    made timestamptz NOT NULL,
    ended timestamptz,
    boots integer CHECK (boots > 0)
);
COMMENT ON TABLE confirmation IS
    'fresh comparisons of the revisions around candidates: they confirm or refute them';
COMMENT ON COLUMN confirmation.attempts IS 'how often it was asked for';
COMMENT ON COLUMN confirmation.reason IS 'why it was asked for again, or was not answered';
CREATE INDEX confirmation_open ON confirmation (branch_id, id) WHERE ended IS NULL;
CREATE INDEX confirmation_request ON confirmation (request_id);

CREATE TABLE bisection (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    branch_id int NOT NULL REFERENCES branch ON DELETE CASCADE,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    suites text[] NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done')),
    reason text,
    looked timestamptz,
    made timestamptz NOT NULL,
    ended timestamptz,
    why text,
    UNIQUE (branch_id, platform, mode, base_revision_id, head_revision_id)
);
COMMENT ON TABLE bisection IS 'the search for the culprits of confirmed changes between two revisions';
COMMENT ON COLUMN bisection.reason IS
    'why it does not go on, or what could not be told apart; null where nothing is in its way';
COMMENT ON COLUMN bisection.looked IS 'when its commit graph was last looked for';
COMMENT ON COLUMN bisection.why IS
    'of one in walltime: in which mode it goes on, and why; null of one in icount';

CREATE TABLE bisection_step (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bisection_id bigint NOT NULL REFERENCES bisection ON DELETE CASCADE,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    state text NOT NULL CHECK (state IN ('asked', 'measured', 'skipped')),
    boots text NOT NULL,
    request_id uuid REFERENCES request,
    comparison_id bigint REFERENCES comparison ON DELETE SET NULL,
    reason text,
    asked timestamptz NOT NULL,
    ended timestamptz,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL,
    CONSTRAINT bisection_step_pair UNIQUE (bisection_id, platform, mode, base_revision_id, head_revision_id)
);
COMMENT ON TABLE bisection_step IS
    'pairs of revisions that a bisection had compared; skipped where they could not be';
COMMENT ON COLUMN bisection_step.request_id IS 'null for the ends, which a confirmation compared';
COMMENT ON COLUMN bisection_step.mode IS
    'icount in a bisection in walltime: whether its ends differ there too';
CREATE INDEX bisection_step_request ON bisection_step (request_id);
CREATE UNIQUE INDEX bisection_step_open ON bisection_step (bisection_id) WHERE state = 'asked';

CREATE TABLE backlog (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    follow_id int NOT NULL REFERENCES follow ON DELETE CASCADE,
    base_commit text NOT NULL,
    head_commit text NOT NULL,
    commits int NOT NULL,
    measured boolean NOT NULL,
    made timestamptz NOT NULL,
    UNIQUE (follow_id, base_commit, head_commit)
);
COMMENT ON TABLE backlog IS
    'ranges of a followed branch that are measured later: the longest first, then its halves';
COMMENT ON COLUMN backlog.commits IS 'first-parent commits of the range';
COMMENT ON COLUMN backlog.measured IS 'whether both ends are compared, or only its halves';

-- Events of hosts, and trends -------------------------------------------------------------------------------

CREATE TABLE host_event (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    branch_id int NOT NULL REFERENCES branch ON DELETE CASCADE,
    platform text NOT NULL REFERENCES platform,
    host_id int REFERENCES host,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    series int[] NOT NULL,
    measured int NOT NULL,
    found timestamptz NOT NULL,
    reason text NOT NULL DEFAULT 'series' CHECK (reason IN ('series', 'control'))
);
COMMENT ON TABLE host_event IS
    'many series of a host stepped at once: a fresh comparison shows whether it was the host or a commit, '
    'and they are watched anew from head on';
COMMENT ON COLUMN host_event.series IS 'those that stepped, of `measured` ones';
COMMENT ON COLUMN host_event.reason IS
    'series: many series stepped at once; control: the anchor did, so that it was the host';
CREATE INDEX host_event_branch ON host_event (branch_id, platform);

CREATE TABLE trend (
    series_id int NOT NULL REFERENCES series,
    branch_id int NOT NULL REFERENCES branch ON DELETE CASCADE,
    since text NOT NULL CHECK (since IN ('release', '90 days')),
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    total float8 NOT NULL,
    p float8 NOT NULL,
    points int NOT NULL,
    found timestamptz NOT NULL,
    PRIMARY KEY (series_id, branch_id, since)
);
COMMENT ON TABLE trend IS 'series that drift without a step, as of the last look';
COMMENT ON COLUMN trend.total IS 'change from the first to the last point, as a fraction';

-- News, its subscribers and its deliveries ------------------------------------------------------------------

CREATE TABLE subscription (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id int NOT NULL REFERENCES token,
    channel text NOT NULL CHECK (channel IN ('mail', 'webhook', 'issue')),
    address text NOT NULL,
    secret text,
    authors text[] NOT NULL,
    subsystems text[] NOT NULL,
    suites text[] NOT NULL,
    muted_until timestamptz,
    created timestamptz NOT NULL,
    ended timestamptz
);
COMMENT ON TABLE subscription IS
    'who gets news of regression reports; an address has one subscription at a time';
COMMENT ON COLUMN subscription.address IS
    'a mail address, the address of a webhook, or a repository (OWNER/NAME) for issues';
COMMENT ON COLUMN subscription.secret IS 'what bodies of a webhook are signed with';
COMMENT ON COLUMN subscription.authors IS
    'news of whose commits, empty for everybody''s; likewise subsystems and suites';
CREATE UNIQUE INDEX subscription_address ON subscription (channel, lower(address)) WHERE ended IS NULL;

CREATE TABLE muted_report (
    subscription_id int NOT NULL REFERENCES subscription ON DELETE CASCADE,
    report_id int NOT NULL REFERENCES regression_report,
    PRIMARY KEY (subscription_id, report_id)
);
COMMENT ON TABLE muted_report IS 'reports of which a subscription gets no more news';

CREATE TABLE news (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    report_id int NOT NULL REFERENCES regression_report,
    kind text NOT NULL CHECK (
        kind IN ('new', 'more cases', 'culprit', 'unanswered', 'fixed', 'closed', 'reopened')
    ),
    at timestamptz NOT NULL,
    written timestamptz NOT NULL,
    state text NOT NULL,
    cases int NOT NULL,
    worst float8,
    base text NOT NULL,
    head text NOT NULL,
    named boolean NOT NULL,
    subject text,
    author text,
    platforms text[] NOT NULL,
    suites text[] NOT NULL,
    fix text,
    fix_base text,
    apart boolean NOT NULL DEFAULT false,
    summary text NOT NULL
);
COMMENT ON TABLE news IS 'what there was to say of a regression report, stored with what it is about';
COMMENT ON COLUMN news.written IS 'later than `at` where the report was there before its news were';
COMMENT ON COLUMN news.worst IS 'the largest change for the worse, as a fraction';
COMMENT ON COLUMN news.named IS 'whether the culprit is one commit, which is head';
COMMENT ON COLUMN news.fix_base IS 'the fix lies between it and `fix`; null where `fix` is the commit itself';
COMMENT ON COLUMN news.apart IS 'some of the regressions are differences between two measurements';
COMMENT ON COLUMN news.summary IS
    'what got worse and better, in words: 5 slower (up to 5.2 % more instructions)';
CREATE INDEX news_of_report ON news (report_id, id);
CREATE INDEX news_at ON news (at DESC, id DESC);

CREATE TABLE news_delivery (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    news_id int NOT NULL REFERENCES news,
    subscription_id int NOT NULL REFERENCES subscription,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given up')),
    attempts int NOT NULL DEFAULT 0,
    due timestamptz NOT NULL,
    ended timestamptz,
    reason text,
    thread text,
    UNIQUE (news_id, subscription_id)
);
COMMENT ON COLUMN news_delivery.thread IS
    'what later news of the report answers there: a Message-ID, the number of an issue';
CREATE INDEX news_delivery_due ON news_delivery (due) WHERE state = 'waiting';
CREATE INDEX news_delivery_subscription ON news_delivery (subscription_id, ended);

CREATE TABLE report_fix (
    report_id int PRIMARY KEY REFERENCES regression_report,
    commit text NOT NULL,
    base text,
    by text NOT NULL,
    at timestamptz NOT NULL,
    verified boolean NOT NULL
);
COMMENT ON TABLE report_fix IS
    'the commit that fixed a report; verified where measurements show the level back';
COMMENT ON COLUMN report_fix.base IS
    'the fixing commit lies after it, at `commit` at the latest; null where it is `commit` itself';

CREATE TABLE planted_step (
    commit text PRIMARY KEY CHECK (commit ~ '^[0-9a-f]{40}([0-9a-f]{24})?$'),
    planted timestamptz NOT NULL,
    by text NOT NULL,
    note text NOT NULL
);
COMMENT ON TABLE planted_step IS
    'commits that were made slower on purpose: what share of them reports name is the recall';

CREATE TABLE last_measured (
    branch_id int NOT NULL REFERENCES branch ON DELETE CASCADE,
    case_id int NOT NULL REFERENCES benchmark_case,
    platform text NOT NULL,
    mode text NOT NULL,
    at timestamptz NOT NULL,
    ordinal int NOT NULL,
    gap interval,
    PRIMARY KEY (branch_id, platform, mode, case_id)
);
COMMENT ON TABLE last_measured IS
    'when a case of a branch last got a point of history on a platform, at which place of the branch';
COMMENT ON COLUMN last_measured.gap IS
    'how long it usually takes from one such moment to the next: its cadence; null until there were two';

-- How often the arms of histories changed -------------------------------------------------------------------

CREATE TABLE arms_moved (times bigint NOT NULL);

INSERT INTO arms_moved VALUES (0);

CREATE FUNCTION count_moved_arms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('cliffwatch.moved_in', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
        UPDATE arms_moved SET times = times + 1;
        PERFORM set_config('cliffwatch.moved_in', pg_current_xact_id()::text, true);
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER count_moved_arms AFTER UPDATE ON run DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.of_history IS DISTINCT FROM NEW.of_history) EXECUTE FUNCTION count_moved_arms();

CREATE CONSTRAINT TRIGGER count_moved_arms AFTER UPDATE ON revision DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN ((OLD.release, OLD.committed, OLD.authored) IS DISTINCT FROM (NEW.release,
    NEW.committed, NEW.authored))
    EXECUTE FUNCTION count_moved_arms();

CREATE CONSTRAINT TRIGGER count_moved_arms AFTER INSERT OR UPDATE OR DELETE
    ON branch_revision DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_moved_arms();

CREATE TABLE run_code (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    digest text NOT NULL,
    content bytea NOT NULL
);
COMMENT ON TABLE run_code IS
    'code.json of a run: functions that differ between its kernels, and sizes of parts of their images';
COMMENT ON COLUMN run_code.content IS 'JSON, zstd';

CREATE TABLE anchor_point (
    series_id int NOT NULL REFERENCES series,
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    revision_id int NOT NULL REFERENCES revision,
    n smallint NOT NULL,
    centre float8 NOT NULL,
    low float8,
    high float8,
    PRIMARY KEY (series_id, run_id)
);
COMMENT ON TABLE anchor_point IS
    'the median over boots of a run''s anchor with its interval: no point of its revision''s history, made '
    'anew at any time';
CREATE INDEX anchor_point_run ON anchor_point (run_id);

-- References to tables that are created further down --------------------------------------------------------
ALTER TABLE run ADD FOREIGN KEY (uploaded_by) REFERENCES token;
ALTER TABLE host ADD FOREIGN KEY (token_id) REFERENCES token;
ALTER TABLE run ADD FOREIGN KEY (lease_id) REFERENCES lease;
ALTER TABLE change ADD FOREIGN KEY (confirmation_id) REFERENCES confirmation ON DELETE SET NULL;
ALTER TABLE change ADD FOREIGN KEY (bisection_id) REFERENCES bisection ON DELETE SET NULL;
"""


def upgrade() -> None:
    cursor = op.get_bind().connection.cursor()
    cursor.execute(procrastinate.schema.SchemaManager.get_schema())
    cursor.execute(SQL)
