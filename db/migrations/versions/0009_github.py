"""GitHub: where the App is installed, which webhooks came, and what was asked for pull requests."""

from alembic import op

revision = "0009"
down_revision = "0008"

SQL = """
CREATE TABLE github_installation (
    id bigint PRIMARY KEY,
    account text NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'suspended', 'removed')),
    looked timestamptz NOT NULL
);
COMMENT ON TABLE github_installation IS 'where the App is installed, by GitHub''s number; tokens are kept nowhere';

CREATE TABLE github_repository (
    id bigint PRIMARY KEY,
    installation_id bigint NOT NULL REFERENCES github_installation,
    name text NOT NULL,
    allowed boolean NOT NULL DEFAULT true,
    policy text
);
CREATE INDEX github_repository_name ON github_repository (lower(name));
COMMENT ON COLUMN github_repository.id IS 'GitHub''s number: a repository keeps it when it is renamed';
COMMENT ON COLUMN github_repository.name IS 'OWNER/NAME, as GitHub said last';
COMMENT ON COLUMN github_repository.allowed IS 'whether the installation still reaches it';
COMMENT ON COLUMN github_repository.policy IS 'of an administrator, as TOML; null: the file of the base branch';

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
COMMENT ON COLUMN github_pull_request.base IS 'what is measured against; the tip of the base branch until that is known';
COMMENT ON COLUMN github_pull_request.waits IS 'its author is from outside and no maintainer has asked for this head';
COMMENT ON COLUMN github_pull_request.approved_head IS 'the head that a maintainer asked for; another one waits again';
COMMENT ON COLUMN github_pull_request.problem IS 'why nothing is measured, in words for its page';
COMMENT ON COLUMN github_pull_request.series IS 'of a mailing list, where a branch says so';
COMMENT ON COLUMN github_pull_request.declined IS 'whether somebody without write access has been told so already';
COMMENT ON COLUMN github_pull_request.targets IS 'pairs of platform and mode, of the policy that held last; fail_on likewise';
COMMENT ON COLUMN github_pull_request.sequence IS 'of the comment that was posted last: a later one is never replaced by an earlier one';
COMMENT ON COLUMN github_pull_request.shown IS 'digests of what was posted last: what says the same is not posted again';
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
COMMENT ON TABLE github_measurement IS 'what was asked for a head of a pull request; pull_head is what results are keyed by';
COMMENT ON COLUMN github_measurement.head_commit IS 'what is measured: the head without commits that touch CI alone';
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
COMMENT ON TABLE github_command IS 'comments that begin like a command; what they say is asked from GitHub and kept nowhere';
COMMENT ON COLUMN github_command.head_known IS 'the head of the pull request when it came: a later one it does not speak of';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
