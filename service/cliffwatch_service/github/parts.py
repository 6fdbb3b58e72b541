"""Dependencies of the GitHub use cases."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg_pool import ConnectionPool

from cliffwatch.failure import HttpFailure
from cliffwatch_service.github.app.files import AppFiles
from cliffwatch_service.github.calling import GitHub
from cliffwatch_service.refusal import Refusal
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


def raise_if_later(failure: HttpFailure) -> None:
    """Raises Refusal (503) if a retry may succeed."""
    if failure.is_temporary:
        raise try_later(failure.message, failure.wait)


def try_later(message: str, wait: float) -> Refusal:
    """GitHub does not answer or limits requests. The task is retried after `wait` seconds."""
    return Refusal(503, "GitHub does not answer", message, retry_after=wait)
