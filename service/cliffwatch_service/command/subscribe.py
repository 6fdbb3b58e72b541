"""`cliffwatch subscribe`: manages subscriptions to news, directly in the service's database."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import rich_click as click
from rich.table import Table
from rich.text import Text

from cliffwatch.command import terminal
from cliffwatch.counting import count_noun
from cliffwatch.reports.styles import visible
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.command.token import data_dir_option, operator, operators_pool
from cliffwatch_service.history.news import subscribing
from cliffwatch_service.history.news.subscribing import (
    NewSubscription,
    Wanted,
    subscription_of,
    subscriptions_for,
)
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.destinations import channel_of
from cliffwatch_service.runtime.settings import read_settings
from cliffwatch_service.store import tokens
from cliffwatch_service.store.history.news.subscriptions import SubscriptionRow

_MOST_NAMES, _LONGEST_NAME = 50, 200
_LONGEST_ADDRESS = 500
_REPORT = re.compile(r"[0-9a-f]{32}")

_LIST = "`cliffwatch subscribe list` shows all subscriptions with their numbers"
_SETTINGS = "set it for the service, and run this command with the service's settings"
_REPORTS = "copy it from the URL of the report's page, /regressions/REPORT"

_NUMBER = click.argument("number", type=click.IntRange(1, 2**31 - 1))


@click.group()
def subscribe() -> None:
    """Send news of regression reports to mail addresses, webhooks and GitHub issues."""


@contextmanager
def _advising(advice: Mapping[int, str]) -> Iterator[None]:
    """Adds to refusals what the operator can do at the terminal. `advice` has a text for each HTTP status."""
    try:
        yield
    except Refusal as refusal:
        if refusal.status not in advice:
            raise
        raise Refusal(refusal.status, refusal.title, f"{refusal.detail}; {advice[refusal.status]}") from None


def _operator() -> Caller:
    """The caller of this command, who has all rights because the database is accessible.

    Has no token. `add` makes an entry for the operator, because a subscription needs an owner.
    """
    return Caller(name=operator(), token_id=None, scopes=frozenset({"admin"}))


def _names(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Checks names with the same limits as the API."""
    if len(texts) > _MOST_NAMES:
        raise click.BadParameter(
            f"given {len(texts)} times: name {_MOST_NAMES} at most, or leave {parameter.opts[0]} out for all"
        )
    for text in texts:
        if not text.strip() or not text.isprintable() or len(text) > _LONGEST_NAME:
            raise click.BadParameter(
                f"{text[:100]!r} is not a valid name: write one line of 1 to {_LONGEST_NAME} characters"
            )
    return tuple(text.strip() for text in texts)


@subscribe.command()
@click.argument("address")
@click.option(
    "--suite", "suites", multiple=True, callback=_names, help="Only news of this suite; may be repeated."
)
@click.option(
    "--author",
    "authors",
    multiple=True,
    callback=_names,
    help="Only news of this author's commits, by name or mail address; may be repeated.",
)
@click.option(
    "--subsystem",
    "subsystems",
    multiple=True,
    callback=_names,
    help="Only news of this subsystem's commits: prefix of their subjects, such as bpf; may be repeated.",
)
@data_dir_option
def add(
    address: str,
    suites: tuple[str, ...],
    authors: tuple[str, ...],
    subsystems: tuple[str, ...],
    data_dir: Path | None,
) -> None:
    """Send news of regression reports to an address from now on.

    ADDRESS is a mail address, the URL of a webhook (https://…), or a GitHub repository (OWNER/NAME) for
    issues. The service's settings must allow it. News must match every kind of option that is given. Without
    options, all news are sent.
    """
    channel = channel_of(address)
    if len(address) > _LONGEST_ADDRESS:
        raise click.UsageError(
            f"an address for news has {_LONGEST_ADDRESS} characters at most: name a shorter one"
        )
    if channel is None:
        raise click.UsageError(
            f"{address[:200]!r} is not an address for news: name a mail address, a webhook as https://…, or a"
            " GitHub repository as OWNER/NAME"
        )
    wanted = Wanted(channel=channel, address=address, authors=authors, subsystems=subsystems, suites=suites)
    now = clock.now()
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        settings = read_settings(data_dir=data_dir)
        owner = replace(_operator(), token_id=tokens.keep_asker(connection, operator(), now))
        with _advising({409: _LIST, 422: _SETTINGS}):
            made = subscribing.subscribe(connection, wanted, owner, settings, now)
    _say_made(made, wanted)


