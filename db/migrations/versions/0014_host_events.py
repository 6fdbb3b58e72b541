"""What watching says beside steps: events of a host, and slow trends."""

from alembic import op

revision = "0014"
down_revision = "0013"

SQL = """
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
    found timestamptz NOT NULL
);
CREATE INDEX host_event_branch ON host_event (branch_id, platform);
COMMENT ON TABLE host_event IS 'many series of a host stepped at once: a fresh comparison shows whether it was the host or a commit, and they are watched anew from head on';
COMMENT ON COLUMN host_event.series IS 'those that stepped, of `measured` ones';

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
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
