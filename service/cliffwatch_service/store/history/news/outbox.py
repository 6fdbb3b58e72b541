"""News of regression reports, and their deliveries."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values
from cliffwatch_service.store.history.news.subscriptions import Channel
from cliffwatch_service.store.history.reports import ReportState

NewsKind = Literal["new", "more cases", "culprit", "unanswered", "fixed", "closed", "reopened"]
DeliveryState = Literal["waiting", "delivered", "given up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsFacts:
    """News of a report, with the report's content at that time."""

    digest: str
    report_id: int
    kind: NewsKind
    at: datetime
    written: datetime
    state: ReportState
    cases: int
    worst: float | None
    """The largest regression, a fraction; None if none has a percentage."""
    summary: str
    """What got worse and better, in words."""
    apart: bool
    """Whether regressions are differences between two separate measurements."""
    base: str
    head: str
    named: bool
    """Whether head is the culprit itself."""
    subject: str | None
    author: str | None
    platforms: list[str]
    suites: list[str]
    fix: str | None
    fix_base: str | None
    """The fix lies between it and `fix`; None if `fix` is the commit itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsRow(NewsFacts):
    """Stored news."""

    id: int
    report: str
    """Digest of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """The delivery of one piece of news to one subscription."""

    id: int
    news_id: int
    subscription_id: int
    report_id: int
    state: DeliveryState
    attempts: int
    due: datetime
    channel: Channel
    address: str
    secret: str | None
    live: bool
    """Whether the subscription has not ended."""
    earlier: bool
    """Whether older news of the report still waits for the same subscription."""
    thread: str | None
    """The thread that the first delivered news of the report began there."""
    messages: list[str]
    """All messages about the report that were delivered there."""
    today: int
    """Number of recent deliveries to the subscription."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredRow:
    """The state of a delivery, without its address."""

    news_id: int
    channel: Channel
    state: DeliveryState
    attempts: int
    due: datetime
    ended: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryCountRow:
    """How many deliveries of a channel are in a state."""

    channel: Channel
    state: DeliveryState
    n: int


_REPORTS_TO_LOOK_AT = """
SELECT report.digest FROM regression_report AS report
JOIN revision AS base ON base.id = report.base_revision_id
JOIN revision AS head ON head.id = report.head_revision_id
LEFT JOIN LATERAL (SELECT * FROM news WHERE report_id = report.id ORDER BY id DESC LIMIT 1) AS last ON true
WHERE CASE WHEN last.id IS NULL THEN report.state = ANY(%(open)s)
           ELSE last.state <> report.state OR report.updated >= last.written
               OR (last.base, last.head) <> (base.commit, head.commit) OR report.id = ANY(%(unanswered)s)
      END
ORDER BY report.id
FOR UPDATE OF report
"""


def reports_to_look_at(
    connection: Connection[Any], open_states: Sequence[str], unanswered: Sequence[int]
) -> list[str]:
    """Returns the digests of reports that may have news, and locks them, so that no news is written twice.

    These are open reports without news, reports that differ from their last news, and `unanswered` ones.
    """
    asked = {"open": list(open_states), "unanswered": list(unanswered)}
    return values(connection, str).execute(_REPORTS_TO_LOOK_AT, asked).fetchall()


_UNANSWERED = """
SELECT report.id FROM regression_report AS report
WHERE report.state = 'new' AND report.merged_into IS NULL
  AND (SELECT max(written) FROM news WHERE report_id = report.id) <= %(before)s
  AND NOT EXISTS (SELECT FROM triage WHERE report_id = report.id AND triage.by <> %(ours)s)
  AND NOT EXISTS (SELECT FROM news WHERE report_id = report.id AND kind = 'unanswered')
"""


def unanswered_reports(connection: Connection[Any], before: datetime, ours: str) -> list[int]:
    """Returns the new reports whose last news is from `before`, without a reminder yet.

    Only `ours`, the service's own name, triaged them.
    """
    return values(connection, int).execute(_UNANSWERED, {"before": before, "ours": ours}).fetchall()


_NEWS = (
    "SELECT news.*, regression_report.digest AS report FROM news"
    " JOIN regression_report ON regression_report.id = report_id"
)


def last_news(connection: Connection[Any], report_id: int) -> NewsRow | None:
    query = _NEWS + " WHERE report_id = %s ORDER BY news.id DESC LIMIT 1"
    return row_cursor(connection, NewsRow).execute(query, [report_id]).fetchone()


def news_row(connection: Connection[Any], news_id: int) -> NewsRow | None:
    return row_cursor(connection, NewsRow).execute(_NEWS + " WHERE news.id = %s", [news_id]).fetchone()


def news_of(connection: Connection[Any], report_id: int) -> list[NewsRow]:
    """Returns the news of a report, oldest first."""
    return (
        row_cursor(connection, NewsRow)
        .execute(_NEWS + " WHERE report_id = %s ORDER BY news.id", [report_id])
        .fetchall()
    )


_FEED = (
    _NEWS
    + """
WHERE (%(suite)s::text IS NULL OR %(suite)s = ANY(news.suites))
  AND (%(branch)s::int IS NULL OR EXISTS (
      SELECT FROM branch_revision WHERE branch_id = %(branch)s
          AND revision_id = regression_report.head_revision_id))
