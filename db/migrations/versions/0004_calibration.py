"""Calibrations of hosts: how much equal kernels differ there, case by case."""

from alembic import op

revision = "0004"
down_revision = "0003"

SQL = r"""
CREATE TABLE calibration (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    host_id int NOT NULL REFERENCES host,
    platform text NOT NULL REFERENCES platform,
    mode text NOT NULL CHECK (mode IN ('walltime', 'icount')),
    made timestamptz NOT NULL,
    received timestamptz NOT NULL,
    passed boolean NOT NULL,
    document jsonb NOT NULL
);
COMMENT ON TABLE calibration IS 'runs of a kernel against itself on a host, as cliffwatch host calibrate sends them';
COMMENT ON COLUMN calibration.made IS 'when its newest run began';
COMMENT ON COLUMN calibration.document IS 'calibration.json';
CREATE INDEX calibration_host ON calibration (host_id, made);
CREATE INDEX calibration_platform ON calibration (platform, mode, made);
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
