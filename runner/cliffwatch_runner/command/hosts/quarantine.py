"""`cliffwatch host quarantine` and `release`: whether a host of a service gets walltime jobs."""

import re
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.secret import read_token
from cliffwatch.command.terminal import echo_failure
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch_runner.upload.client import Client

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._ :@+-]{0,199}")
_host = click.argument("name")
_reason = click.option("--reason", required=True, metavar="TEXT", help="Why; the service's audit keeps it.")
_url = click.option("--url", envvar="CLIFFWATCH_URL", required=True, help="URL of the service.")
_token = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with a token of the scope `admin`, readable only by you.",
)


@click.command()
@_host
@_reason
@_url
@_token
def quarantine(name: str, reason: str, url: str, token_file: Path | None) -> NoReturn:
    """Give the host NAME no walltime job until `cliffwatch host release`. A job under way goes on.

    The service does so by itself when a host's control moves.
    """
    raise SystemExit(_send(name, reason, url, token_file, quarantined=True))


@click.command()
@_host
@_reason
@_url
@_token
def release(name: str, reason: str, url: str, token_file: Path | None) -> NoReturn:
    """End the quarantine of the host NAME: it gets walltime jobs again."""
    raise SystemExit(_send(name, reason, url, token_file, quarantined=False))


def _wrong_name(name: str) -> Failure | None:
    """A name is part of an address: `..` would lead to another one."""
    if _NAME.fullmatch(name):
        return None
    return wrong_usage(f"{name!r} is no name of a host", "the page /hosts of the service has the names")


def _no_reason(reason: str) -> Failure | None:
    return None if reason.strip() else wrong_usage("--reason is empty", "say why in a few words")


def _send(name: str, reason: str, url: str, token_file: Path | None, *, quarantined: bool) -> Exit:
    token = read_token(token_file)
    if isinstance(token, Failure):
        return echo_failure(token)
    wrong = next((each for each in (_wrong_name(name), _no_reason(reason)) if each is not None), None)
    if wrong is not None:
        return echo_failure(wrong)
    client = Client(url, token)
    try:
        reply = client.post(f"/hosts/{name}/quarantine", {"quarantined": quarantined, "reason": reason})
    finally:
        client.close()
    if isinstance(reply, Failure):
        return echo_failure(reply)
    click.echo(f"{name} {'gets no walltime job' if quarantined else 'gets walltime jobs again'}: {reason}")
    return Exit.DONE
