"""The role of dashboards reads their views and nothing else, and is there or not as the database allows."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from dashboards_read import ROLE
from service_running import Running, fresh_database

from cliffwatch_service.postgres.migrate import migrate
from cliffwatch_service.postgres.roles import DASHBOARDS

TABLES = (
    "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog',"
    " 'information_schema')"
)
SECRET_COLUMNS = {"hash", "nonce_hash", "author", "email", "owner", "reason", "note", "by", "asked_by", "args", "data", "record",
                  "content", "idempotency_key", "who", "detail", "about", "facts", "failure"}  # fmt: skip


def refused(connection: psycopg.Connection[Any], statement: str) -> bool:
    try:
        with connection.transaction():
            connection.execute(statement)  # type: ignore[arg-type]
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


def test_it_reads_no_table(demonstration: Running) -> None:
    with psycopg.connect(demonstration.database) as connection:
        tables = [row[0] for row in connection.execute(TABLES).fetchall()]
        assert len(tables) > 30
        connection.execute(f"SET ROLE {ROLE}")
        assert [table for table in tables if not refused(connection, f"SELECT FROM {table}")] == []


def test_it_reads_every_view_and_writes_none(demonstration: Running) -> None:
    with psycopg.connect(demonstration.database) as connection:
        views = connection.execute("SELECT viewname FROM pg_views WHERE schemaname = 'dashboard'").fetchall()
        assert len(views) > 20
        connection.execute(f"SET ROLE {ROLE}")
        for (view,) in views:
            connection.execute(f"SELECT * FROM dashboard.{view} LIMIT 1")
        for statement in (
            "DELETE FROM dashboard.schema_version",
            "UPDATE dashboard.worker SET last_heartbeat = now()",
            "CREATE TABLE dashboard.mine (a int)",
            "CREATE TABLE public.mine (a int)",
            "SELECT pg_read_file('/etc/passwd')",
            "COPY dashboard.compared TO STDOUT",
            "SELECT dashboard.keep_compared()",
        ):
            assert refused(connection, statement), statement
        assert connection.execute(
            "SELECT bool_or(pg_has_role(%s, oid, 'MEMBER')) FROM pg_roles WHERE rolname <> %s", [ROLE, ROLE]
        ).fetchone() == (False,)


def test_views_have_no_column_of_what_is_nobodys_business(demonstration: Running) -> None:
    """No secrets, no addresses of people, no text of logs: neither by name nor, planted in the tables, in any
    row.
    """
    columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'dashboard'"
    columns += " AND table_name IN (SELECT viewname FROM pg_views)"
    planted = "somebody@example.org"
    with psycopg.connect(demonstration.database) as connection:
        found = connection.execute(columns).fetchall()
        assert {name for name, _ in found} & SECRET_COLUMNS == set()
        assert {kind for _, kind in found} & {"bytea", "jsonb", "json", "ARRAY"} == set()
        for table, column in (
            *(("revision", "author"), ("regression_report", "owner"), ("job", "reason"), ("lease", "reason")),
            *(
                ("request", "note"),
                ("token", "name"),
                ("triage", "by"),
                ("triage", "note"),
                ("follow", "problem"),
            ),
        ):
            connection.execute(f"UPDATE {table} SET {column} = %s || ctid::text", [planted])
        connection.execute(
            "UPDATE host SET about = jsonb_set(about, '{doctor}', to_jsonb(%s::text))", [planted]
        )
        connection.execute(
            "UPDATE procrastinate_jobs SET args = jsonb_build_object('run', %s::text)", [planted]
        )
        connection.execute("UPDATE event SET data = jsonb_build_object('text', %s::text)", [planted])
        for (view,) in connection.execute(
            "SELECT viewname FROM pg_views WHERE schemaname = 'dashboard'"
        ).fetchall():
            rows = connection.execute(f"SELECT each::text FROM dashboard.{view} AS each").fetchall()
            assert not [row for row in rows if planted in row[0]], view
        connection.rollback()


@pytest.fixture
def modest(cluster: Any) -> Iterator[str]:
    """The URL of an empty database for its owner, who may make no role."""
    for url in fresh_database(cluster, "template0"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE ROLE modest LOGIN")
            connection.execute(f"ALTER DATABASE {connection.info.dbname} OWNER TO modest")
        yield url.replace("postgres:@", "modest:@")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY modest CASCADE")
            connection.execute(f"ALTER DATABASE {connection.info.dbname} OWNER TO postgres")
            connection.execute("DROP ROLE modest")


def test_who_may_make_no_role_migrates_and_grants_what_is_there(modest: str) -> None:
    """As on many a managed PostgreSQL: everything is the one user's, and an administrator makes the role."""
    assert migrate(modest) >= "0001"
    with psycopg.connect(modest) as connection:
        assert connection.info.user == "modest"
        assert connection.execute(
            "SELECT viewowner FROM pg_views WHERE schemaname = 'dashboard' GROUP BY 1"
        ).fetchall() == [("modest",)]
        assert connection.execute(
            "SELECT has_schema_privilege(%s, 'dashboard', 'USAGE')", [DASHBOARDS]
        ).fetchone() == (True,)
        assert connection.execute(
            "SELECT has_table_privilege(%s, 'dashboard.series', 'SELECT')", [DASHBOARDS]
        ).fetchone() == (True,)
        assert connection.execute(
            "SELECT has_table_privilege(%s, 'token', 'SELECT')", [DASHBOARDS]
        ).fetchone() == (False,)


def test_where_the_role_cannot_be_made_nothing_fails(modest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cliffwatch_service.postgres.roles.DASHBOARDS", "cliffwatch_absent")
    assert migrate(modest) >= "0001"
    with psycopg.connect(modest) as connection:
        assert (
            connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'cliffwatch_absent'").fetchone()
            is None
        )
        assert connection.execute("SELECT count(*) FROM dashboard.series").fetchone() == (0,)