def _say_made(made: NewSubscription, wanted: Wanted) -> None:
    click.echo(f"{made.id}: {wanted.channel} to {wanted.address}, {_filters(wanted)}")
    if made.secret is not None:
        click.echo(made.secret)
        click.echo(
            "The second line is the secret that signs the webhook's payloads. Give it to the receiver: it is"
            " shown only this once.",
            err=True,
        )
    click.echo(
        f"`cliffwatch subscribe mute {made.id}` mutes the subscription,"
        f" `cliffwatch subscribe remove {made.id}` ends it.",
        err=True,
    )


def _filters(subscription: Wanted | SubscriptionRow) -> str:
    """Describes a subscription's filters: `all news` or `suites a, b; author c`."""
    kinds = {
        "suite": subscription.suites,
        "author": subscription.authors,
        "subsystem": subscription.subsystems,
    }
    named = [
        f"{kind if len(names) == 1 else f'{kind}s'} {', '.join(names)}"
        for kind, names in kinds.items()
        if names
    ]
    return visible("; ".join(named)) or "all news"


@subscribe.command(name="list")
@data_dir_option
def list_(data_dir: Path | None) -> None:
    """List subscriptions with the counts of their deliveries and their problems."""
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        rows = subscriptions_for(connection, _operator())
    if not rows:
        click.echo("There are no subscriptions: `cliffwatch subscribe add ADDRESS` makes one.", err=True)
        return
    table = Table(
        "number",
        "address",
        "news",
        "made by",
        "muted until",
        "delivered",
        "waiting",
        "given up",
        "problem",
        box=None,
    )
    now = clock.now()
    for row in rows:
        counts = [f"{each:,}" for each in (row.delivered, row.waiting, row.given_up)]
        muted = f"{row.muted_until:%Y-%m-%d}" if row.muted_until and row.muted_until > now else "-"
        texts = [str(row.id), row.address, _filters(row), row.owner, muted, *counts, row.reason or "-"]
        table.add_row(*(Text(visible(each)) for each in texts))
    terminal.console().print(table)


@subscribe.command()
@_NUMBER
@data_dir_option
def remove(number: int, data_dir: Path | None) -> None:
    """End a subscription. News that wait for its address are not sent."""
    with operators_pool(data_dir) as pool, pool.connection() as connection, _advising({404: _LIST}):
        row = subscription_of(connection, number, _operator())
        subscribing.end_subscription(connection, number, _operator(), clock.now())
    given_up = (
        f" {count_noun(row.waiting, 'delivery', 'deliveries')} that waited will not be sent."
        if row.waiting
        else ""
    )
    click.echo(f"{number} has ended: {row.address} gets no more news.{given_up}")


@subscribe.command()
@_NUMBER
@click.option(
    "--days", type=click.IntRange(0, 3650), help="Days to mute; 0 ends the muting. Default: for good."
)
@click.option(
    "--report", help="Mute only news of this report, for good: the 32 digits in the URL of its page."
)
@data_dir_option
def mute(number: int, days: int | None, report: str | None, data_dir: Path | None) -> None:
    """Mute a subscription for some days, or for one report. Muted news are not sent later."""
    if days is not None and report is not None:
        raise click.UsageError("a report is muted for good: give --report or --days, not both")
    if report is not None and not _REPORT.fullmatch(report):
        raise click.UsageError(f"{report[:100]!r} is not the 32 digits of a regression report: {_REPORTS}")
    now = clock.now()
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        with _advising({404: _LIST}):
            subscription_of(connection, number, _operator())
        with _advising({404: _REPORTS}):
            subscribing.mute(connection, number, _operator(), days=days, report=report, now=now)
        row = subscription_of(connection, number, _operator())
    if report is not None:
        click.echo(f"{number} gets no more news of report {report}")
    elif row.muted_until is None:
        click.echo(f"{number} gets news again")
    else:
        until = "for good" if days is None else f"until {row.muted_until:%Y-%m-%d %H:%M} UTC"
        click.echo(f"{number} is muted {until}: `cliffwatch subscribe mute {number} --days 0` ends that")
