"""Under which lease and token a run was made, which runs are points of history, and what tokens have uploaded."""

from alembic import op

revision = "0007"
down_revision = "0006"

SQL = """
ALTER TABLE host ADD COLUMN token_id int REFERENCES token;
COMMENT ON COLUMN host.token_id IS 'the token under which it offers to work; null where it only uploads';

ALTER TABLE lease
    ADD COLUMN token_id int REFERENCES token,
    ADD COLUMN enrolled boolean NOT NULL DEFAULT false,
    ADD COLUMN trust text NOT NULL DEFAULT 'outside' CHECK (trust IN ('followed', 'outside'));
COMMENT ON COLUMN lease.enrolled IS 'taken with a token that is for this host alone';
COMMENT ON COLUMN lease.trust IS 'followed: base and head were on the followed branch that the job is of when it was taken';

ALTER TABLE run
    ADD COLUMN lease_id uuid REFERENCES lease,
    ADD COLUMN of_history boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN run.lease_id IS 'the lease for which its host made it; null where somebody measured by hand';
COMMENT ON COLUMN run.of_history IS 'whether its points are of a series'' history and its changes open reports';
CREATE INDEX run_uploaded_by ON run (uploaded_by, received);

CREATE TABLE uploaded (
    token_id int NOT NULL REFERENCES token,
    day date NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (token_id, day)
);
COMMENT ON TABLE uploaded IS 'what was stored under a token on a day (UTC), in bytes of bodies as they came, unpacked';

-- What was history until now and could be so by the new rule, as far as that can be known: whose token it was nobody wrote down.
UPDATE run SET of_history = true WHERE EXISTS (SELECT FROM demonstration) OR EXISTS (
    SELECT FROM job JOIN request ON request.id = job.request_id JOIN tree ON tree.url = request.tree
    JOIN branch ON branch.tree_id = tree.id JOIN follow ON follow.branch_id = branch.id
    JOIN branch_revision AS base_place ON base_place.branch_id = branch.id
    JOIN branch_revision AS head_place ON head_place.branch_id = branch.id
    JOIN arm AS base ON base.run_id = run.id AND base.name = 'base' AND base.revision_id = base_place.revision_id
    JOIN arm AS head ON head.run_id = run.id AND head.name = 'head' AND head.revision_id = head_place.revision_id
    WHERE job.run_id = run.id
);
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
