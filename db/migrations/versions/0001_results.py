"""Tables of trees, runs, results, comparisons, jobs and tokens."""

from alembic import op

revision = "0001"
down_revision = None

SQL = r"""
-- What is measured ------------------------------------------------------------------------------------------------------

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
    about jsonb NOT NULL DEFAULT '{}'
);
COMMENT ON COLUMN host.about IS 'modes, isolation and the findings of its doctor, as the host last said';

CREATE TABLE environment (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    epoch text NOT NULL,
    facts jsonb NOT NULL
);
COMMENT ON COLUMN environment.epoch IS 'digest of what must be equal for numbers to be compared: config, compiler, bench source, guest, processor, microcode';

CREATE TABLE benchmark_case (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    suite text NOT NULL,
    benchmark text NOT NULL,
    params jsonb NOT NULL,
    name text NOT NULL,
    digest text NOT NULL UNIQUE
);
CREATE INDEX benchmark_case_suite ON benchmark_case (suite, id);
COMMENT ON COLUMN benchmark_case.params IS 'pairs of name and value in the order in which the benchmark takes them';

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

-- What was measured -----------------------------------------------------------------------------------------------------

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
    uploaded_by int NOT NULL
);
COMMENT ON COLUMN run.record IS 'run.json as it came, zstd';
CREATE INDEX run_received ON run (received DESC, id DESC);

CREATE TABLE arm (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    name text NOT NULL,
    revision_id int REFERENCES revision,
    kernel_digest text REFERENCES kernel,
    label text NOT NULL,
    failure jsonb,
    UNIQUE (run_id, name)
);
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
-- Samples of one boot are read together; measured values do not compress.
ALTER TABLE boot ALTER COLUMN samples SET STORAGE EXTERNAL;
CREATE INDEX boot_arm ON boot (arm_id);

CREATE TABLE boot_document (
    run_id bigint NOT NULL,
    number int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (run_id, number),
    FOREIGN KEY (run_id, number) REFERENCES boot ON DELETE CASCADE
);
ALTER TABLE boot_document ALTER COLUMN content SET STORAGE EXTERNAL;
COMMENT ON TABLE boot_document IS 'what a boot holds besides its samples: boot.json, environment, readings, outcomes, problems; zstd';

CREATE TABLE raw_output (
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    number int NOT NULL,
    digest text NOT NULL,
    files jsonb NOT NULL,
    content bytea NOT NULL,
    received timestamptz NOT NULL,
    PRIMARY KEY (run_id, number)
);
ALTER TABLE raw_output ALTER COLUMN content SET STORAGE EXTERNAL;
COMMENT ON TABLE raw_output IS 'a boot''s folder as a zstd tar archive; files are name and size';

-- What is told ----------------------------------------------------------------------------------------------------------

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
COMMENT ON TABLE point IS 'one arm''s median over boots with its interval; made from boot.samples and made anew at any time';
-- History reads this index alone: what it answers lies together, however much is stored.
CREATE UNIQUE INDEX point_history ON point (series_id, arm_id) INCLUDE (revision_id, environment_id, n, centre, low, high);

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
ALTER TABLE comparison ALTER COLUMN rows SET STORAGE EXTERNAL;
COMMENT ON COLUMN comparison.inputs IS 'digest of the boots that went in: other boots, another comparison';
COMMENT ON COLUMN comparison.rows IS 'the array `comparisons` of Comparison JSON (docs/formats.md), zstd; the rest of it is summary';
CREATE INDEX comparison_revisions ON comparison (head_revision_id, base_revision_id);

CREATE TABLE verdict (
    comparison_id bigint NOT NULL REFERENCES comparison ON DELETE CASCADE,
    series_id int NOT NULL REFERENCES series,
    verdict text NOT NULL,
    change float8,
    ci_low float8,
    ci_high float8,
    PRIMARY KEY (comparison_id, series_id)
);
COMMENT ON TABLE verdict IS 'rows of a comparison that are not unchanged; all of them are in its rows';
CREATE INDEX verdict_series ON verdict (series_id);

CREATE TABLE regression_report (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'confirmed', 'expected', 'fixed', 'noise')),
    owner text,
    opened timestamptz NOT NULL,
    updated timestamptz NOT NULL
);
COMMENT ON TABLE regression_report IS 'the changes of one culprit: they step between the same two revisions';
CREATE INDEX regression_report_inbox ON regression_report (state, opened DESC, id DESC);

CREATE TABLE change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    series_id int NOT NULL REFERENCES series,
    base_revision_id int NOT NULL REFERENCES revision,
    head_revision_id int NOT NULL REFERENCES revision,
    state text NOT NULL CHECK (state IN ('candidate', 'confirmed', 'refuted')),
    kind text NOT NULL CHECK (kind IN ('regression', 'improvement', 'step')),
    size float8 NOT NULL,
    ci_low float8,
    ci_high float8,
    comparison_id bigint REFERENCES comparison ON DELETE SET NULL,
    report_id int REFERENCES regression_report,
    found timestamptz NOT NULL
);
CREATE INDEX change_series ON change (series_id);
CREATE INDEX change_report ON change (report_id);
CREATE INDEX change_found ON change (found DESC, id DESC);

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

-- What is asked ---------------------------------------------------------------------------------------------------------

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
ALTER TABLE run ADD FOREIGN KEY (uploaded_by) REFERENCES token;

CREATE TABLE follow (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    branch_id int NOT NULL UNIQUE REFERENCES branch,
    policy text NOT NULL CHECK (policy IN ('commit', 'push', 'nightly')),
    targets jsonb NOT NULL,
    suites text[] NOT NULL,
    profile text NOT NULL,
    head_commit text,
    requested_commit text,
    polled timestamptz,
    requested timestamptz,
    problem text
);
COMMENT ON COLUMN follow.targets IS 'pairs of platform and mode';

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
    UNIQUE (asked_by, idempotency_key)
);
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
    UNIQUE (request_id, platform, mode)
);
COMMENT ON COLUMN job.due IS 'its place in the queue: when it was asked for, earlier by what its priority is worth';
CREATE INDEX job_queue ON job (platform, due, id) WHERE state = 'queued';
CREATE INDEX job_state ON job (state, created DESC, id DESC);
CREATE INDEX job_request ON job (request_id);

CREATE TABLE lease (
    id uuid PRIMARY KEY,
    job_id uuid NOT NULL REFERENCES job,
    host_id int NOT NULL REFERENCES host,
    granted timestamptz NOT NULL,
    expires timestamptz NOT NULL,
    ended timestamptz,
    outcome text CHECK (outcome IN ('done', 'kernel-failed', 'host-failed', 'cancelled', 'expired')),
    reason text
);
CREATE UNIQUE INDEX lease_open ON lease (job_id) WHERE ended IS NULL;
CREATE INDEX lease_host ON lease (host_id, granted DESC);
CREATE INDEX lease_expiry ON lease (expires) WHERE ended IS NULL;

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
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
