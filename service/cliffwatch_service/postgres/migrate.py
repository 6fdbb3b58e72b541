"""Brings a database to the schema of this version (db/migrations)."""

from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from cliffwatch_service.refusal import Refusal

LOCK = 0x0C11FF
"""The advisory lock under which one process at a time migrates."""

OLDEST_SERVER = 150000
OWNER, APPLICATION, READER = "cliffwatch_owner", "cliffwatch_application", "cliffwatch_reader"
DASHBOARDS = "cliffwatch_dashboards"
DASHBOARD_SCHEMA = "dashboard"

_GRANTS = f"""
GRANT USAGE ON SCHEMA public TO {APPLICATION}, {READER};
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER};
REVOKE SELECT ON token, audit, procrastinate_jobs FROM {READER};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {APPLICATION};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {APPLICATION};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {APPLICATION};
"""  # noqa: S608 - names of roles, which are constants


_NEVER_CHANGED = (
    *(
        "boot",
        "boot_document",
        "raw_output",
        "raw_piece",
        "columns",
        "series",
        "benchmark_case",
        "environment",
        "kernel",
    ),
    *("point", "audit", "triage"),
)
_NEVER_DELETED = (
    *(
        "run",
        "arm",
        "boot",
        "boot_document",
        "columns",
        "series",
        "benchmark_case",
        "environment",
        "kernel",
        "revision",
    ),
    *("audit", "triage", "token"),
)
"""What was measured and what was done, as far as the application may do to it: whoever makes it run SQL of his own changes no
sample. Runs and arms, too: with one of them its boots would go."""


def migrations_folder() -> Path:
    installed = Path(__file__).parents[1] / "migrations"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "db/migrations"


def migrate(url: str, *, to: str = "head") -> str:
    """Migrates under the advisory lock and answers the version that the database has then.

    Statements may take ten minutes and wait ten seconds for a lock: a busy table is not blocked for longer.
    Raises Refusal, psycopg.Error.
    """
    try:
        return _migrated(url, to)
    except DBAPIError as error:
        raise (error.orig or error) from None


def _migrated(url: str, to: str) -> str:
    with psycopg.connect(url) as first:
        _refuse_unusable(first)
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool)
    with engine.connect() as bound:
        raw = bound.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        raw.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        raw.commit()
        try:
            roles = _roles(raw)
            if roles:
                let_owner_create(raw)
                raw.execute(f"SET ROLE {OWNER}")
            raw.execute("SET statement_timeout = '10min'; SET lock_timeout = '10s'")
            raw.commit()
            config = Config()
            config.set_main_option("script_location", str(migrations_folder()))
            config.attributes["connection"] = bound
            _refuse_newer(config, MigrationContext.configure(bound).get_current_revision())
            command.upgrade(config, to)
            bound.commit()
            version = MigrationContext.configure(bound).get_current_revision() or "empty"
            if roles:
                raw.execute("RESET ROLE")
                _grant(raw, version)
            if version >= "0008":
                _grant_dashboards(raw)
            bound.commit()
        finally:
            raw.rollback()
            raw.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
            raw.commit()
    return version


def schema_version(url: str) -> str | None:
    """The version of the schema that a database has; None for an empty one."""
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool)
    with engine.connect() as bound:
        return MigrationContext.configure(bound).get_current_revision()


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


def _refuse_newer(config: Config, current: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise Refusal(
            503,
            "database not usable",
            f"the database is of version {current}, which this Cliffwatch does not know; update Cliffwatch",
        )


def _roles(connection: psycopg.Connection) -> bool:
    """Makes the three roles where this user may. Where he may not, everything belongs to him and nothing is granted."""
    try:
        with connection.transaction():
            for role in (OWNER, APPLICATION, READER):
                if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is None:
                    connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
                connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def let_owner_create(connection: psycopg.Connection) -> None:
    """Gives the owner the schemas in which it makes things. Raises psycopg.errors.InsufficientPrivilege."""
    database = sql.Identifier(connection.info.dbname)
    connection.execute(f"GRANT ALL ON SCHEMA public TO {OWNER}")
    connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, sql.Identifier(OWNER)))


def may_act_as_owner(connection: psycopg.Connection) -> bool:
    """Whether this user may own things in the owner's name."""
    membership = connection.execute(
        "SELECT 1 FROM pg_roles WHERE rolname = %s AND pg_has_role(current_user, oid, 'MEMBER')", [OWNER]
    ).fetchone()
    return membership is not None


def _grant(connection: psycopg.Connection, version: str) -> None:
    if version >= "0002":
        connection.execute(_GRANTS)
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        there = {row[0] for row in rows}
        for act, tables in (("UPDATE", _NEVER_CHANGED), ("DELETE", _NEVER_DELETED)):
            for table in sorted(there & set(tables)):
                connection.execute(
                    sql.SQL("REVOKE {} ON {} FROM {}").format(
                        sql.SQL(act), sql.Identifier(table), sql.Identifier(APPLICATION)
                    )
                )


def _grant_dashboards(connection: psycopg.Connection) -> None:
    """The role of dashboards reads their views and nothing else. It is made where this user may; where he may not, an
    administrator makes it, and the next migration grants.
    """
    role, schema = sql.Identifier(DASHBOARDS), sql.Identifier(DASHBOARD_SCHEMA)
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [DASHBOARDS]).fetchone() is None:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(role))
        except psycopg.errors.InsufficientPrivilege:
            return
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
    views = connection.execute("SELECT viewname FROM pg_views WHERE schemaname = %s", [DASHBOARD_SCHEMA]).fetchall()
    for (view,) in views:
        name = sql.Identifier(DASHBOARD_SCHEMA, view)
        connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(name, role))
