"""Migrates a database to the schema of this version (db/migrations)."""

from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from cliffwatch_service.postgres.roles import OWNER, grant, grant_dashboards, let_owner_create, make_roles
from cliffwatch_service.refusal import Refusal


def upgrade(connection: psycopg.Connection, folder: Path) -> None:
    """Applies the missing migrations, each in a transaction of its own; leaves the connection open.

    The connection stays open.
    """
    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    try:
        with engine.connect() as bound:
            config = Config()
            config.set_main_option("script_location", str(folder))
            config.attributes["connection"] = bound
            command.upgrade(config, "head")
            bound.commit()
    except DBAPIError as error:
        raise (error.orig or error) from None


LOCK = 0x0C11FF
"""Advisory lock that lets one process migrate at a time."""

OLDEST_SERVER = 150000


def migrations_folder() -> Path:
    installed = Path(__file__).parents[1] / "migrations"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "db/migrations"


def migrate(url: str) -> str:
    """Migrates under the advisory lock and returns the version of the schema.

    Raises Refusal, psycopg.Error. A statement may take ten minutes, but waits for a lock for ten seconds
    only: it blocks a busy table no longer.
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
    if version != _schema_versions()[-1]:
        # Alembic and SQLAlchemy take 20 MiB, which a service that finds its schema as it should be does
        # without.

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
    """Returns the database's last migration; None if it has had none."""
    there = connection.execute("SELECT to_regclass('alembic_version') IS NOT NULL").fetchone()
    row = (
        connection.execute("SELECT version_num FROM alembic_version").fetchone()
        if there and there[0]
        else None
    )
    return None if row is None else str(row[0])


def schema_version(url: str) -> str | None:
    """Returns the schema version of a database; None for an empty one."""
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
            f"the database has the encoding {encoding}:"
            " create it with `createdb --encoding=UTF8 --template=template0`",
        )


def _schema_versions() -> list[str]:
    """Returns all schema versions, oldest first."""
    return sorted(
        path.name.partition("_")[0] for path in (migrations_folder() / "versions").glob("[0-9]*.py")
    )


def refuse_newer(version: str | None) -> None:
    """Raises Refusal for a schema version that only a newer Cliffwatch knows."""
    if version is not None and version not in _schema_versions():
        raise Refusal(
            503,
            "database not usable",
            f"the database has schema version {version}, which this Cliffwatch does not know;"
            " update Cliffwatch",
        )
