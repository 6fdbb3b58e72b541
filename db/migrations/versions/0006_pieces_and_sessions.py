"""Raw outputs in pieces, so that none is ever whole in memory; signed-in browsers, so that signing out ends them."""

from alembic import op

revision = "0006"
down_revision = "0005"

SQL = """
ALTER TABLE raw_output ALTER COLUMN content DROP NOT NULL;
COMMENT ON TABLE raw_output IS 'a boot''s folder as a zstd tar archive; files are name and size';
COMMENT ON COLUMN raw_output.content IS 'of archives from before raw_piece; null for later ones';

CREATE TABLE raw_piece (
    run_id bigint NOT NULL,
    number int NOT NULL,
    place int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (run_id, number, place),
    FOREIGN KEY (run_id, number) REFERENCES raw_output ON DELETE CASCADE
);
ALTER TABLE raw_piece ALTER COLUMN content SET STORAGE EXTERNAL;
COMMENT ON TABLE raw_piece IS 'the archive of a raw_output, a MiB a piece, in order of place';

CREATE TABLE session (
    nonce_hash bytea PRIMARY KEY,
    token_id int NOT NULL REFERENCES token,
    began timestamptz NOT NULL
);
COMMENT ON TABLE session IS 'browsers that are signed in: signing out removes the row, and every copy of the cookie is worth nothing';
CREATE INDEX session_began ON session (began);
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