ORDER BY news.at DESC, news.id DESC LIMIT %(limit)s
"""
)


def list_newest_news(
    connection: Connection[Any], *, suite: str | None, branch: int | None, limit: int
) -> list[NewsRow]:
    """Returns news, newest first. None leaves a filter open."""
    return (
        row_cursor(connection, NewsRow)
        .execute(_FEED, {"suite": suite, "branch": branch, "limit": limit})
        .fetchall()
    )


def insert_news(connection: Connection[Any], facts: NewsFacts) -> int:
    """Returns the id."""
    inserted = values(connection, int).execute(
        "INSERT INTO news (digest, report_id, kind, at, written, state, cases, worst, summary, apart, base,"
        " head, named, subject, author, platforms, suites, fix, fix_base)"
        " VALUES (%(digest)s, %(report_id)s, %(kind)s, %(at)s, %(written)s, %(state)s, %(cases)s, %(worst)s,"
        " %(summary)s, %(apart)s, %(base)s, %(head)s, %(named)s, %(subject)s, %(author)s, %(platforms)s,"
        " %(suites)s, %(fix)s, %(fix_base)s) RETURNING id",
        asdict(facts),
    )
    return fetch_single_row(inserted)


def insert_delivery(connection: Connection[Any], news_id: int, subscription_id: int, now: datetime) -> int:
    """Returns the id."""
    inserted = values(connection, int).execute(
        "INSERT INTO news_delivery (news_id, subscription_id, due) VALUES (%s, %s, %s) RETURNING id",
        [news_id, subscription_id, now],
    )
    return fetch_single_row(inserted)


_DELIVERY = """
SELECT own.id, own.news_id, own.subscription_id, news.report_id, own.state, own.attempts, own.due, channel,
    address, secret, subscription.ended IS NULL AS live,
       EXISTS (SELECT FROM news_delivery AS other JOIN news AS about ON about.id = other.news_id
               WHERE other.subscription_id = own.subscription_id AND about.report_id = news.report_id
                 AND other.state = 'waiting' AND other.id < own.id) AS earlier,
       before.threads[1] AS thread, coalesce(before.threads, '{}') AS messages,
       (SELECT count(*) FROM news_delivery AS other WHERE other.subscription_id = own.subscription_id
            AND other.state = 'delivered' AND other.ended > %(since)s) AS today
FROM news_delivery AS own
JOIN news ON news.id = own.news_id JOIN subscription ON subscription.id = own.subscription_id
CROSS JOIN LATERAL (
    SELECT array_agg(other.thread ORDER BY other.id) AS threads
    FROM news_delivery AS other JOIN news AS about ON about.id = other.news_id
    WHERE other.subscription_id = own.subscription_id AND about.report_id = news.report_id
      AND other.state = 'delivered' AND other.thread IS NOT NULL
) AS before
WHERE own.id = %(delivery)s
"""


def delivery_row(connection: Connection[Any], delivery: int, since: datetime) -> DeliveryRow | None:
    """Returns a delivery. Its `today` counts the deliveries to its subscription since `since`."""
    return (
        row_cursor(connection, DeliveryRow)
        .execute(_DELIVERY, {"delivery": delivery, "since": since})
        .fetchone()
    )


_DUE = """
SELECT min(news_delivery.id) FROM news_delivery JOIN news ON news.id = news_id
WHERE news_delivery.state = 'waiting' GROUP BY subscription_id, report_id
HAVING (array_agg(due ORDER BY news_delivery.id))[1] <= %s ORDER BY 1
"""


def due_deliveries(connection: Connection[Any], now: datetime) -> list[int]:
    """Returns the first waiting delivery of each thread, if it is due."""
    return values(connection, int).execute(_DUE, [now]).fetchall()


def keep_outcome(
    connection: Connection[Any],
    delivery: int,
    *,
    state: DeliveryState,
    attempts: int,
    due: datetime,
    ended: datetime | None,
    reason: str | None,
    thread: str | None,
) -> None:
    connection.execute(
        "UPDATE news_delivery SET state = %s, attempts = %s, due = %s, ended = %s, reason = %s, thread = %s"
        " WHERE id = %s",
        [state, attempts, due, ended, reason, thread, delivery],
    )


def deliveries_of(connection: Connection[Any], report_id: int) -> list[DeliveredRow]:
    """Returns the deliveries of a report's news, oldest first."""
    query = (
        "SELECT news_id, channel, news_delivery.state, attempts, due, news_delivery.ended, reason"
        " FROM news_delivery"
        " JOIN subscription ON subscription.id = subscription_id JOIN news ON news.id = news_id"
        " WHERE report_id = %s ORDER BY news_delivery.id"
    )
    return row_cursor(connection, DeliveredRow).execute(query, [report_id]).fetchall()


def delivery_counts(connection: Connection[Any]) -> list[DeliveryCountRow]:
    query = (
        "SELECT channel, news_delivery.state, count(*) AS n FROM news_delivery"
        " JOIN subscription ON subscription.id = subscription_id GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return row_cursor(connection, DeliveryCountRow).execute(query).fetchall()


def reports_with(connection: Connection[Any], kinds: Sequence[NewsKind], since: datetime) -> int:
    """Returns how many reports had news of these kinds since `since`."""
    query = "SELECT count(DISTINCT report_id) FROM news WHERE kind = ANY(%s) AND at > %s"
    return fetch_single_row(values(connection, int).execute(query, [list(kinds), since]))
