"""`cliffwatch token`: makes, lists and revokes tokens, directly in the service's database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import rich_click as click
from psycopg_pool import ConnectionPool
from rich.table import Table

from cliffwatch.command import terminal
from cliffwatch_service.access.tokens import SCOPES, make_token
from cliffwatch_service.command.failures import ending_on_refusal
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.postgres.server import postgres
from cliffwatch_service.refusal import not_found
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.settings import read_settings
from cliffwatch_service.store import tokens

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data directory of the embedded PostgreSQL.",
)


@contextmanager
def operators_pool(data_dir: Path | None) -> Iterator[ConnectionPool[Any]]:
    """A pool on the service's database, for commands on its machine. Ends the command if it is unusable."""
    with ending_on_refusal(), postgres(read_settings(data_dir=data_dir)) as database:
        pool = open_pool(database.url, connections=2, statement_seconds=600)
        try:
            yield pool
        finally:
            pool.close()


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of a service."""


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    required=True,
    help="Scope of the token; may be repeated.",
)
@click.option("--host", help="Name of the only host that may use the token.")
@click.option("--days", type=click.IntRange(1, 3650), help="Lifetime in days; default: unlimited.")
@data_dir_option
def make(
    name: str, scopes: tuple[str, ...], host: str | None, days: int | None, data_dir: Path | None
) -> None:
    """Make a token and print its secret, which is stored nowhere."""
    now = clock.now()
    expires = None if days is None else now + timedelta(days=days)
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        secret = make_token(connection, name, scopes, by=operator(), now=now, host=host, expires=expires)
    click.echo(secret)
    click.echo("The secret is shown only this once.", err=True)


@token.command(name="list")
@data_dir_option
def list_(data_dir: Path | None) -> None:
    """List tokens, without their secrets."""
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        rows = tokens.list_tokens(connection)
    table = Table("name", "scopes", "host", "made", "expires", "last used", "state", box=None)
    for row in rows:
        dates = [f"{each:%Y-%m-%d}" if each else "-" for each in (row.created, row.expires, row.last_used)]
        state = (
            "revoked" if row.revoked else "expired" if row.expires and row.expires <= clock.now() else "good"
        )
        table.add_row(row.name, " ".join(row.scopes), row.host or "any", *dates, state)
    terminal.console().print(table)


@token.command()
@click.argument("name")
@data_dir_option
def revoke(name: str, data_dir: Path | None) -> None:
    """Revoke a token, immediately and for good."""
    now = clock.now()
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        if not tokens.revoke_token(connection, name, now):
            raise not_found("token", name)
        tokens.write_audit(connection, who=operator(), action="revoke-token", what=name, detail={}, now=now)
    click.echo(f"{name} is revoked")


def operator() -> str:
    """The name under which the audit log records this command's user."""
    return f"operator {os.environ.get('SUDO_USER') or os.environ.get('USER') or 'root'}"
