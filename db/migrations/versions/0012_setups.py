"""Requests for more than two revisions (arms, guest shapes, suites of their own, files), and the comparison of runs with such arms."""

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

ALTER TABLE arm ADD COLUMN own_settings boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN arm.own_settings IS 'whether it has boot arguments, sysctls, configuration or a compiler of its own: it does not answer for its revision then';

CREATE TABLE run_comparison (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    digest text NOT NULL,
    inputs text NOT NULL,
    method_version int NOT NULL,
    made timestamptz NOT NULL,
    document bytea NOT NULL
);
ALTER TABLE run_comparison ALTER COLUMN document SET STORAGE EXTERNAL;
COMMENT ON TABLE run_comparison IS 'of runs whose arms are others than base and head: each arm against the first one';
COMMENT ON COLUMN run_comparison.inputs IS 'digest of the boots that went in: other boots, another comparison';
COMMENT ON COLUMN run_comparison.document IS 'Comparison JSON (docs/formats.md), zstd';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
