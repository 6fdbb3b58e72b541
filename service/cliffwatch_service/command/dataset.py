"""`cliffwatch dataset`: exports the service's measurements as public files."""

from pathlib import Path

import rich_click as click

from cliffwatch.command import terminal
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit
from cliffwatch_service.command.failures import ending_on_refusal, exit_failed
from cliffwatch_service.command.token import data_dir_option, operators_pool
from cliffwatch_service.compare.dataset import Wanted, write_dataset
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.settings import read_settings


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--licence",
    required=True,
    metavar="SPDX",
    help="Licence of the data, by its SPDX identifier, such as CC-BY-4.0.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "csv"]),
    default="parquet",
    show_default=True,
    help="Format of the samples.",
)
@data_dir_option
def dataset(folder: Path, licence: str, form: str, data_dir: Path | None) -> None:
    """Write the public dataset into FOLDER: every sample of followed branches, with revisions and verdicts.

    A second call adds the runs that are new since. Full parts are not written again. The service may keep
    running.
    """
    console = terminal.console(stderr=True)
    with ending_on_refusal():
        if not read_settings(data_dir=data_dir).public_reading:
            detail = (
                "nothing of this service is public, so it has no public dataset:"
                " set CLIFFWATCH_PUBLIC_READING to true to publish its results"
            )
            raise Refusal(422, "not public", detail)
    with operators_pool(data_dir) as pool, console.status("writing"):
        try:
            done = write_dataset(pool.connection, folder, Wanted(form=form, licence=licence), clock.now())
        except OSError as error:
            raise exit_failed(f"{folder} cannot be written: {error}", Exit.HOST_FAILED) from None
    parts = f"{count_noun(done.written, 'part')} written, {done.kept} kept"
    click.echo(f"{folder}: {count_noun(done.rows, 'row')} of {count_noun(done.runs, 'run')}; {parts}")
