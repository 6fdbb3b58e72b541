"""Background tasks for GitHub: looks, commands and comments. Tasks are retried when GitHub asks for it."""

from datetime import timedelta

import psycopg
import structlog
from procrastinate import App, BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job

from cliffwatch_service.github.installations import look_at_installation
from cliffwatch_service.github.parts import GitHubParts
from cliffwatch_service.github.pull_requests.commands import carry_out
from cliffwatch_service.github.pull_requests.pull_request_look import look_at_pull_request
from cliffwatch_service.github.reporting.report import report_pull_request
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import background
from cliffwatch_service.store.github import pull_requests

_MOST_TRIES = 60
"""Tries of one task. They span more than a day, so no webhook is lost in an outage of GitHub of a day."""

_LONGEST_WAIT = 1800
"""Longest backoff in seconds."""

_NEWS_OF = timedelta(minutes=10)
"""Time after a job's end in which its pull request is reported each minute.

The job's comparison may arrive after the last comment.
"""


class _GitHubBackoff(BaseRetryStrategy):
    """Exponential backoff from 2 s to half an hour, or longer if GitHub asks for it."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        later = isinstance(exception, Refusal) and exception.status == 503
        if job.attempts >= _MOST_TRIES or not (
            later or isinstance(exception, (psycopg.Error, ConnectorException))
        ):
            return None
        asked = exception.more.get("retry_after", 0.0) if isinstance(exception, Refusal) else 0.0
        return RetryDecision(
            retry_in={"seconds": int(max(asked, min(2 ** (job.attempts + 1), _LONGEST_WAIT)))}
        )


_RETRY = _GitHubBackoff()


def add_github(app: App, parts: GitHubParts) -> None:
    @app.task(name=background.LOOK_AT_INSTALLATION, queue=background.GITHUB_QUEUE, retry=_RETRY)
    def installation_look(installation: int) -> None:
        with structlog.contextvars.bound_contextvars(
            task=background.LOOK_AT_INSTALLATION, installation=installation
        ):
            look_at_installation(parts, installation)

    @app.task(name=background.LOOK_AT_PULL_REQUEST, queue=background.GITHUB_QUEUE, retry=_RETRY)
    def pull_request_look(installation: int, repository: int, number: int) -> None:
        with structlog.contextvars.bound_contextvars(
            task=background.LOOK_AT_PULL_REQUEST, repository_id=repository, number=number
        ):
            look_at_pull_request(parts, installation, repository, number)

    @app.task(name=background.CARRY_OUT, queue=background.GITHUB_QUEUE, retry=_RETRY)
    def command(installation: int, repository: int, number: int, comment: int) -> None:
        with structlog.contextvars.bound_contextvars(
            task=background.CARRY_OUT, repository_id=repository, number=number, comment=comment
        ):
            carry_out(parts, installation, repository, number, comment)

    @app.task(name=background.REPORT, queue=background.GITHUB_QUEUE, retry=_RETRY)
    def telling(pull_request: int) -> None:
        with structlog.contextvars.bound_contextvars(task=background.REPORT, pull_request=pull_request):
            report_pull_request(parts, pull_request)


def defer_moving_reports(parts: GitHubParts) -> None:
    """Defers a report for every pull request whose jobs have progressed."""
    with parts.transaction() as connection:
        for number in pull_requests.list_active_pull_requests(connection, parts.now() - _NEWS_OF):
            background.defer_pull_request_report(connection, number)
