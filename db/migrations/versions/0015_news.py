"""News of regression reports, who subscribes to them, what was delivered; fixing commits, planted steps, and when a case was last
measured.
"""

from alembic import op

revision = "0015"
down_revision = "0014"

SQL = """
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
COMMENT ON TABLE subscription IS 'who gets news of regression reports; an address has one subscription at a time';
COMMENT ON COLUMN subscription.address IS 'a mail address, the address of a webhook, or a repository (OWNER/NAME) for issues';
COMMENT ON COLUMN subscription.secret IS 'what bodies of a webhook are signed with';
COMMENT ON COLUMN subscription.authors IS 'news of whose commits, empty for everybody''s; likewise subsystems and suites';
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
    kind text NOT NULL CHECK (kind IN ('new', 'more cases', 'culprit', 'fixed', 'closed', 'reopened')),
    at timestamptz NOT NULL,
    written timestamptz NOT NULL,
    state text NOT NULL,
    cases int NOT NULL,
    worst float8 NOT NULL,
    base text NOT NULL,
    head text NOT NULL,
    named boolean NOT NULL,
    subject text,
    author text,
    platforms text[] NOT NULL,
    suites text[] NOT NULL,
    fix text
);
COMMENT ON TABLE news IS 'what there was to say of a regression report, stored with what it is about';
COMMENT ON COLUMN news.written IS 'later than `at` where the report was there before its news were';
COMMENT ON COLUMN news.worst IS 'the largest change for the worse, as a fraction';
COMMENT ON COLUMN news.named IS 'whether the culprit is one commit, which is head';
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
COMMENT ON COLUMN news_delivery.thread IS 'what later news of the report answers there: a Message-ID, the number of an issue';
CREATE INDEX news_delivery_due ON news_delivery (due) WHERE state = 'waiting';
CREATE INDEX news_delivery_subscription ON news_delivery (subscription_id, ended);

CREATE TABLE report_fix (
    report_id int PRIMARY KEY REFERENCES regression_report,
    commit text NOT NULL,
    by text NOT NULL,
    at timestamptz NOT NULL,
    verified boolean NOT NULL
);
COMMENT ON TABLE report_fix IS 'the commit that fixed a report; verified where measurements show the level back';

CREATE TABLE planted_step (
    commit text PRIMARY KEY CHECK (commit ~ '^[0-9a-f]{40}([0-9a-f]{24})?$'),
    planted timestamptz NOT NULL,
    by text NOT NULL,
    note text NOT NULL
);
COMMENT ON TABLE planted_step IS 'commits that were made slower on purpose: what share of them reports name is the recall';

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
COMMENT ON TABLE last_measured IS 'when a case of a branch last got a point of history on a platform, at which place of the branch';
COMMENT ON COLUMN last_measured.gap IS 'how long it usually takes from one such moment to the next: its cadence; null until there were two';
INSERT INTO last_measured (branch_id, case_id, platform, mode, at, ordinal)
SELECT branch_id, case_id, run.platform, run.mode, max(received), max(ordinal)
FROM (SELECT DISTINCT arm_id, columns_id FROM boot) AS measured
JOIN arm ON arm.id = arm_id JOIN run ON run.id = run_id AND of_history
JOIN branch_revision USING (revision_id)
JOIN columns ON columns.id = columns_id CROSS JOIN unnest(columns.series) AS of_series
JOIN series ON series.id = of_series
GROUP BY 1, 2, 3, 4;

ALTER TABLE lease DROP CONSTRAINT lease_outcome_check;
ALTER TABLE lease ADD CONSTRAINT lease_outcome_check
    CHECK (outcome IN ('done', 'kernel-failed', 'host-failed', 'cancelled', 'expired', 'given-back'));

CREATE INDEX revision_subject ON revision USING gin (to_tsvector('simple', coalesce(subject, '')));
CREATE INDEX change_improvement ON change (series_id) WHERE kind = 'improvement';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
