"""The service's background tasks, deferred by store/background.py or periodic.

Each runs once and is retried after a failure. The database shows their state.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
import structlog
from procrastinate import App, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException
from psycopg import Connection
from psycopg_pool import ConnectionPool

from cliffwatch_service.compare.analysis import analyse_run, keep_compared
from cliffwatch_service.compare.several import compare_own_arms
from cliffwatch_service.github.actions.job_tokens import forget_job_tokens
from cliffwatch_service.github.parts import GitHubParts
from cliffwatch_service.github.webhooks.deliveries import KEPT_DAYS
from cliffwatch_service.history.bisection.bisecting import bisect_changes
from cliffwatch_service.history.changes import answers_watching, branches_with, take_changes
from cliffwatch_service.history.follow import poll
from cliffwatch_service.history.news.writing import write_news
from cliffwatch_service.history.watching.branch import watch_branch
from cliffwatch_service.history.watching.confirming import confirm_candidates
from cliffwatch_service.history.watching.trends import look_for_trends
from cliffwatch_service.jobs.leases import expire
from cliffwatch_service.jobs.quarantine import quarantine_if_control_moved
from cliffwatch_service.jobs.staleness import keep_fresh
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import background, boots, database, follows
from cliffwatch_service.store.github import deliveries, pull_requests
from cliffwatch_service.tasks.github import add_github, defer_moving_reports
from cliffwatch_service.tasks.news import add_news, defer_due_deliveries

RETRY = RetryStrategy(max_attempts=5, exponential_wait=3)
RETRY_DATABASE = RetryStrategy(
    max_attempts=5, exponential_wait=3, retry_exceptions={psycopg.Error, ConnectorException}
)
_STALLED_SECONDS = 30
_log = structlog.get_logger("cliffwatch.tasks")


@dataclass(frozen=True, slots=True)
class TaskParts:
    """Dependencies of the tasks."""

    pool: ConnectionPool[Any]
    now: Callable[[], datetime]
    settings: Settings

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """A transaction with a longer timeout than that of requests."""
        with self.pool.connection() as connection:
            database.allow_long_work(connection)
            yield connection


def create_tasks(url: str, parts: TaskParts, github: GitHubParts) -> App:
    """Registers all tasks in an app on the service's database."""
    app = App(connector=PsycopgConnector(conninfo=url, min_size=1, max_size=8))
    _add_analysis(app, parts)
    _add_rounds(app, parts, github)
    add_github(app, github)
    add_news(app, github)
    return app


