"""Dependencies of the GitHub use cases."""

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
"""Name of the token that pull requests' measurements are requested under. It has no secret or holder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubParts:
    """Dependencies. Ask GitHub between transactions, never inside one: an answer may take half a minute."""

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
    """GitHub did not answer or limits requests. The task is retried after `wait` seconds."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


def raise_if_later(problem: GitHubProblem) -> None:
    """Raises NotNow if a retry may succeed."""
    if problem.kind == "later":
        raise NotNow(problem.message, problem.wait)
