"""The database: migrations, roles, backup and restore."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from service_running import Running, database_url, fresh_database
from service_runs import put_all, run_of

from cliffwatch_service.postgres.backup import backup
from cliffwatch_service.postgres.embedded import EmbeddedPostgres
from cliffwatch_service.postgres.migrate import migrate
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.postgres.restoring import restore
from cliffwatch_service.postgres.roles import APPLICATION, READER
from cliffwatch_service.postgres.server import Postgres
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.settings import read_settings
from cliffwatch_service.store.work import hosts

SCHEMA = """
SELECT table_name, column_name, data_type, is_nullable, column_default
FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2
"""
INDEXES = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"


def schema_of(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return [*connection.execute(SCHEMA).fetchall(), *connection.execute(INDEXES).fetchall()]


def counts_of(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        names = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in names}


def test_migrating_twice_changes_nothing(database: str) -> None:
    before = schema_of(database)
    migrate(database)
    assert schema_of(database) == before


def test_a_database_of_a_newer_cliffwatch_is_refused(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Refusal, match="update Cliffwatch"):
        migrate(database)


@pytest.mark.parametrize(
    ("role", "statement", "allowed"),
    [
        (READER, "SELECT * FROM boot", True),
        (READER, "SELECT * FROM token", False),
        (READER, "INSERT INTO tree (url, added) VALUES ('x', now())", False),
        (APPLICATION, "INSERT INTO tree (url, added) VALUES ('x', now())", True),
        (APPLICATION, "DELETE FROM boot", False),
        (APPLICATION, "DELETE FROM audit", False),
        (APPLICATION, "UPDATE request_file SET content = ''", False),
        (APPLICATION, "DROP TABLE run", False),
        (APPLICATION, "CREATE TABLE mine (a int)", False),
    ],
)
def test_roles_may_do_what_they_are_for(database: str, role: str, statement: str, allowed: bool) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(f"SET ROLE {role}")
        if allowed:
            connection.execute(statement)
            return
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_a_backup_holds_everything(
    running: Running, empty_database: str, cluster: EmbeddedPostgres, tmp_path: Path
) -> None:
    with running.http("upload") as http:
        put_all(http, run_of(boots=4, cases=6, shift=0.1))
    running.do_tasks()
    file = tmp_path / "cliffwatch.backup"
    backup(Postgres(running.database, "", cluster.programs), file)
    restore(Postgres(empty_database, "", cluster.programs), file)

    assert counts_of(empty_database) == counts_of(running.database)
    with psycopg.connect(empty_database) as one, psycopg.connect(running.database) as other:
        for table in ("boot", "boot_document", "comparison", "point", "token"):
            query = f"SELECT md5(string_agg({table}::text, ',' ORDER BY {table}::text)) FROM {table}"
            assert one.execute(query).fetchone() == other.execute(query).fetchone()


@pytest.fixture
def another_empty_database(cluster: EmbeddedPostgres) -> Iterator[str]:
    yield from fresh_database(cluster, "template0")


def test_a_backup_of_a_restored_database_is_one_too(
    running: Running,
    empty_database: str,
    another_empty_database: str,
    cluster: EmbeddedPostgres,
    tmp_path: Path,
) -> None:
    with running.http("upload") as http:
        put_all(http, run_of(boots=1, cases=2))
    first, second = tmp_path / "first", tmp_path / "second"
    backup(Postgres(running.database, "", cluster.programs), first)
    restore(Postgres(empty_database, "", cluster.programs), first)
    with psycopg.connect(empty_database) as connection:
        # As older versions restored: pg_dump then writes down that the schema has no comment.
        connection.execute("COMMENT ON SCHEMA public IS NULL")
    backup(Postgres(empty_database, "", cluster.programs), second)
    restore(Postgres(another_empty_database, "", cluster.programs), second)

    assert counts_of(another_empty_database) == counts_of(running.database)


def test_a_database_that_is_used_is_not_overwritten(
    running: Running, cluster: EmbeddedPostgres, tmp_path: Path
) -> None:
    file = tmp_path / "cliffwatch.backup"
    backup(Postgres(running.database, "", cluster.programs), file)
    with pytest.raises(Refusal, match="empty one"):
        restore(Postgres(running.database, "", cluster.programs), file)
    with pytest.raises(Refusal, match="exists already"):
        backup(Postgres(running.database, "", cluster.programs), file)


def test_a_refused_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIFFWATCH_SESSION_KEY", "hunter2")
    with pytest.raises(Refusal) as refused:
        read_settings()
    assert "CLIFFWATCH_SESSION_KEY" in refused.value.detail
    assert "hunter2" not in str(refused.value)


def test_unknown_settings_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLIFFWATCH_PUBLIC_READNG", "no")
    with pytest.raises(Refusal, match="CLIFFWATCH_PUBLIC_READNG"):
        read_settings()
    monkeypatch.delenv("CLIFFWATCH_PUBLIC_READNG")
    file = tmp_path / "settings.toml"
    file.write_text("public_readng = false\n")
    monkeypatch.setenv("CLIFFWATCH_SETTINGS", str(file))
    with pytest.raises(Refusal, match="public_readng"):
        read_settings()
    file.write_text("public_reading = false\n")
    assert read_settings().public_reading is False
    monkeypatch.setenv("CLIFFWATCH_PUBLIC_READING", "true")
    assert read_settings().public_reading is True


@pytest.mark.parametrize("granted", [False, True])
def test_an_ordinary_user_of_a_managed_database_is_enough(cluster: EmbeddedPostgres, granted: bool) -> None:
    """He owns the database and may make no roles; an administrator may have granted him those of
    the service.
    """
    name = f"u{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url(cluster, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"CREATE DATABASE {name} OWNER {name}")
        if granted:
            connection.execute(f"GRANT cliffwatch_owner, {APPLICATION}, {READER} TO {name}")
    url = database_url(cluster, name).replace("postgres:@", f"{name}:@")
    migrate(url)
    with open_pool(url, connections=2, statement_seconds=10) as pool, pool.connection() as connection:
        hosts.keep_host(connection, "rome-1", "amd-rome", {}, clock.now())
        user = connection.execute("SELECT current_user").fetchone()
    assert user == (APPLICATION if granted else name,)
    with psycopg.connect(database_url(cluster, "postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE {name}")
