"""Tags of followed trees, so that revisions can be asked for by them."""

from alembic import op

revision = "0005"
down_revision = "0004"

SQL = """
CREATE TABLE tag (
    tree_id int NOT NULL REFERENCES tree,
    name text NOT NULL,
    revision_id int NOT NULL REFERENCES revision,
    PRIMARY KEY (tree_id, name)
);
COMMENT ON TABLE tag IS 'as a tree had them when a followed branch of it was looked at last; only of revisions that are known';
CREATE INDEX tag_name ON tag (name);
CREATE INDEX tag_revision ON tag (revision_id);
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
