"""Quarantine of hosts whose control moved: they take no walltime job until it is ended."""

from alembic import op

revision = "0003"
down_revision = "0002"

SQL = r"""
CREATE TABLE quarantine (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host_id int NOT NULL REFERENCES host,
    began timestamptz NOT NULL,
    reason text NOT NULL,
    run_id bigint REFERENCES run ON DELETE SET NULL,
    ended timestamptz,
    ended_by text,
    CHECK ((ended IS NULL) = (ended_by IS NULL))
);
COMMENT ON TABLE quarantine IS 'hosts that take no walltime job; those with `ended` are history';
COMMENT ON COLUMN quarantine.run_id IS 'the run whose control moved; null where an operator asked for it';
COMMENT ON COLUMN quarantine.ended_by IS 'who ended it';
CREATE UNIQUE INDEX quarantine_open ON quarantine (host_id) WHERE ended IS NULL;
CREATE UNIQUE INDEX quarantine_run ON quarantine (run_id);

CREATE OR REPLACE VIEW dashboard.host AS
SELECT host.name AS host, host.platform, last_seen,
       array_to_string(ARRAY(SELECT jsonb_array_elements_text(
           CASE jsonb_typeof(about -> 'modes') WHEN 'array' THEN about -> 'modes' ELSE '[]' END)), ', ') AS modes,
       open.job_id::text AS job, open.granted AS busy_since,
       about ? 'modes' AND open.job_id IS NULL AND now() - last_seen > interval '10 minutes' AS offline,
       quarantine.began AS quarantined_since, quarantine.reason AS quarantine_reason
FROM host LEFT JOIN LATERAL (SELECT job_id, granted FROM lease WHERE host_id = host.id
    AND ended IS NULL LIMIT 1) AS open ON true
LEFT JOIN quarantine ON quarantine.host_id = host.id AND quarantine.ended IS NULL;
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
