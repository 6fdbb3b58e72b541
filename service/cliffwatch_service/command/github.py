"""`cliffwatch github`: sets up the service's GitHub App, rotates its secrets and shows its status."""

import http.server
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import rich_click as click
from rich.table import Table

from cliffwatch.command import terminal
from cliffwatch.failure import Exit, Failure, HttpFailure
from cliffwatch.pull_request.policy import read_policy
from cliffwatch_service.command.failures import ending_on_refusal, exit_failed
from cliffwatch_service.command.token import data_dir_option, operator, operators_pool
from cliffwatch_service.github.app import setting_up
from cliffwatch_service.github.app.files import AppFiles, AppIdentity, app_files
from cliffwatch_service.github.app.manifest import EVENTS, PERMISSIONS, form_address, form_page, manifest
from cliffwatch_service.github.calling import GitHub
from cliffwatch_service.http.admission import WEBHOOKS
from cliffwatch_service.refusal import not_found
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.settings import Settings, read_settings
from cliffwatch_service.store import tokens
from cliffwatch_service.store.github import deliveries, installations, pull_requests

_PATIENCE = 900.0
"""Seconds to wait for the browser. GitHub's code is valid for an hour."""

_BY_HAND = "http://127.0.0.1:1/"
"""Redirect URL for a browser on another machine. Nothing listens there; the address bar shows the code."""


@click.group()
def github() -> None:
    """Set up the service's GitHub App, rotate its secrets, show its status."""


@contextmanager
def _github_client(data_dir: Path | None) -> Iterator[tuple[Settings, AppFiles, GitHub]]:
    with ending_on_refusal():
        settings = read_settings(data_dir=data_dir)
        files = app_files(settings)
        asking = GitHub(settings.github_api, files, clock.now)
        try:
            yield settings, files, asking
        finally:
            asking.close()


def _exit_on_failure(failure: Failure | None) -> None:
    """Ends the command if there is a failure."""
    if failure is not None:
        raise exit_failed(str(failure), failure.exit)


@github.command()
@click.option(
    "--name", default="cliffwatch", show_default=True, help="Name of the App; must be unique on GitHub."
)
@click.option("--organisation", help="Organisation that will own the App; default: your own account.")
@click.option(
    "--by-hand",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page to this file, for a browser on another machine.",
)
@click.option("--again", is_flag=True, help="Replace the App that is set up.")
@data_dir_option
def setup(
    name: str, organisation: str | None, by_hand: Path | None, data_dir: Path | None, *, again: bool
) -> None:
    """Create the App on GitHub from its manifest and store its key and webhook secret.

    CLIFFWATCH_PAGES_URL must be the URL at which GitHub reaches the service.
    """
    with _github_client(data_dir) as (settings, files, asking):
        if files.identity() is not None and not again:
            raise exit_failed("an App is set up already: give --again to replace it", Exit.USAGE)
        if not settings.pages_url.startswith("https://"):
            raise exit_failed(
                "set CLIFFWATCH_PAGES_URL to the https URL at which GitHub reaches the service",
                Exit.USAGE,
            )
        _list_permissions()
        webhook = settings.pages_url + WEBHOOKS
        state = secrets.token_urlsafe(24)

        def page(redirect: str) -> str:
            content = manifest(
                name=name, pages_url=settings.pages_url, webhook_url=webhook, redirect_url=redirect
            )
            return form_page(form_address(settings.github_web, organisation), state, content)

        code = _prompt_for_code(by_hand, page(_BY_HAND)) if by_hand else _wait_for_redirect(page, state)
        made = setting_up.convert_code(asking, code)
        if isinstance(made, Failure):
            raise exit_failed(str(made), made.exit)
        _exit_on_failure(setting_up.keep_app(asking, files, made, webhook))
        click.echo(f"{made.identity.name} is set up; its secrets are in {files.folder}")
        click.echo(f"Install it on your repositories: {made.identity.page}/installations/new")


def _list_permissions() -> None:
    table = Table("permission", "access", "purpose", box=None)
    for permission, (how, why) in PERMISSIONS.items():
        table.add_row(permission, how, why)
    for event, why in EVENTS.items():
        table.add_row(event, "event", why)
    terminal.console().print(table)


def _prompt_for_code(by_hand: Path, page: str) -> str:
    by_hand.write_text(page)
    click.echo(
        f"Open {by_hand} in a browser and press its button. The browser ends at a URL that it cannot reach."
    )
    code = setting_up.extract_code(click.prompt("Paste that URL"))
    if isinstance(code, Failure):
        raise exit_failed(str(code), code.exit)
    return code