def _add_analysis(app: App, parts: TaskParts) -> None:
    @app.task(name=background.ANALYSE_RUN, retry=RETRY)
    def analyse(run: str) -> None:
        with structlog.contextvars.bound_contextvars(task=background.ANALYSE_RUN, run=run):
            try:
                with parts.connection() as connection, _no_collecting():
                    comparison = analyse_run(connection, run, parts.now())
                    compare_own_arms(connection, run, parts.now())
                    if comparison is not None and quarantine_if_control_moved(
                        connection, run, comparison, parts.now()
                    ):
                        _log.warning("its host is in quarantine now: see /hosts")
                    if comparison is not None and not answers_watching(connection, run):
                        take_changes(connection, comparison, parts.now())
                    background.ask_advance(connection)
                    write_news(connection, parts.now())
                    keep_fresh(connection, run, parts.now())
                    for branch in branches_with(connection, run):
                        background.ask_watch(connection, branch)
                    for pull_request in pull_requests.pull_requests_of_run(connection, run):
                        background.defer_pull_request_report(connection, pull_request)
            except Refusal as refusal:
                _log.warning("not analysed", reason=refusal.detail)
                return
            _log.info("analysed", comparison=comparison)

    @app.task(name=background.COMPARE, retry=RETRY_DATABASE)
    def compare(base: int, head: int) -> None:
        """Fails without a retry if the arms cannot be compared, so the caller does not wait in vain."""
        with structlog.contextvars.bound_contextvars(task=background.COMPARE, base=base, head=head):
            with parts.connection() as connection, _no_collecting():
                keep_compared(connection, base, head, parts.now())
            _log.info("compared")

    @app.task(name=background.WATCH, retry=RETRY)
    def watch(branch_id: int) -> None:
        with structlog.contextvars.bound_contextvars(task=background.WATCH, branch=branch_id):
            with parts.connection() as connection:
                candidates = watch_branch(connection, branch_id, parts.now())
                background.ask_advance(connection)
            _log.info("watched", candidates=candidates)

    @app.task(name=background.ADVANCE, retry=RETRY)
    def advance() -> None:
        with structlog.contextvars.bound_contextvars(task=background.ADVANCE):
            with parts.connection() as connection, _no_collecting():
                confirmations = confirm_candidates(connection, parts.now())
                write_news(connection, parts.now())
            with parts.connection() as connection, _no_collecting():  # git may take minutes: hold no lock
                steps = bisect_changes(connection, parts.settings.data_dir / "git", parts.now())
                write_news(connection, parts.now())
            _log.info("advanced", confirmations=confirmations, bisection_steps=steps)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Disables garbage collection.

    A comparison makes hundreds of thousands of small objects that live to its end: a collection would walk
    all of them and free none.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _add_rounds(app: App, parts: TaskParts, github: GitHubParts) -> None:
    """Registers the periodic tasks, and the look at a followed branch that one of them defers."""

    @app.periodic(cron="* * * * *")
    @app.task(name=background.ROUND, queueing_lock=background.ROUND)
    async def each_minute(timestamp: int) -> None:  # noqa: ARG001 - Procrastinate passes it
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=_STALLED_SECONDS):
            _log.warning("retrying the task of a dead process", task=job.task_name, id=job.id)
            await app.job_manager.retry_job(job)
        with parts.connection() as connection:
            expire(connection, parts.now())
            write_news(connection, parts.now())
            due = follows.due_follows(
                connection, parts.now() - timedelta(seconds=parts.settings.poll_seconds)
            )
            for number in due:
                background.ask_poll(connection, number)
            background.ask_advance(connection)
        defer_moving_reports(github)
        defer_due_deliveries(github)

    @app.task(name=background.POLL)
    def look(follow: int) -> None:
        with structlog.contextvars.bound_contextvars(task=background.POLL, follow=follow):
            with parts.connection() as connection:
                asked = poll(connection, follow, parts.settings.data_dir / "git", parts.now())
            _log.info("looked", requests=asked)

    @app.periodic(cron="41 2 * * *")
    @app.task(name=background.TRENDS, queueing_lock=background.TRENDS)
    def look_for_slow_trends(timestamp: int) -> None:  # noqa: ARG001
        with parts.connection() as connection:
            trends = look_for_trends(connection, parts.now())
        _log.info("looked for slow trends", trends=trends)

    @app.periodic(cron="17 3 * * *")
    @app.task(name=background.RETAIN, queueing_lock=background.RETAIN)
    def retain(timestamp: int) -> None:  # noqa: ARG001 - Procrastinate passes it
        with parts.connection() as connection:
            gone = apply_retention(connection, parts.settings.keep_raw_days, parts.now())
            forgotten = forget_deliveries(connection, parts.now())
            ended = forget_job_tokens(connection, parts.now())
        _log.info("raw outputs removed", boots=gone, deliveries=forgotten, job_tokens=ended)


def apply_retention(connection: Connection[Any], days: int | None, now: datetime) -> int:
    """Removes raw outputs older than `days`; None keeps all. Returns the number of boots."""
    return 0 if days is None else boots.remove_raw(connection, now - timedelta(days=days))


def forget_deliveries(connection: Connection[Any], now: datetime) -> int:
    """Removes the records of old webhook deliveries. Returns their number."""
    return deliveries.remove_deliveries(connection, now - timedelta(days=KEPT_DAYS))
