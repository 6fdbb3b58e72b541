"""`cliffwatch backup` and `cliffwatch restore`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import rich_click as click

from cliffwatch.exits import Exit
from cliffwatch_service.command.token import data_dir_option
from cliffwatch_service.postgres.backup import BackupFailure
from cliffwatch_service.postgres.backup import backup as write_backup
from cliffwatch_service.postgres.backup import restore as read_backup
from cliffwatch_service.postgres.migrate import MigrationRefused
from cliffwatch_service.postgres.server import Postgres, postgres
from cliffwatch_service.settings import SettingsError, read_settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@data_dir_option
def backup(file: Path, data_dir: Path | None) -> None:
    """Write everything that the service holds into FILE; the service may go on meanwhile."""
    with _database(data_dir) as database:
        size = write_backup(database, file)
    click.echo(f"{file}: {size / 1e6:.1f} MB")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@data_dir_option
def restore(file: Path, data_dir: Path | None) -> None:
    """Fill an empty service from a backup, made by this version or an older one."""
    with _database(data_dir) as database:
        read_backup(database, file)
    click.echo(f"restored from {file}")


@contextmanager
def _database(data_dir: Path | None) -> Iterator[Postgres]:
    try:
        with postgres(read_settings(data_dir=data_dir)) as database:
            yield database
    except SettingsError as error:
        raise SystemExit(_failed(str(error), Exit.USAGE)) from None
    except BackupFailure as failure:
        raise SystemExit(_failed(str(failure), Exit.HOST_FAILED)) from None
    except (psycopg.Error, MigrationRefused, OSError, RuntimeError) as error:
        raise SystemExit(_failed(f"the database cannot be used: {error}", Exit.HOST_FAILED)) from None


def _failed(message: str, code: Exit) -> Exit:
    click.echo(f"cliffwatch: {message}", err=True)
    return code
