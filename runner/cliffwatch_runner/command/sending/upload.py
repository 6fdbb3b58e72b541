"""`cliffwatch upload`: uploads result directories to a service."""

from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command import terminal
from cliffwatch.command.secret import read_token
from cliffwatch.command.terminal import echo_failure
from cliffwatch.failure import Exit, Failure
from cliffwatch_runner.command.sending.uploading import upload_folder


@click.command()
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--url", envvar="CLIFFWATCH_URL", required=True, help="URL of the service.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with a token of the scope `upload`, readable only by you.",
)
def upload(results: tuple[Path, ...], url: str, token_file: Path | None) -> NoReturn:
    """Upload result directories of `cliffwatch run` to a service, and print the pages that show them.

    Repeating it sends only what the service does not have yet.
    """
    token = read_token(token_file)
    if isinstance(token, Failure):
        raise SystemExit(echo_failure(token))
    console = terminal.console(stderr=True)
    codes = [upload_folder(folder, url, token, console) for folder in results]
    raise SystemExit(next((code for code in codes if code), Exit.DONE))
