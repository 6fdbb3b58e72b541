"""Background tasks, which Procrastinate stores and runs.

A task is requested in its caller's transaction: it exists if, and only if, the data that it is about are
stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from procrastinate import App, SyncPsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued
from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.postgres.rows import pairs, row_cursor, values
from cliffwatch_service.refusal import Refusal

ANALYSE_RUN = "analyse-run"
COMPARE = "compare-arms"
WATCH = "watch-branch"
ADVANCE = "advance-watching"
POLL = "poll-branch"
ROUND = "minute-round"
RETAIN = "apply-retention"
TRENDS = "look-for-trends"
LOOK_AT_INSTALLATION = "look-at-installation"
LOOK_AT_PULL_REQUEST = "look-at-pull-request"
CARRY_OUT = "carry-out-command"
REPORT = "report-pull-request"
DELIVER = "deliver-news"

QUEUE = "default"
GITHUB_QUEUE = "github"
"""Tasks that somebody waits for at GitHub. They run beside the other tasks, which may take minutes."""

NEWS_QUEUE = "news"
"""Tasks that send to other servers, which may answer slowly."""

_APP = App(connector=SyncPsycopgConnector())
"""Never opened: every query uses the caller's connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A background task."""

    id: int
    task: str
    about: FreeJson
    """Its arguments."""
    status: str
    attempts: int
    due: datetime | None
    """When it runs next; None unless it is scheduled."""
    at: datetime | None
    """When its status last changed."""


def ask_analysis(connection: Connection[Any], run: str) -> None:
    """Requests that a run's arms are compared and its points added to history."""
    _ask(connection, ANALYSE_RUN, run, run=run)


def ask_comparison(connection: Connection[Any], base: int, head: int) -> None:
    """Requests a comparison of two arms. Raises Refusal if it was tried before and failed for good."""
    if failed_for_good(connection, COMPARE, {"base": base, "head": head}):
        raise Refusal(
            503, "not compared", "the comparison failed: the background task has the reason, for an operator"
        )
    _ask(connection, COMPARE, f"{base} {head}", base=base, head=head)


def ask_watch(connection: Connection[Any], branch_id: int) -> None:
    """Requests a search for steps in the series of a branch."""
    _ask(connection, WATCH, str(branch_id), branch_id=branch_id)


def ask_advance(connection: Connection[Any]) -> None:
    """Requests that answers to confirmations and bisections are processed, and the next ones requested."""
    _ask(connection, ADVANCE, "all")


def ask_poll(connection: Connection[Any], follow: int) -> None:
    """Requests a look at a followed branch."""
    _ask(connection, POLL, str(follow), follow=follow)


def ask_installation(connection: Connection[Any], installation: int) -> None:
    """Requests a look at an installation of the App."""
    what = str(installation)
    _ask(connection, LOOK_AT_INSTALLATION, what, queue=GITHUB_QUEUE, installation=installation)


def ask_pull_request(connection: Connection[Any], installation: int, repository: int, number: int) -> None:
    """Requests a look at a pull request, which measures new heads."""
    about = {"installation": installation, "repository": repository, "number": number}
    what = f"{repository} {number}"
    _ask(connection, LOOK_AT_PULL_REQUEST, what, queue=GITHUB_QUEUE, lock=f"pull request {what}", **about)


def ask_command(
    connection: Connection[Any], installation: int, repository: int, number: int, comment: int
) -> None:
    """Requests that the command in a comment is carried out."""
    about = {"installation": installation, "repository": repository, "number": number, "comment": comment}
    lock = f"pull request {repository} {number}"
    _ask(connection, CARRY_OUT, str(comment), queue=GITHUB_QUEUE, lock=lock, **about)


def defer_pull_request_report(connection: Connection[Any], pull_request: int) -> None:
    """Requests an update of a pull request's comment."""
    _ask(connection, REPORT, str(pull_request), queue=GITHUB_QUEUE, pull_request=pull_request)


def ask_delivery(connection: Connection[Any], delivery: int) -> None:
    """Requests the delivery of news to a subscription."""
    _ask(connection, DELIVER, str(delivery), queue=NEWS_QUEUE, delivery=delivery)


def _ask(
    connection: Connection[Any],
    task: str,
    what: str,
    *,
    queue: str = QUEUE,
    lock: str | None = None,
    **arguments: int | str,
) -> None:
    """Defers a task unless it is queued already: the queued one will see the data that are stored now."""
    about = f"{task} {what}"
    asked = _APP.configure_task(
        task, queue=queue, queueing_lock=about, lock=lock or about, connection=connection
    )
    try:
        with connection.transaction():
            asked.defer(**arguments)
    except AlreadyEnqueued:
        pass


_TASKS = """
SELECT job.id, task_name AS task, args AS about, status::text, attempts, scheduled_at AS due,
       (SELECT max(at) FROM procrastinate_events WHERE job_id = job.id) AS at
FROM procrastinate_jobs AS job
WHERE (%(status)s::text IS NULL OR status::text = %(status)s)
    AND job.id < coalesce(%(before)s, 9223372036854775807)
ORDER BY job.id DESC LIMIT %(limit)s
"""


def list_tasks(
    connection: Connection[Any], *, status: str | None, before: int | None, limit: int
) -> list[TaskRow]:
    """Returns tasks, newest first, with ids below `before`. None leaves a filter open."""
    wanted = {"status": status, "before": before, "limit": limit}
    return row_cursor(connection, TaskRow).execute(_TASKS, wanted).fetchall()


def failed_for_good(connection: Connection[Any], task: str, about: Mapping[str, int | str]) -> bool:
    """Whether the newest task with this name and these arguments was given up."""
    query = (
        "SELECT status::text FROM procrastinate_jobs WHERE task_name = %s AND args = %s"
        " ORDER BY id DESC LIMIT 1"
    )
    return values(connection, str).execute(query, [task, Jsonb(about)]).fetchone() == "failed"


def last_heartbeat(connection: Connection[Any]) -> datetime | None:
    """Returns when a worker of tasks last sent a heartbeat; None if none runs."""
    query = "SELECT last_heartbeat FROM procrastinate_workers ORDER BY last_heartbeat DESC LIMIT 1"
    return values(connection, datetime).execute(query).fetchone()


def oldest_queued(connection: Connection[Any]) -> datetime | None:
    """Returns when the oldest queued job was made; None if none waits."""
    return (
        values(connection, datetime)
        .execute("SELECT created FROM job WHERE state = 'queued' ORDER BY created LIMIT 1")
        .fetchone()
    )


def counts(connection: Connection[Any]) -> dict[str, dict[str, int]]:
    """Returns the number of jobs and of tasks in each state."""
    queries = {
        "jobs": "SELECT state AS state, count(*) AS n FROM job GROUP BY 1",
        "tasks": "SELECT status::text AS state, count(*) AS n FROM procrastinate_jobs GROUP BY 1",
    }
    return {
        name: dict(pairs(connection, str, int).execute(query).fetchall()) for name, query in queries.items()
    }
