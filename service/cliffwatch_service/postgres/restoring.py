"""Restores a backup into an empty database, all or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from cliffwatch_service.postgres.backup import no_backup, run_program, verify
from cliffwatch_service.postgres.migrate import migrate, refuse_newer
from cliffwatch_service.postgres.roles import DASHBOARD_SCHEMA, OWNER, let_owner_create, may_act_as_owner
from cliffwatch_service.postgres.server import Postgres

_SCHEMAS = ("public", DASHBOARD_SCHEMA)
_ASIDE = "{}_before_restore"
_IN_AN_EMPTY_SERVICE = frozenset({"alembic_version", "arms_moved", "backup"})
"""Tables that have rows before anybody used the service: of migrations, and of a nightly backup."""


def restore(database: Postgres, file: Path) -> None:
    """Fills an empty database from a backup and migrates it to this version's schema. Raises Refusal.

    If pg_restore fails, the database is as it was. After a crash the next restore starts from there.
    """
    refuse_newer(verify(database.programs, file))
    with psycopg.connect(database.url, autocommit=True) as connection:
        _refuse_used(connection)
        with _set_aside(connection) as owned:
            run_program(
                database.programs,
                "pg_restore",
                "--no-owner",
                "--no-acl",  # migrating grants what each role needs
                *([f"--role={OWNER}"] if owned else []),
                "--exit-on-error",
                "--single-transaction",
                str(file),
                url=database.url,
            )
    migrate(database.url)


@contextmanager
def _set_aside(connection: psycopg.Connection) -> Iterator[bool]:
    """Sets the present schemas aside and creates an empty schema `public`.

    Yields whether the owner role owns it. If the body fails, the old schemas come back; otherwise they are
    dropped.
    """
    with connection.transaction():
        if _exists(connection, _ASIDE.format("public")):  # left by a restore that was killed
            _put_back(connection)
        for schema in _SCHEMAS:
            _rename(connection, schema, _ASIDE.format(schema))
        owned = may_act_as_owner(connection)
        # A backup of a restored database may comment on the schema, which only the schema's owner may do.
        connection.execute("CREATE SCHEMA public" + (f" AUTHORIZATION {OWNER}" if owned else ""))
        # pg_dump takes this comment for granted.
        connection.execute("COMMENT ON SCHEMA public IS 'standard public schema'")
        if owned:
            let_owner_create(connection)
    try:
        yield owned
    except BaseException:
        with connection.transaction():
            _put_back(connection)
        raise
    with connection.transaction():
        for schema in _SCHEMAS:
            _drop(connection, _ASIDE.format(schema))


def _put_back(connection: psycopg.Connection) -> None:
    for schema in _SCHEMAS:
        _drop(connection, schema)
        _rename(connection, _ASIDE.format(schema), schema)


def _exists(connection: psycopg.Connection, schema: str) -> bool:
    return (
        connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is not None
    )


def _rename(connection: psycopg.Connection, schema: str, name: str) -> None:
    if _exists(connection, schema):
        statement = sql.SQL("ALTER SCHEMA {} RENAME TO {}")
        connection.execute(statement.format(sql.Identifier(schema), sql.Identifier(name)))


def _drop(connection: psycopg.Connection, schema: str) -> None:
    connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def _refuse_used(connection: psycopg.Connection) -> None:
    rows = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    ).fetchall()
    for (table,) in rows:
        if table in _IN_AN_EMPTY_SERVICE or table.startswith("procrastinate_"):
            continue
        one = sql.SQL("SELECT 1 FROM public.{} LIMIT 1").format(sql.Identifier(table))
        if connection.execute(one).fetchone() is not None:
            raise no_backup(
                f"this database is in use (its table {table} has rows):"
                " restore into an empty one (another --data-dir)"
            )
