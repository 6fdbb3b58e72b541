"""`cliffwatch token`: makes, lists and revokes tokens, on the service's own database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import rich_click as click
from psycopg_pool import ConnectionPool
from rich.table import Table

from cliffwatch.command import terminal
from cliffwatch.exits import Exit
from cliffwatch_service.access.tokens import SCOPES, make_token
from cliffwatch_service.postgres.migrate import MigrationRefused
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.postgres.server import postgres
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime import clock
from cliffwatch_service.settings import SettingsError, read_settings
from cliffwatch_service.store import tokens

data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where the embedded PostgreSQL keeps its data."
)


@contextmanager
def operators_pool(data_dir: Path | None) -> Iterator[ConnectionPool[Any]]:
    """The service's database, for an operator on its machine; ends the command where it cannot be used."""
    try:
        settings = read_settings(data_dir=data_dir)
        with postgres(settings) as database:
            pool = open_pool(database.url, connections=2, statement_seconds=600)
            try:
                yield pool
            finally:
                pool.close()
    except SettingsError as error:
        raise SystemExit(_failed(str(error), Exit.USAGE)) from None
    except Refusal as refusal:
        raise SystemExit(_failed(refusal.detail, Exit.USAGE)) from None
    except (psycopg.Error, MigrationRefused, OSError, RuntimeError) as error:
        raise SystemExit(_failed(f"the database cannot be used: {error}", Exit.HOST_FAILED)) from None


def _failed(message: str, code: Exit) -> Exit:
    click.echo(f"cliffwatch: {message}", err=True)
    return code


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of a service."""


@token.command()
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), required=True, help="May be repeated.")
@click.option("--host", help="The one host that may use it.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires; default: never.")
@data_dir_option
def make(name: str, scopes: tuple[str, ...], host: str | None, days: int | None, data_dir: Path | None) -> None:
    """Make a token and print its secret, which is kept nowhere."""
    now = clock.now()
    expires = None if days is None else now + timedelta(days=days)
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        secret = make_token(connection, name, scopes, by=_operator(), now=now, host=host, expires=expires)
    click.echo(secret)
    click.echo("This is the only time that it is shown.", err=True)


@token.command(name="list")
@data_dir_option
def list_(data_dir: Path | None) -> None:
    """List tokens, without their secrets."""
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        rows = tokens.list_tokens(connection)
    table = Table("name", "scopes", "host", "made", "expires", "last used", "state", box=None)
    for row in rows:
        dates = [f"{row[name]:%Y-%m-%d}" if row[name] else "-" for name in ("created", "expires", "last_used")]
        state = (
            "revoked" if row["revoked"] else "expired" if row["expires"] and row["expires"] <= clock.now() else "good"
        )
        table.add_row(row["name"], " ".join(row["scopes"]), row["host"] or "any", *dates, state)
    terminal.console().print(table)


@token.command()
@click.argument("name")
@data_dir_option
def revoke(name: str, data_dir: Path | None) -> None:
    """Revoke a token, at once and for good."""
    now = clock.now()
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        if not tokens.revoke_token(connection, name, now):
            raise SystemExit(_failed(f"there is no token {name!r}", Exit.USAGE))
        tokens.write_audit(connection, who=_operator(), action="revoke-token", what=name, detail={}, now=now)
    click.echo(f"{name} is revoked")


def _operator() -> str:
    return f"operator {os.environ.get('SUDO_USER') or os.environ.get('USER') or 'root'}"