def _wait_for_redirect(page: Callable[[str], str], state: str) -> str:
    """Serves the page to a browser on this machine. Returns the code from GitHub's redirect."""
    found: list[str] = []
    came = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        server: http.server.HTTPServer

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            query = parse_qs(asked.query)
            if asked.path == "/made" and query.get("state") == [state] and "code" in query:
                found.extend(query["code"][:1])
                came.set()
                self._answer("<!doctype html><p>Done. Go back to the terminal.")
            else:
                self._answer(page(f"http://127.0.0.1:{self.server.server_port}/made"))

        def _answer(self, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Logs nothing, because the URL contains the code."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        click.echo(f"Open http://127.0.0.1:{server.server_port}/ in a browser on this machine.")
        try:
            if not came.wait(_PATIENCE):
                raise exit_failed(
                    "the browser did not come back from GitHub: start again, or give --by-hand FILE.html",
                    Exit.USAGE,
                )
        finally:
            server.shutdown()
    code = setting_up.extract_code(found[0])
    if isinstance(code, Failure):
        raise exit_failed(str(code), code.exit)
    return code


@github.group()
def rotate() -> None:
    """Replace the App's webhook secret or private key."""


@rotate.command(name="webhook-secret")
@data_dir_option
def rotate_webhook_secret(data_dir: Path | None) -> None:
    """Make a new webhook secret. The old one stays valid for an hour."""
    with _github_client(data_dir) as (settings, files, asking):
        _refuse_without_app(files)
        webhook = settings.pages_url + WEBHOOKS
        _exit_on_failure(setting_up.rotate_webhook_secret(asking, files, webhook, clock.now()))
    click.echo("GitHub signs with the new secret; the old one stays valid for an hour")


@rotate.command(name="key")
@click.argument("pem", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@data_dir_option
def rotate_key(pem: Path, data_dir: Path | None) -> None:
    """Use a new private key. PEM is the file that the App's page on GitHub downloads."""
    with _github_client(data_dir) as (_, files, asking):
        identity = _refuse_without_app(files)
        _exit_on_failure(setting_up.rotate_private_key(asking, files, pem.read_text(errors="replace")))
    click.echo(f"The new key is in use. Delete the old one at {identity.page}, and {pem} here.")


def _refuse_without_app(files: AppFiles) -> AppIdentity:
    identity = files.identity()
    if identity is None:
        raise exit_failed("no App is set up: run `cliffwatch github setup`", Exit.USAGE)
    return identity


@github.command()
@data_dir_option
def status(data_dir: Path | None) -> None:
    """Show the App, whether GitHub accepts its key, its installations and the last webhook."""
    with _github_client(data_dir) as (settings, files, asking), operators_pool(data_dir) as pool:
        identity = _refuse_without_app(files)
        reply = asking.as_app("GET", "/app")
        click.echo(f"{identity.name} of {identity.owner}: {identity.page}")
        click.echo(f"webhooks: {settings.pages_url}{WEBHOOKS}, {_counted_secrets(files)}")
        with pool.connection() as connection:
            rows = installations.list_installations(connection)
            last = deliveries.last_delivery(connection)
            commands, pulls = deliveries.command_counts(connection), pull_requests.counts(connection)
        table = Table("installed on", "state", "repositories", "looked at", box=None)
        for row in rows:
            table.add_row(row.account, row.state, str(row.repositories), f"{row.looked:%Y-%m-%d %H:%M}")
        terminal.console().print(table)
        click.echo(f"pull requests: {_listed(pulls)}; commands: {_listed(commands)}")
        newest = f"{last.event} at {last.received:%Y-%m-%d %H:%M} UTC" if last else "none yet"
        click.echo(f"last webhook: {newest}")
        if isinstance(reply, HttpFailure):
            raise exit_failed(f"GitHub does not accept the key: {reply.message}: rotate it", reply.exit)


def _counted_secrets(files: AppFiles) -> str:
    accepted = len(files.accepted_secrets(clock.now()))
    return "one valid secret" if accepted == 1 else f"{accepted} valid secrets"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


@github.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.option(
    "--file", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Policy to store, as TOML."
)
@click.option(
    "--of-base-branch", is_flag=True, help="Remove the policy: the base branch's file applies again."
)
@data_dir_option
def policy(repository: str, file: Path | None, data_dir: Path | None, *, of_base_branch: bool) -> None:
    """Show or store the policy of a repository. It takes precedence over the file of the base branch."""
    if file is not None and of_base_branch:
        raise exit_failed("give --file or --of-base-branch, not both", Exit.USAGE)
    text = file.read_text(errors="replace") if file is not None else None
    read = read_policy(text, str(file)) if text is not None else None
    if isinstance(read, Failure):
        raise exit_failed("\n".join(filter(None, (str(read), read.evidence))), Exit.USAGE)
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        row = installations.repository_named(connection, repository)
        if row is None:
            raise not_found("repository of an installation", repository)
        if text is None and not of_base_branch:
            click.echo(
                row.policy or "the file .cliffwatch.toml of each base branch applies", nl=not row.policy
            )
            return
        installations.set_policy(connection, row.id, text)
        detail = {"policy": text}
        tokens.write_audit(
            connection, who=operator(), action="github-policy", what=row.name, detail=detail, now=clock.now()
        )
    click.echo(
        f"{repository}: {'the file of the base branch applies' if of_base_branch else 'the policy is stored'}"
    )
