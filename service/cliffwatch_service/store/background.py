"""Asks for background work in the caller's transaction: it is asked for if, and only if, what it is about is stored."""

from typing import Any

from procrastinate import App, SyncPsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued
from psycopg import Connection

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import tasks

ANALYSE_RUN = "analyse-run"
COMPARE = "compare-arms"
WATCH = "watch-branch"
POLL = "poll-branch"
ROUND = "minute-round"
RETAIN = "apply-retention"

_asking = App(connector=SyncPsycopgConnector())
"""Never opened: every query goes over the caller's connection."""


def ask_analysis(connection: Connection[Any], run: str) -> None:
    """Compare the run's arms and take its points into history."""
    _ask(connection, ANALYSE_RUN, run, run=run)


def ask_comparison(connection: Connection[Any], base: int, head: int) -> None:
    """Compare two arms that nobody compared before. Raises Refusal where that was tried and given up."""
    if tasks.failed_for_good(connection, COMPARE, {"base": base, "head": head}):
        raise Refusal(503, "not compared", "this comparison was tried and given up: its task says why to an operator")
    _ask(connection, COMPARE, f"{base} {head}", base=base, head=head)


def ask_watch(connection: Connection[Any], branch_id: int) -> None:
    """Look for steps in the series of a branch."""
    _ask(connection, WATCH, str(branch_id), branch_id=branch_id)


def ask_poll(connection: Connection[Any], follow: int) -> None:
    """Look at a followed branch."""
    _ask(connection, POLL, str(follow), follow=follow)


def _ask(connection: Connection[Any], task: str, what: str, **arguments: Any) -> None:
    """One that waits already will see what is stored now, so it is not asked for twice."""
    asked = _asking.configure_task(task, queueing_lock=f"{task} {what}", lock=f"{task} {what}", connection=connection)
    try:
        with connection.transaction():
            asked.defer(**arguments)
    except AlreadyEnqueued:
        pass
