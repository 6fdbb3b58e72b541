"""Tokens of jobs of GitHub Actions, which end after a quarter of an hour."""

from alembic import op

revision = "0010"
down_revision = "0009"

SQL = """
CREATE TABLE github_job_token (
    identity bytea PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    token_id bigint NOT NULL REFERENCES token,
    created timestamptz NOT NULL,
    expires timestamptz NOT NULL
);
COMMENT ON TABLE github_job_token IS 'tokens of jobs that showed an identity of GitHub Actions, for a day after they ended';
COMMENT ON COLUMN github_job_token.identity IS 'SHA-256 of the number (jti) of the identity token, each of which is good once';
COMMENT ON COLUMN github_job_token.hash IS 'SHA-256 of the secret';
COMMENT ON COLUMN github_job_token.token_id IS 'whose rights it has: a token that nobody holds, one for a repository and trust';
CREATE INDEX github_job_token_expires ON github_job_token (expires);
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
