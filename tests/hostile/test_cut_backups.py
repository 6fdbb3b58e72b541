"""A backup that was cut or damaged is refused before anything is touched, and a restore that fails leaves
what was there.
"""

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from service_running import fresh_database

from cliffwatch_service.command import backup as command
from cliffwatch_service.postgres import backup as backing_up
from cliffwatch_service.postgres import restoring
from cliffwatch_service.postgres.backup import backup, verify
from cliffwatch_service.postgres.embedded import EmbeddedPostgres, client_programs
from cliffwatch_service.postgres.migrate import schema_version
from cliffwatch_service.postgres.restoring import restore
from cliffwatch_service.postgres.server import Postgres
from cliffwatch_service.refusal import Refusal

TABLES = (
    "SELECT schemaname, tablename, tableowner FROM pg_tables WHERE schemaname !~ '^(pg_|information)' ORDER"
    " BY 1, 2"
)


def rows(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def other(cluster: EmbeddedPostgres, database: str) -> Iterator[Postgres]:
    """An empty database of this version beside the one that is backed up."""
    for url in fresh_database(cluster, "cliffwatch"):
        yield Postgres(url, "", cluster.programs)


@pytest.fixture
def made(database: str, cluster: EmbeddedPostgres, tmp_path: Path) -> Path:
    """A backup of 20,000 addresses of trees."""
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO tree (url, added) SELECT md5(n::text), now() FROM generate_series(1, 20000) n"
        )
    file = tmp_path / "whole"
    backup(Postgres(database, "", cluster.programs), file)
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM tree")
    return file


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.2, 0.5, 0.9, 0.999, 1.0])
def test_a_cut_backup_touches_nothing(made: Path, other: Postgres, share: float) -> None:
    content = made.read_bytes()
    cut = made.with_name("cut")
    cut.write_bytes(content[: min(int(len(content) * share), len(content) - 1)])
    before = rows(other.url, TABLES)

    with pytest.raises(Refusal):
        restore(other, cut)
    with pytest.raises(Refusal):
        verify(other.programs, cut)

    assert rows(other.url, TABLES) == before
    restore(other, made)
    assert rows(other.url, "SELECT count(*) FROM tree") == [(20000,)]


def test_a_damaged_backup_touches_nothing(made: Path, other: Postgres) -> None:
    """Bytes of the packed rows are others, as a disk may lose them."""
    content = bytearray(made.read_bytes())
    middle = len(content) - 100_000
    content[middle : middle + 64] = bytes(64)
    made.write_bytes(content)
    before = rows(other.url, TABLES)
    with pytest.raises(Refusal):
        restore(other, made)
    assert rows(other.url, TABLES) == before


def test_a_restore_that_fails_half_way_leaves_what_was_there(
    made: Path, other: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: the backup is good, and PostgreSQL cannot take it."""
    before = rows(other.url, TABLES)
    run = backing_up.run_program

    def failing(programs: Path | None, name: str, *arguments: str, url: str | None = None) -> str:
        run(programs, name, *arguments, url=url)
        raise backing_up.no_backup("could not extend file: No space left on device")

    monkeypatch.setattr(restoring, "run_program", failing)
    with pytest.raises(Refusal, match="No space left"):
        restore(other, made)
    assert rows(other.url, TABLES) == before
    assert rows(other.url, "SELECT count(*) FROM tree") == [(0,)]


def test_a_restore_that_was_killed_is_begun_again(
    made: Path, other: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killing(*_: Any, **__: Any) -> str:
        raise Killed

    before = rows(other.url, TABLES)
    with monkeypatch.context() as killed:
        killed.setattr(restoring, "run_program", killing)
        killed.setattr(restoring, "_put_back", lambda _: None)
        with pytest.raises(Killed):
            restore(other, made)
    assert {schema for schema, *_ in rows(other.url, TABLES)} == {
        "public_before_restore",
        "dashboard_before_restore",
    }
    restore(other, made)
    assert rows(other.url, TABLES) == before
    assert rows(other.url, "SELECT count(*) FROM tree") == [(20000,)]


def test_a_backup_of_a_newer_version_touches_nothing(
    made: Path, other: Postgres, database: str, tmp_path: Path
) -> None:
    with psycopg.connect(database) as connection:
        (version,) = connection.execute(
            "UPDATE alembic_version SET version_num = '9999' RETURNING 1"
        ).fetchone() or (0,)
    try:
        backup(Postgres(database, "", other.programs), tmp_path / "newer")
    finally:
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE alembic_version SET version_num = %s", [schema_version(other.url)])
    before = rows(other.url, TABLES)
    with pytest.raises(Refusal, match="update Cliffwatch"):
        restore(other, tmp_path / "newer")
    assert rows(other.url, TABLES) == before
    assert version == 1


def test_what_is_no_run_and_no_token_is_not_overwritten_either(made: Path, other: Postgres) -> None:
    with psycopg.connect(other.url) as connection:
        connection.execute("INSERT INTO tree (url, added) VALUES ('https://example.org/linux.git', now())")
    with pytest.raises(Refusal, match="its table tree has rows"):
        restore(other, made)
    assert rows(other.url, "SELECT count(*) FROM tree") == [(1,)]


def test_a_backup_is_its_owners_and_verified_before_it_has_its_name(
    made: Path, other: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    read: list[Path] = []

    def unreadable(_: Path | None, file: Path) -> str:
        read.append(file)
        raise backing_up.no_backup("could not read from input file: end of file")

    monkeypatch.setattr(backing_up, "verify", unreadable)
    file = made.with_name("another")
    with pytest.raises(Refusal, match="end of file"):
        backup(other, file)
    assert len(read) == 1
    assert sorted(path.name for path in made.parent.iterdir()) == ["whole"]


def test_the_command_verifies_a_file_without_a_database(made: Path, tmp_path: Path) -> None:
    data = tmp_path / "no-data"
    arguments = [str(made), "--verify", "--data-dir", str(data)]
    said = CliRunner().invoke(command.backup, arguments)
    assert (said.exit_code, said.output) == (
        0,
        f"{made}: whole, of schema {verify(client_programs(), made)}\n",
    )
    made.write_bytes(made.read_bytes()[:-1])
    assert CliRunner().invoke(command.backup, arguments).exit_code == 4
    assert not data.exists()


def test_no_password_is_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(argv: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        seen.update(argv=argv, **more)
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    url = "postgresql://me:secret%20word@db.example:5433/cliffwatch?sslmode=require"
    backing_up.run_program(Path(sys.prefix), "pg_dump", url=url)
    assert "secret" not in " ".join(seen["argv"])
    assert seen["env"]["PGPASSWORD"] == "secret word"
    assert "host=db.example" in seen["argv"][1]
