"""`cliffwatch backup` and `cliffwatch restore`."""

from pathlib import Path

import psycopg
import rich_click as click

from cliffwatch_service.command.failures import ending_on_refusal
from cliffwatch_service.command.token import data_dir_option
from cliffwatch_service.postgres.backup import backup as write_backup
from cliffwatch_service.postgres.backup import verify as verify_backup
from cliffwatch_service.postgres.embedded import client_programs
from cliffwatch_service.postgres.restoring import restore as read_backup
from cliffwatch_service.postgres.server import postgres
from cliffwatch_service.runtime.clock import now
from cliffwatch_service.runtime.settings import read_settings
from cliffwatch_service.store.database import record_backup


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--verify", is_flag=True, help="Check the existing FILE and write nothing.")
@data_dir_option
def backup(file: Path, verify: bool, data_dir: Path | None) -> None:
    """Back up the whole database into FILE and verify it; the service may keep running.

    The service's /metrics say how old the last one is.
    """
    if verify:
        with ending_on_refusal():
            programs = client_programs() if read_settings(data_dir=data_dir).database_url is None else None
            version = verify_backup(programs, file)
        click.echo(f"{file}: whole, of schema {version}")
        return
    with ending_on_refusal(), postgres(read_settings(data_dir=data_dir)) as database:
        taken = now()
        size = write_backup(database, file)
        click.echo(f"{file}: {size / 1e6:.1f} MB")
        with psycopg.connect(database.url) as connection:
            record_backup(connection, taken, size)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@data_dir_option
def restore(file: Path, data_dir: Path | None) -> None:
    """Restore a backup of this version or an older one into an empty service."""
    with ending_on_refusal(), postgres(read_settings(data_dir=data_dir)) as database:
        read_backup(database, file)
    click.echo(f"restored from {file}")
