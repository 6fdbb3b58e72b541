"""Requests for more than two revisions: arms, guest shapes, suites of their own, and the files that they came with."""

from alembic import op

revision = "0012"
down_revision = "0011"

SQL = """
ALTER TABLE request ADD COLUMN setup jsonb;
COMMENT ON COLUMN request.setup IS 'arms, guest shapes, suites and files that it brings (cliffwatch.formats.setup); null where it has none';
ALTER TABLE request ADD COLUMN cpus int NOT NULL DEFAULT 0;
COMMENT ON COLUMN request.cpus IS 'CPUs of the largest guest that it asks for, 0 where it names none';

CREATE TABLE request_file (
    request_id uuid NOT NULL REFERENCES request,
    name text NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (request_id, name)
);
COMMENT ON TABLE request_file IS 'files that came with a request: patches, configuration, suites, data';
COMMENT ON COLUMN request_file.name IS 'its path below the request, as the setup names it';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
