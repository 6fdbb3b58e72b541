"""What watching asks for by itself: fresh comparisons of candidates, bisections, and the backlog of followed branches."""

from alembic import op

revision = "0013"
down_revision = "0012"

SQL = """
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
    ended timestamptz
);
COMMENT ON TABLE confirmation IS 'fresh comparisons of the revisions around candidates: they confirm or refute them';
COMMENT ON COLUMN confirmation.attempts IS 'how often it was asked for';
COMMENT ON COLUMN confirmation.reason IS 'why it was asked for again, or was not answered';
CREATE INDEX confirmation_open ON confirmation (branch_id, id) WHERE ended IS NULL;
CREATE INDEX confirmation_request ON confirmation (request_id);

ALTER TABLE change ADD COLUMN confirmation_id bigint REFERENCES confirmation ON DELETE SET NULL;
ALTER TABLE change ADD COLUMN fresh_change float8;
ALTER TABLE change ADD COLUMN fresh_low float8;
ALTER TABLE change ADD COLUMN fresh_high float8;
ALTER TABLE change ADD COLUMN fresh_mde float8;
ALTER TABLE change DROP CONSTRAINT change_state_check;
ALTER TABLE change ADD CONSTRAINT change_state_check CHECK (state IN ('candidate', 'confirmed', 'refuted', 'superseded'));
COMMENT ON COLUMN change.fresh_change IS 'what the fresh comparison read of a candidate that it did not bear out, a fraction';
COMMENT ON COLUMN change.fresh_mde IS 'the change that the fresh comparison could have detected, a fraction';
CREATE INDEX change_confirmation ON change (confirmation_id);
CREATE INDEX change_between ON change (head_revision_id, base_revision_id);

ALTER TABLE regression_report ADD COLUMN merged_into int REFERENCES regression_report;
COMMENT ON COLUMN regression_report.merged_into IS 'the report of the culprit that its range turned out to hold; null where it stands for itself';

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
    UNIQUE (branch_id, platform, mode, base_revision_id, head_revision_id)
);
COMMENT ON TABLE bisection IS 'the search for the culprits of confirmed changes between two revisions';
COMMENT ON COLUMN bisection.reason IS 'why it does not go on, or what could not be told apart; null where nothing is in its way';
COMMENT ON COLUMN bisection.looked IS 'when its commit graph was last looked for';

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
    UNIQUE (bisection_id, base_revision_id, head_revision_id)
);
COMMENT ON TABLE bisection_step IS 'pairs of revisions that a bisection had compared; skipped where they could not be';
COMMENT ON COLUMN bisection_step.request_id IS 'null for the ends, which a confirmation compared';
CREATE INDEX bisection_step_request ON bisection_step (request_id);
CREATE UNIQUE INDEX bisection_step_open ON bisection_step (bisection_id) WHERE state = 'asked';

ALTER TABLE change ADD COLUMN bisection_id bigint REFERENCES bisection ON DELETE SET NULL;
COMMENT ON COLUMN change.bisection_id IS 'the bisection that named its revisions; null where a comparison did';
ALTER TABLE change ADD COLUMN landed_revision_id int REFERENCES revision;
COMMENT ON COLUMN change.landed_revision_id IS 'the merge that brought it to the branch; null where its head is on the branch itself';

ALTER TABLE follow DROP CONSTRAINT follow_branch_id_key;
ALTER TABLE follow ADD CONSTRAINT follow_branch_policy UNIQUE (branch_id, policy);

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
COMMENT ON TABLE backlog IS 'ranges of a followed branch that are measured later: the longest first, then its halves';
COMMENT ON COLUMN backlog.commits IS 'first-parent commits of the range';
COMMENT ON COLUMN backlog.measured IS 'whether both ends are compared, or only its halves';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
