"""A real PostgreSQL, and empty databases on it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from service_running import fresh_database

from cliffwatch_service.postgres.embedded import EmbeddedPostgres, start_embedded
from cliffwatch_service.postgres.migrate import migrate


@contextmanager
def running_postgres(folder: Path) -> Iterator[EmbeddedPostgres]:
    """A server with the current schema. What it loses in a crash nobody needs, so it does not wait for the
    disk.
    """
    postgres = start_embedded(folder)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET synchronous_commit = off")
        connection.execute("SELECT pg_reload_conf()")
    migrate(postgres.url)
    yield postgres
    postgres.stop()


_OWN_TABLES = """
    SELECT oid FROM pg_class WHERE relkind = 'r' AND oid >= 16384
"""

_EMPTY_ALL = f"""
DO $$
DECLARE
    name text;
    filled boolean;
BEGIN
    PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica;  -- rows go in any order, and no trigger fires
    FOR name IN SELECT oid::regclass::text FROM ({_OWN_TABLES}) AS own WHERE pg_relation_size(oid) > 0 LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO filled;
        IF filled THEN
            IF pg_total_relation_size(name::regclass) > 16777216 THEN
                RAISE EXCEPTION '% is big', name USING ERRCODE = 'program_limit_exceeded';
            END IF;
            EXECUTE 'DELETE FROM ' || name;
        END IF;
    END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) IS NOT NULL;
END $$
"""

_OWN = "oid >= 16384"
_SCHEMA_STATE = " UNION ALL ".join(
    f"SELECT count(*), max(xmin::text::bigint) FROM {catalogue} WHERE {which}"
    for catalogue, which in {
        "pg_class": _OWN,
        "pg_attribute": "attrelid >= 16384",
        "pg_constraint": _OWN,
        "pg_proc": _OWN,
        "pg_trigger": _OWN,
        "pg_namespace": "true",
        "pg_default_acl": "true",
        "pg_database": "datname = current_database()",
        "pg_db_role_setting": (
            "setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ),
    }.items()
)
"""Differs after every change to tables, functions, privileges and settings of the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """All that a database stores: rows by table, and the last value of each sequence that has one."""

    rows: dict[str, bytes]
    sequences: dict[str, int]


def content_of(connection: psycopg.Connection[Any]) -> Content:
    rows = {}
    for (name,) in connection.execute(f"SELECT oid::regclass::text FROM ({_OWN_TABLES}) AS own").fetchall():
        with connection.cursor().copy(sql.SQL(f"COPY {name} TO STDOUT")) as copied:
            stored = b"".join(bytes(part) for part in copied)
        if stored:
            rows[name] = stored
    last = connection.execute(
        "SELECT seqrelid::regclass::text, pg_sequence_last_value(seqrelid) FROM pg_sequence"
    )
    return Content(rows=rows, sequences={name: value for name, value in last.fetchall() if value is not None})


def put_content(connection: psycopg.Connection[Any], content: Content) -> None:
    """In place of all that is there."""
    connection.execute(_EMPTY_ALL)
    for name, stored in content.rows.items():
        with connection.cursor().copy(sql.SQL(f"COPY {name} FROM STDIN")) as copied:
            copied.write(stored)
    for name, value in content.sequences.items():
        connection.execute("SELECT setval(%s::regclass, %s)", [name, value])


@dataclass
class EmptyDatabase:
    """A database as the migrations leave it. `schema` is the state of its catalogue."""

    url: str
    content: Content
    schema: list[tuple[int, int]]


class Databases:
    """Hands out one database after the other. Emptying the last one takes a tenth of the time of
    a new one.
    """

    def __init__(self, cluster: EmbeddedPostgres) -> None:
        self.cluster = cluster
        self._made: Iterator[str] = iter(())
        self._current: EmptyDatabase | None = None

    def take(self) -> str:
        if self._current is None:
            self._made = fresh_database(self.cluster, "cliffwatch")
            self._current = _look_at(next(self._made))
        return self._current.url

    def give_back(self) -> None:
        if self._current is not None and not _made_empty(self._current):
            self.drop()

    def drop(self) -> None:
        self._current = None
        for _ in self._made:
            pass


def _look_at(url: str) -> EmptyDatabase:
    with psycopg.connect(url) as connection:
        return EmptyDatabase(url, content_of(connection), connection.execute(_SCHEMA_STATE).fetchall())


def _made_empty(database: EmptyDatabase) -> bool:
    """Empties a database. False where a test has changed more than rows, or has filled it with too many."""
    with suppress(psycopg.errors.ProgramLimitExceeded), psycopg.connect(database.url) as connection:
        if connection.execute(_SCHEMA_STATE).fetchall() != database.schema:
            return False
        put_content(connection, database.content)
        return True
    return False
