"""Brings a database to the schema of this version (db/migrations)."""

from pathlib import Path

import psycopg

from cliffwatch_service.postgres.roles import OWNER, grant, grant_dashboards, let_owner_create, make_roles
from cliffwatch_service.refusal import Refusal

LOCK = 0x0C11FF
"""The advisory lock under which one process at a time migrates."""

OLDEST_SERVER = 150000


def migrations_folder() -> Path:
    installed = Path(__file__).parents[1] / "migrations"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "db/migrations"


def migrate(url: str) -> str:
    """Migrates under the advisory lock and returns the version of the schema.

    Statements may take ten minutes and wait ten seconds for a lock: a busy table is not blocked for longer.
    Raises Refusal, psycopg.Error.
    """
    with psycopg.connect(url) as connection:
        _refuse_unusable(connection)
        connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        connection.commit()
        try:
            return _migrate(connection)
        finally:
            connection.rollback()
            connection.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
            connection.commit()


def _migrate(connection: psycopg.Connection) -> str:
    roles = make_roles(connection)
    if roles:
        let_owner_create(connection)
        connection.execute(f"SET ROLE {OWNER}")
    connection.execute("SET statement_timeout = '10min'; SET lock_timeout = '10s'")
    connection.commit()
    version = _version(connection)
    refuse_newer(version)
    if version != _known()[-1]:
        # Alembic and SQLAlchemy take 20 MiB, which a service that finds its schema as it should be does without.
        from cliffwatch_service.postgres.schema_steps import upgrade  # noqa: PLC0415

        upgrade(connection, migrations_folder())
        version = _version(connection)
    connection.commit()
    if roles:
        connection.execute("RESET ROLE")
        grant(connection)
    grant_dashboards(connection)
    connection.commit()
    return version or ""


def _version(connection: psycopg.Connection) -> str | None:
    """The migration that the database has had last; None where it has had none."""
    there = connection.execute("SELECT to_regclass('alembic_version') IS NOT NULL").fetchone()
    row = (
        connection.execute("SELECT version_num FROM alembic_version").fetchone()
        if there and there[0]
        else None
    )
    return None if row is None else str(row[0])


def schema_version(url: str) -> str | None:
    """The version of the schema that a database has; None for an empty one."""
    with psycopg.connect(url) as connection:
        return _version(connection)


def _refuse_unusable(connection: psycopg.Connection) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise Refusal(
            503,
            "database not usable",
            f"PostgreSQL {connection.info.server_version // 10000} is too old; Cliffwatch needs 15 or newer",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Refusal(
            503,
            "database not usable",
            f"the database is encoded as {encoding}: make it with ENCODING 'UTF8' (createdb --encoding=UTF8 --template=template0)",
        )


def _known() -> list[str]:
    """Versions of the schema, the oldest first."""
    return sorted(
        path.name.partition("_")[0] for path in (migrations_folder() / "versions").glob("[0-9]*.py")
    )


def refuse_newer(version: str | None) -> None:
    """Raises Refusal for a version of the schema that only a newer Cliffwatch knows."""
    if version is not None and version not in _known():
        raise Refusal(
            503,
            "database not usable",
            f"the database is of version {version}, which this Cliffwatch does not know; update Cliffwatch",
        )
