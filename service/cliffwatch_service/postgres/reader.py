"""Database users for dashboards such as Grafana: they read the dashboard views by SQL, and nothing else."""

import psycopg
from psycopg import sql

from cliffwatch_service.postgres.roles import DASHBOARDS
from cliffwatch_service.refusal import Refusal


def allow_reader(url: str, name: str, password: str) -> None:
    """Creates a database user with the dashboard role, or sets the password of an existing one.

    Raises Refusal.
    """
    role = sql.Identifier(name)
    with psycopg.connect(url) as connection:
        known = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", [name]).fetchone()
        own = connection.execute("SELECT current_user").fetchone()
        if (known is not None and known[0]) or own == (name,):
            raise Refusal(
                422, "no reader", f"{name} is a superuser or the service's own user: choose another name"
            )
        try:
            how = "ALTER" if known is not None else "CREATE"
            connection.execute(
                sql.SQL(how + " ROLE {} LOGIN PASSWORD {} NOSUPERUSER NOCREATEDB NOCREATEROLE").format(
                    role, sql.Literal(password)
                )
            )
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(DASHBOARDS), role))
            connection.execute(sql.SQL("ALTER ROLE {} SET default_transaction_read_only = on").format(role))
            connection.execute(sql.SQL("ALTER ROLE {} SET statement_timeout = '30s'").format(role))
            connection.execute(sql.SQL("ALTER ROLE {} SET jit = off").format(role))
        except psycopg.errors.InsufficientPrivilege as error:
            detail = (
                "this database user may not create users:"
                f" have the database's administrator create {name} and GRANT {DASHBOARDS} to it"
            )
            raise Refusal(503, "no reader", detail) from error


def keep_pages_url(url: str, pages: str) -> None:
    """Stores the public address of the pages; links in dashboards point there."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO dashboard.pages (url) VALUES (%s)"
            " ON CONFLICT (one) DO UPDATE SET url = excluded.url",
            [pages],
        )
