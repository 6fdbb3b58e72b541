"""Tests hand a database on to each other. What one leaves in it no other may find."""

import psycopg
import pytest
from postgres_running import Databases
from service_running import fresh_database

COUNT = "SELECT count(*) FROM tree"
NAMES = "SELECT string_agg(version_num, ',') FROM alembic_version"


def value(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return row and row[0]


def test_rows_and_sessions_of_a_test_end_with_it(databases: Databases, database: str) -> None:
    left_open = psycopg.connect(database, autocommit=True)
    left_open.execute("INSERT INTO tree (url, added) VALUES ('left', now())")
    left_open.execute("UPDATE alembic_version SET version_num = 'of a test'")
    version = next(value(url, NAMES) for url in fresh_database(databases.cluster, "cliffwatch"))
    databases.give_back()
    assert databases.take() == database
    assert (value(database, COUNT), value(database, NAMES)) == (0, version)
    with pytest.raises(psycopg.OperationalError):
        left_open.execute("SELECT 1")
    left_open.close()
    with psycopg.connect(database) as connection:
        made = connection.execute(
            "INSERT INTO tree (url, added) VALUES ('first', now()) RETURNING id"
        ).fetchone()
    assert made == (1,)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE of_a_test (a int)",
        "ALTER TABLE tree ADD COLUMN of_a_test int",
        "ALTER TABLE tree ALTER COLUMN added DROP NOT NULL",
        "ALTER TABLE tree DROP CONSTRAINT tree_url_key",
        "GRANT DELETE ON tree TO PUBLIC",
        "CREATE FUNCTION of_a_test() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA of_a_test",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
    ],
)
def test_a_database_that_a_test_changed_is_not_used_again(
    databases: Databases, database: str, change: str
) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(change)
    databases.give_back()
    assert databases.take() != database


def test_a_database_that_a_test_filled_is_not_used_again(databases: Databases, database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO tree (url, added) SELECT i || repeat('x', 1000), now() FROM generate_series(1,"
            " 20000) AS i"
        )
    databases.give_back()
    assert databases.take() != database
