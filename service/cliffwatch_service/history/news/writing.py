"""Writes the news of reports and its deliveries, in the same transaction as the change of the report."""

from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch.identities import digest_of
from cliffwatch_service.history.news.closing import OURS, settle_reports
from cliffwatch_service.history.news.events import UNANSWERED_WEEKS, is_for, kind_of_news
from cliffwatch_service.history.report_summary import is_confirmed, tally
from cliffwatch_service.store import background, database, trees
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.news import fixes, outbox, subscriptions
from cliffwatch_service.store.history.news.outbox import NewsFacts
from cliffwatch_service.store.history.reports import ReportsWanted

_OPEN = ("new", "acknowledged")
_PATIENCE = timedelta(weeks=UNANSWERED_WEEKS)


def write_news(connection: Connection[Any], now: datetime) -> int:
    """Writes the news of all reports, and defers its delivery. Returns the number of news items.

    Call this in the same transaction as a change of a report or of its changes. A second call finds nothing.
    """
    database.lock_reports(connection)
    settle_reports(connection, now)
    unanswered = outbox.unanswered_reports(connection, now - _PATIENCE, OURS)
    digests = outbox.reports_to_look_at(connection, _OPEN, unanswered)
    return sum(_write(connection, digest, now) for digest in digests)


def _write(connection: Connection[Any], digest: str, now: datetime) -> bool:
    facts = _news(connection, digest, now)
    if facts is None:
        return False
    number = outbox.insert_news(connection, facts)
    muted = set(subscriptions.subscriptions_muting(connection, facts.report_id))
    for each in subscriptions.live_subscriptions(connection):
        if each.id not in muted and is_for(each, facts, now):
            background.ask_delivery(connection, outbox.insert_delivery(connection, number, each.id, now))
    return True


def _news(connection: Connection[Any], digest: str, now: datetime) -> NewsFacts | None:
    (report,) = reports.list_reports(connection, ReportsWanted(digest=digest, limit=1))
    changes = [each for each in stored_changes.changes_of_report(connection, report.id) if is_confirmed(each)]
    of_report, last, fix = (
        tally(changes),
        outbox.last_news(connection, report.id),
        fixes.fix_of(connection, report.id),
    )
    (head,) = trees.revisions_named(connection, report.head)
    named = head.parents[:1] == [report.base]
    kind = kind_of_news(
        last,
        state=report.state,
        cases=of_report.worse,
        named=named,
        verified=fix is not None and fix.verified,
        unanswered=report.id in outbox.unanswered_reports(connection, now - _PATIENCE, OURS),
    )
    if kind is None:
        return None
    return NewsFacts(
        digest=digest_of(["news", digest, None if last is None else last.digest, kind]),
        report_id=report.id,
        kind=kind,
        at=min(now, report.updated) if kind == "new" else now,
        written=now,
        state=report.state,
        cases=of_report.worse,
        worst=of_report.worst,
        summary=of_report.words,
        apart=any(each.apart for each in changes if each.kind == "regression"),
        base=report.base,
        head=report.head,
        named=named,
        subject=report.subject if named else None,
        author=report.author if named else None,
        platforms=sorted({each.platform for each in changes}),
        suites=sorted({each.suite for each in changes}),
        fix=None if fix is None else fix.commit,
        fix_base=None if fix is None else fix.base,
    )
