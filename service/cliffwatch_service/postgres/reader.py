"""Somebody who reads the views of dashboards, and nothing else, by SQL of his own: Grafana."""

import psycopg
from psycopg import sql

from cliffwatch_service.postgres.roles import DASHBOARDS
from cliffwatch_service.refusal import Refusal


def allow_reader(url: str, name: str, password: str) -> None:
    """Makes a user who may read as the role of dashboards may, or gives him a new password. Raises Refusal."""
    role = sql.Identifier(name)
    with psycopg.connect(url) as connection:
        known = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", [name]).fetchone()
        own = connection.execute("SELECT current_user").fetchone()
        if (known is not None and known[0]) or own == (name,):
            raise Refusal(422, "no reader", f"{name} is somebody else already: choose another name")
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
            detail = f"this user of the database makes no others: have its administrator make {name} and GRANT {DASHBOARDS}"
            raise Refusal(503, "no reader", detail) from error


def keep_pages_url(url: str, pages: str) -> None:
    """Writes down where people find the pages: links of dashboards lead there."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO dashboard.pages (url) VALUES (%s) ON CONFLICT (one) DO UPDATE SET url = excluded.url",
            [pages],
        )
