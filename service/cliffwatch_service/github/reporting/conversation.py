"""Posts comments, check runs and reactions in a pull request, with `cliffwatch.pull_request.posting`."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from cliffwatch.failure import Failure, HttpFailure
from cliffwatch.pull_request import posting
from cliffwatch.pull_request.comment import CheckRun
from cliffwatch_service.github.calling import InstallationClient, PostingApi
from cliffwatch_service.github.installations import is_reached, look_at_installation
from cliffwatch_service.github.parts import GitHubParts, try_later
from cliffwatch_service.store.github import installations
from cliffwatch_service.store.github.installations import RepositoryRow

_AGAIN_SECONDS = 60.0
_PATIENCE = posting.Patience(tries=3, longest_wait=5.0)
"""A post that takes longer is retried later, so that it does not hold up other pull requests."""

T = TypeVar("T")
_log = structlog.get_logger("cliffwatch.github")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Posts in one pull request.

    Raises Refusal if GitHub cannot accept a post now. A post that GitHub will never accept, as in a locked
    conversation, is logged and dropped.
    """

    parts: GitHubParts
    installed: InstallationClient
    name: str
    """Repository as OWNER/NAME."""
    number: int
    """Number of the pull request."""

    @property
    def login(self) -> str:
        """The App's login; empty if no App is set up."""
        identity = self.parts.files.identity()
        return identity.login if identity is not None else ""

    def answer(self, text: str, *, to: str) -> None:
        self._done("answer", posting.put_reply(self._poster(), self.name, self.number, text, to=to))

    def react(self, comment: int, reaction: posting.Reaction) -> None:
        self._done("reaction", posting.react(self._poster(), self.name, comment, reaction))

    def report(self, body: str) -> bool:
        """Posts the sticky comment. Returns whether it, or a newer one, is there now."""
        return (
            self._done("report", posting.put_sticky(self._poster(), self.name, self.number, body)) is not None
        )

    def notify(self, body: str) -> None:
        self._done("notification", posting.put_notification(self._poster(), self.name, self.number, body))

    def check(self, head: str, run: CheckRun) -> None:
        self._done("check run", posting.put_check_run(self._poster(), self.name, head, run))

    def _done(self, what: str, posted: Coroutine[Any, Any, T | Failure]) -> T | None:
        done = asyncio.run(posted)
        if not isinstance(done, Failure):
            return done
        if isinstance(done, HttpFailure) and done.wait:
            raise try_later(f"{what}: {done.message}", done.wait)
        if done.whose == "host":
            repository = self._row()
            look_at_installation(self.parts, self.installed.number)
            if repository is not None and is_reached(self.parts, repository.id):
                raise try_later(f"{what}: {done.message} {done.evidence}", _AGAIN_SECONDS)
        _log.warning("not posted", what=what, repository=self.name, number=self.number, reason=done.message)
        return None

    def _row(self) -> RepositoryRow | None:
        """Returns the repository of the current name. Its number finds it even after it is renamed."""
        with self.parts.transaction() as connection:
            return installations.repository_named(connection, self.name)

    def _poster(self) -> posting.Poster:
        async def token(fresh: bool) -> str | Failure:
            return self.installed.github.token(self.installed.number, fresh=fresh)

        return posting.Poster(
            api=PostingApi(self.installed.github),
            author=self.login,
            token=token,
            now=lambda: self.parts.now().timestamp(),
            patience=_PATIENCE,
        )
