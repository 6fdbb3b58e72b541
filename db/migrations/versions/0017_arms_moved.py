"""How often what histories know of arms changed: whether a run is of history, where its revision stands on branches, its dates and release.

Services keep that of each arm in memory as long as this number stays. It is counted as the last thing of a transaction, so that nobody
waits for its row while holding others, and once for each.
"""

from alembic import op

revision = "0017"
down_revision = "0016"

SQL = """
CREATE TABLE arms_moved (times bigint NOT NULL);
INSERT INTO arms_moved VALUES (0);

CREATE FUNCTION count_moved_arms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('cliffwatch.moved_in', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
        UPDATE arms_moved SET times = times + 1;
        PERFORM set_config('cliffwatch.moved_in', pg_current_xact_id()::text, true);
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER count_moved_arms AFTER UPDATE ON run DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.of_history IS DISTINCT FROM NEW.of_history) EXECUTE FUNCTION count_moved_arms();
CREATE CONSTRAINT TRIGGER count_moved_arms AFTER UPDATE ON revision DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN ((OLD.release, OLD.committed, OLD.authored) IS DISTINCT FROM (NEW.release, NEW.committed, NEW.authored))
    EXECUTE FUNCTION count_moved_arms();
CREATE CONSTRAINT TRIGGER count_moved_arms AFTER INSERT OR UPDATE OR DELETE ON branch_revision DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_moved_arms();
"""


def upgrade() -> None:
    op.get_bind().connection.cursor().execute(SQL)
