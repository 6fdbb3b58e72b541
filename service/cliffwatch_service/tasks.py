"""The service's background tasks: what is asked for in tasks_asked, done once, again after a failure, and seen in the database."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from procrastinate import App, PsycopgConnector, RetryStrategy
from psycopg_pool import ConnectionPool

from cliffwatch_service import tasks_asked
from cliffwatch_service.comparing import analyse_run
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.watching import branches_with, take_changes, watch_branch

RETRY = RetryStrategy(max_attempts=5, exponential_wait=3)
_log = structlog.get_logger("cliffwatch.tasks")


@dataclass(frozen=True, slots=True)
class TaskParts:
    """What tasks work with."""

    pool: ConnectionPool[Any]
    now: Callable[[], datetime]


def create_tasks(url: str, parts: TaskParts) -> App:
    """The tasks of this service on its database."""
    app = App(connector=PsycopgConnector(conninfo=url, min_size=1, max_size=4))

    @app.task(name=tasks_asked.ANALYSE_RUN, retry=RETRY)
    def analyse(run: str) -> None:
        with structlog.contextvars.bound_contextvars(task=tasks_asked.ANALYSE_RUN, run=run):
            try:
                with parts.pool.connection() as connection:
                    connection.execute("SET LOCAL statement_timeout = '2min'")
                    comparison = analyse_run(connection, run, parts.now())
                    if comparison is not None:
                        take_changes(connection, comparison, parts.now())
                    for branch in branches_with(connection, run):
                        tasks_asked.ask_watch(connection, branch)
            except Refusal as refusal:
                _log.warning("not analysed", reason=refusal.detail)
                return
            _log.info("analysed", comparison=comparison)

    @app.task(name=tasks_asked.WATCH, retry=RETRY)
    def watch(branch_id: int) -> None:
        with structlog.contextvars.bound_contextvars(task=tasks_asked.WATCH, branch=branch_id):
            with parts.pool.connection() as connection:
                connection.execute("SET LOCAL statement_timeout = '2min'")
                found = watch_branch(connection, branch_id, parts.now())
            _log.info("watched", candidates=found)

    return app
