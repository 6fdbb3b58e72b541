"""Anchors of followed branches: what they read beside base and head, and events of hosts that they show."""

from alembic import op

revision = "0020"
down_revision = "0019"

SQL = """
ALTER TABLE follow ADD COLUMN anchor text, ADD COLUMN anchor_commit text, ADD COLUMN anchor_problem text;
COMMENT ON COLUMN follow.anchor IS 'what was asked for: a commit, a tag, or none; null leaves it to the service';
COMMENT ON COLUMN follow.anchor_commit IS 'the commit that walltime runs measure beside base and head';
COMMENT ON COLUMN follow.anchor_problem IS 'why they are measured without it at present';

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
CREATE INDEX anchor_point_run ON anchor_point (run_id);
COMMENT ON TABLE anchor_point IS 'the median over boots of a run''s anchor with its interval: no point of its revision''s history, made anew at any time';

ALTER TABLE host_event ADD COLUMN reason text NOT NULL DEFAULT 'series' CHECK (reason IN ('series', 'control'));
COMMENT ON COLUMN host_event.reason IS 'series: many series stepped at once; control: the anchor did, so that it was the host';
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
