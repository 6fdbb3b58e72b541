"""`cliffwatch migrate`: migrates the database to this version's schema and exits."""

from pathlib import Path

import rich_click as click

from cliffwatch.failure import Exit
from cliffwatch_service.command.failures import ending_on_refusal, exit_failed
from cliffwatch_service.command.token import data_dir_option
from cliffwatch_service.postgres.migrate import schema_version
from cliffwatch_service.postgres.reader import allow_reader, keep_pages_url
from cliffwatch_service.postgres.server import postgres
from cliffwatch_service.runtime.settings import read_settings


@click.command()
@data_dir_option
@click.option(
    "--reader",
    metavar="NAME",
    help="Create a database user who may only read the views of dashboards, for Grafana.",
)
@click.option(
    "--reader-password-file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="File with the reader's password.",
)
@click.option(
    "--pages-url",
    metavar="URL",
    help="URL of the pages, for the links in Grafana's dashboards.",
)
def migrate(
    data_dir: Path | None, reader: str | None, reader_password_file: Path | None, pages_url: str | None
) -> None:
    """Migrate the database to the schema of this version, as every start of `serve` does.

    If you start several processes on one database, run this one first.
    """
    if (reader is None) != (reader_password_file is None):
        raise exit_failed("give --reader and --reader-password-file together, or neither", Exit.USAGE)
    with ending_on_refusal(), postgres(read_settings(data_dir=data_dir)) as database:
        if reader is not None and reader_password_file is not None:
            allow_reader(database.url, reader, reader_password_file.read_text().strip())
        if pages_url is not None:
            keep_pages_url(database.url, pages_url)
        click.echo(f"schema {schema_version(database.url)} on {database.where}")
