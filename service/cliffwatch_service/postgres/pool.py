"""Connections to PostgreSQL, each with the application's role and time limits."""

from collections.abc import Callable

import psycopg
from psycopg_pool import ConnectionPool

from cliffwatch_service.postgres.roles import APPLICATION


def connection_setup(statement_seconds: float) -> Callable[[psycopg.Connection], None]:
    """Returns a function that sets up a new connection: role, time limits, time zone."""

    def configure(connection: psycopg.Connection) -> None:
        member = connection.execute(
            "SELECT 1 FROM pg_roles WHERE rolname = %s AND pg_has_role(current_user, oid, 'MEMBER')",
            [APPLICATION],
        ).fetchone()
        if member is not None:
            connection.execute(f"SET ROLE {APPLICATION}")
        milliseconds = int(statement_seconds * 1000)
        connection.execute(
            f"SET statement_timeout = {milliseconds}; SET lock_timeout = '5s'; SET timezone = 'UTC';"
            "SET idle_in_transaction_session_timeout = '60s'; SET jit = off"
        )
        connection.commit()

    return configure


def open_pool(url: str, *, connections: int, statement_seconds: float, wait: float = 10.0) -> ConnectionPool:
    """Opens a pool of at most `connections`. Raises PoolTimeout if it cannot connect within `wait` seconds.

    A request waits at most ten seconds for a connection, then gets PoolTimeout. Connections are checked
    before use, so a restarted database gets new ones.
    """
    pool = ConnectionPool(
        url,
        min_size=2,
        max_size=connections,
        timeout=10,
        max_waiting=200,
        configure=connection_setup(statement_seconds),
        check=ConnectionPool.check_connection,
        kwargs={"application_name": "cliffwatch"},
        open=False,
        name="cliffwatch",
    )
    pool.open(wait=True, timeout=wait)
    return pool
