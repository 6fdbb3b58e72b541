"""Brings comments, check runs and reactions to GitHub, over gidgethub's abstract client: whose transport it is is not known here."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from gidgethub.abc import GitHubAPI

from cliffwatch.failure import Failure
from cliffwatch.pull_request.comment import CheckRun

Reaction = Literal["+1", "-1", "confused", "eyes", "rocket"]
Token = Callable[[bool], Awaitable[str | Failure]]
"""Gives the token of the installation; asked with True after GitHub refused the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often something is tried, and how many seconds one wait may take: a limit that ends later is a failure for now."""

    tries: int = 6
    longest_wait: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Poster:
    """Who speaks to GitHub, and how patiently.

    `author` is the login of the comments that it writes (`cliffwatch[bot]`, `github-actions[bot]`); waiting is `api.sleep`, `now` the
    seconds since the epoch, against which GitHub's limits are told.
    """

    api: GitHubAPI
    author: str
    token: Token
    now: Callable[[], float]
    patience: Patience = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """`identity` is GitHub's number of the comment or check run. `how`: what was done to have it so."""

    identity: int
    how: Literal["created", "edited", "unchanged", "outdated"]


async def put_sticky(poster: Poster, repository: str, number: int, body: str) -> Posted | Failure:
    """Makes `body` (`sticky_comment`) the one sticky comment of a pull request.

    `repository` is `owner/name`. Calls for one pull request must not overlap in time; what another process posted meanwhile is put
    right all the same: the oldest comment stays, the others go. A comment that shows a later state is left (`outdated`).
    """
    raise NotImplementedError


async def put_notification(poster: Poster, repository: str, number: int, body: str) -> Posted | Failure:
    """Posts `regression_comment`, once for each head that it speaks of."""
    raise NotImplementedError


async def put_reply(poster: Poster, repository: str, number: int, body: str, *, to: str) -> Posted | Failure:
    """Posts an answer to somebody's command, once: `to` is what it answers, such as the comment's number."""
    raise NotImplementedError


async def put_check_run(
    poster: Poster, repository: str, head: str, run: CheckRun, *, name: str = "cliffwatch"
) -> Posted | Failure:
    """Makes `run` the check run of this name at a commit: made where there is none, updated where there is one of ours."""
    raise NotImplementedError


async def react(poster: Poster, repository: str, comment: int, reaction: Reaction) -> Failure | None:
    """Puts a reaction to a comment; one that is there already stays."""
    raise NotImplementedError
