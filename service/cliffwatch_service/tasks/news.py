"""Delivers news to subscribers: each piece once, in order of arrival. Failed deliveries are retried."""

from datetime import timedelta
from typing import Any

import structlog
from procrastinate import App
from psycopg import Connection

from cliffwatch_service.compare.causes import causes_between
from cliffwatch_service.github.parts import GitHubParts
from cliffwatch_service.github.reporting.issues import send_issue
from cliffwatch_service.history.news.mail import Letter, send_mail
from cliffwatch_service.history.news.sending import NotSent, Sent, next_try
from cliffwatch_service.history.news.webhook import send_webhook
from cliffwatch_service.history.news.wording import NewsContent, mail_subject, mail_text
from cliffwatch_service.history.report_summary import is_confirmed
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import background, overview, trees
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.news import outbox
from cliffwatch_service.store.history.news.outbox import DeliveryRow, NewsRow
from cliffwatch_service.store.history.windows import change_places

_DAY = timedelta(days=1)
_log = structlog.get_logger("cliffwatch.news")


def add_news(app: App, parts: GitHubParts) -> None:
    @app.task(name=background.DELIVER, queue=background.NEWS_QUEUE)
    def delivery(delivery: int) -> None:
        with structlog.contextvars.bound_contextvars(task=background.DELIVER, delivery=delivery):
            deliver(parts, delivery)


def defer_due_deliveries(parts: GitHubParts) -> None:
    """Defers a task for every waiting delivery that is due."""
    with parts.transaction() as connection:
        for number in outbox.due_deliveries(connection, parts.now()):
            background.ask_delivery(connection, number)


def deliver(parts: GitHubParts, number: int) -> None:
    """Sends one delivery and records the outcome, then defers the deliveries that have become due.

    Sends between two transactions, not within one, because a server may take half a minute to answer. Does
    nothing if the delivery is not due, has ended, or waits for an earlier one.
    """
    now = parts.now()
    with parts.transaction() as connection:
        row = outbox.delivery_row(connection, number, now - _DAY)
        if row is None or row.state != "waiting" or row.earlier or row.due > now:
            return
        if row.live and row.today >= parts.settings.news_per_day:
            _wait_for_tomorrow(connection, row, parts)
            return
        whole, first = _load_content(connection, row, parts.settings)
    outcome = _send(parts, row, whole, first)
    with parts.transaction() as connection:
        _record_outcome(connection, row, outcome, parts)
        for each in outbox.due_deliveries(connection, parts.now()):
            background.ask_delivery(connection, each)


def _wait_for_tomorrow(connection: Connection[Any], row: DeliveryRow, parts: GitHubParts) -> None:
    limit = parts.settings.news_per_day
    outbox.keep_outcome(
        connection,
        row.id,
        state="waiting",
        attempts=row.attempts,
        due=parts.now() + timedelta(hours=1),
        ended=None,
        reason=f"the limit of {limit} pieces of news a day is reached (CLIFFWATCH_NEWS_PER_DAY)",
        thread=None,
    )


def _load_content(
    connection: Connection[Any], row: DeliveryRow, settings: Settings
) -> tuple[NewsContent, NewsRow]:
    """Returns the content of a delivery and the first news of its report."""
    news = outbox.news_row(connection, row.news_id)
    assert news is not None
    (head,) = trees.revisions_named(connection, news.head)
    places = overview.branches_of_revision(connection, head.id)
    changes = stored_changes.changes_of_report(connection, row.report_id)
    page = f"{settings.pages_url}/regressions/{news.report}"
    drawable = bool(change_places(connection, [each.id for each in changes]))
    whole = NewsContent(
        news=news,
        changes=[each for each in changes if is_confirmed(each) and each.kind == "regression"],
        tree=places[0].tree if places else None,
        page=page,
        picture=f"{page}.svg" if drawable and settings.public_reading else None,
        causes=causes_between(connection, news.base, news.head),
    )
    return whole, outbox.news_of(connection, row.report_id)[0]


def _send(parts: GitHubParts, row: DeliveryRow, whole: NewsContent, first: NewsRow) -> Sent | NotSent:
    if not row.live:
        return NotSent(reason="the subscription was ended", for_good=True)
    if row.channel == "webhook":
        return send_webhook(parts.settings, row.address, row.secret or "", whole, parts.now())
    if row.channel == "issue":
        return send_issue(parts, row.address, whole, first=first, thread=row.thread)
    letter = Letter(
        to=row.address,
        subject=mail_subject(first, reply=bool(row.messages)),
        text=mail_text(whole),
        identity=f"cliffwatch-{whole.news.digest}.{row.subscription_id}",
        before=row.messages,
        manage=f"{parts.settings.pages_url}/subscriptions",
    )
    return send_mail(parts.settings, letter, parts.now())


def _record_outcome(
    connection: Connection[Any], row: DeliveryRow, outcome: Sent | NotSent, parts: GitHubParts
) -> None:
    now, attempts = parts.now(), row.attempts + 1
    if isinstance(outcome, Sent):
        outbox.keep_outcome(
            connection,
            row.id,
            state="delivered",
            attempts=attempts,
            due=now,
            ended=now,
            reason=None,
            thread=outcome.thread,
        )
        return
    again = next_try(attempts, now, outcome)
    outbox.keep_outcome(
        connection,
        row.id,
        state="given up" if again is None else "waiting",
        attempts=attempts,
        due=again or now,
        ended=None if again else now,
        reason=outcome.reason,
        thread=None,
    )
    _log.warning("news not delivered", channel=row.channel, reason=outcome.reason, given_up=again is None)
