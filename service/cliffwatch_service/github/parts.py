"""What the use cases of GitHub work with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg_pool import ConnectionPool

from cliffwatch_service.github.app.files import AppFiles
from cliffwatch_service.github.calling import GitHub, GitHubProblem
from cliffwatch_service.runtime.settings import Settings

ASKER = "github"
"""The name under which pull requests ask: a token that has no secret and so no holder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubParts:
    """GitHub is asked between transactions, never in one: an answer may take half a minute."""

    pool: ConnectionPool[Any]
    now: Callable[[], datetime]
    settings: Settings
    files: AppFiles
    github: GitHub

    @contextmanager
    def transaction(self) -> Iterator[Connection[Any]]:
        with self.pool.connection() as connection:
            yield connection


class NotNow(Exception):
    """GitHub did not answer, or asked for patience: the task is done again after `wait` seconds."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


def raise_if_later(problem: GitHubProblem) -> None:
    """Raises NotNow for what may go another time."""
    if problem.kind == "later":
        raise NotNow(problem.message, problem.wait)
