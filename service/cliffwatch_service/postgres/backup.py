"""Backup and restore, with the tools of the PostgreSQL that is used."""

import shutil
import subprocess
from pathlib import Path

import psycopg

from cliffwatch_service.postgres.migrate import migrate
from cliffwatch_service.postgres.roles import DASHBOARD_SCHEMA, OWNER, let_owner_create, may_act_as_owner
from cliffwatch_service.postgres.server import Postgres
from cliffwatch_service.refusal import Refusal


def backup(database: Postgres, file: Path) -> int:
    """Writes the whole database into one file, which has its name once it is complete; answers its size in bytes.

    The service may go on meanwhile: what is written is the database at one moment. Raises Refusal.
    """
    if file.exists():
        raise _no_backup(f"{file} is there already: name another file")
    writing = file.with_name(f".{file.name}.writing")
    try:
        _run(database, "pg_dump", "--format=custom", "--compress=1", "--no-owner", f"--file={writing}", database.url)
        writing.replace(file)
    finally:
        writing.unlink(missing_ok=True)
    return file.stat().st_size


def restore(database: Postgres, file: Path) -> None:
    """Fills an empty database from a backup and brings it to this version's schema. Raises Refusal."""
    if not file.is_file():
        raise _no_backup(f"there is no backup {file}")
    with psycopg.connect(database.url, autocommit=True) as connection:
        _refuse_used(connection)
        # The schema that is there is this version's and empty; the backup brings its own.
        connection.execute(f"DROP SCHEMA IF EXISTS {DASHBOARD_SCHEMA} CASCADE")
        connection.execute("DROP SCHEMA public CASCADE")
        owned = may_act_as_owner(connection)
        # A backup of a database that was itself restored may say something of the schema, which only its owner can.
        connection.execute("CREATE SCHEMA public" + (f" AUTHORIZATION {OWNER}" if owned else ""))
        connection.execute("COMMENT ON SCHEMA public IS 'standard public schema'")  # as pg_dump takes for granted
        if owned:
            let_owner_create(connection)
    _run(
        database,
        "pg_restore",
        "--no-owner",
        "--no-acl",  # migrating grants what each role needs
        *([f"--role={OWNER}"] if owned else []),
        "--exit-on-error",
        "--single-transaction",
        f"--dbname={database.url}",
        str(file),
    )
    migrate(database.url)


def _refuse_used(connection: psycopg.Connection) -> None:
    for table in ("run", "request", "token"):
        known = connection.execute("SELECT to_regclass(%s)", [table]).fetchone()
        if known is None or known[0] is None:
            continue
        if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None:  # noqa: S608 - names of ours
            raise _no_backup("this database holds results already: restore into an empty one (another --data-dir)")


def _run(database: Postgres, program: str, *arguments: str) -> None:
    path = str(database.programs / program) if database.programs is not None else shutil.which(program)
    if path is None:
        raise _no_backup(f"{program} is not on PATH: install the client programs of your PostgreSQL")
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _no_backup(f"{program}: {done.stderr.strip()[-1500:]}")


def _no_backup(detail: str) -> Refusal:
    return Refusal(503, "no backup", detail)
