"""Retries requests to GitHub: waits out rate limits, retries after errors, turns refusals into failures."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from gidgethub import GitHubException, HTTPException
from gidgethub.abc import GitHubAPI

from cliffwatch.counting import format_duration
from cliffwatch.failure import Failure, HttpFailure, Party, host_failed, wrong_usage

T = TypeVar("T")
Token = Callable[[bool], Awaitable[str | Failure]]
"""Returns a token. Called with True, at most once per operation, after GitHub refused the last token."""

_SECONDARY = 60.0
"""Seconds to wait for a rate limit without further details, as GitHub asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Limits of retries."""

    tries: int = 6
    longest_wait: float = 120.0
    """Seconds. If GitHub asks for a longer wait, the operation fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poster:
    """A client of GitHub with its credentials and its patience."""

    api: GitHubAPI
    """Its transport raises OSError (TimeoutError, ConnectionError) without an answer. Its `sleep` waits."""
    author: str
    """Login of the comments that the client writes: `cliffwatch[bot]` or `github-actions[bot]`."""
    token: Token
    now: Callable[[], float]
    """Returns the seconds since the epoch."""
    patience: Patience = Patience()


async def retry(poster: Poster, act: Callable[[str], Awaitable[T]]) -> T | Failure:
    """Calls `act` with a token and returns its result. Calls it again after temporary errors.

    `act` must be idempotent: GitHub may have carried out a request that it did not answer. So `act` first
    reads the present state, and then only does what is left to do.
    """
    token, refreshed = await poster.token(False), False
    failure: Failure | None = None
    for attempt in range(poster.patience.tries):
        if isinstance(token, Failure):
            return token
        try:
            return await act(token)
        except HTTPException as refusal:
            if refusal.status_code == 401 and not refreshed:
                token, refreshed = await poster.token(True), True
                continue
            failure, wait = _refusal_of(refusal), _wait(refusal, attempt, poster.now())
        except (OSError, ValueError, GitHubException) as broken:
            failure, wait = _broken_answer(broken), 2.0**attempt
        if wait is None:
            return failure
        if wait > poster.patience.longest_wait:
            return _postpone(failure, wait)
        if attempt + 1 < poster.patience.tries:
            await poster.api.sleep(wait)
    return failure or _broken_answer(TimeoutError())


def _wait(refusal: HTTPException, attempt: int, now: float) -> float | None:
    return seconds_to_retry(
        int(refusal.status_code), refusal.headers, str(refusal), now=now, again=2.0**attempt, attempt=attempt
    )


def seconds_to_retry(
    status: int, headers: Mapping[str, str], said: str, *, now: float, again: float, attempt: int = 0
) -> float | None:
    """Returns the seconds until a retry makes sense; None if waiting does not help.

    `said` is what GitHub's answer says, `now` the seconds since the epoch. `again` are the seconds to wait
    after an error of GitHub's own, if GitHub does not say how many.
    """
    if status >= 500 or status == 408:
        return _seconds(headers, "retry-after") or again
    if status not in (403, 429):
        return None
    after = _seconds(headers, "retry-after")
    if after is not None:
        return after
    if _seconds(headers, "x-ratelimit-remaining") == 0:
        reset = _seconds(headers, "x-ratelimit-reset")
        return _SECONDARY if reset is None else max(1.0, reset - now)
    if status == 429 or "rate limit" in said.lower() or "abuse" in said.lower():
        return _SECONDARY * 2.0**attempt
    return None


def _seconds(headers: Mapping[str, str], name: str) -> float | None:
    text = headers.get(name, "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


_REFUSALS: Mapping[int, tuple[Party, str, str]] = {
    401: (
        "host",
        "GitHub refuses the credentials",
        "check the app's key, or the token's permissions and expiry",
    ),
    403: (
        "host",
        "GitHub does not allow it",
        "give the app or the workflow write access to pull requests and checks",
    ),
    404: (
        "host",
        "GitHub does not know it: it was removed, or the installation was revoked",
        "install the app on the repository again, or stop following it",
    ),
    410: ("usage", "GitHub says that it is gone", "allow issues and comments in the repository's settings"),
    422: ("host", "GitHub refuses what was sent", "report this with the evidence: it is a bug of Cliffwatch"),
}


def _refusal_of(refusal: HTTPException) -> Failure:
    status, said = int(refusal.status_code), str(refusal)
    if status == 403 and "locked" in said.lower():
        return wrong_usage(
            "the pull request is locked: it takes no comments",
            "unlock its conversation, or read the check run",
            said[:300],
        )
    if status in (403, 429) and _wait(refusal, 0, 0.0) is not None:
        return host_failed("GitHub's limit is used up", "ask again later", said[:300])
    whose, message, step = _REFUSALS.get(status, ("host", f"GitHub answers {status}", "ask again later"))
    return Failure(whose=whose, message=message, next_step=step, evidence=f"{status} {said}"[:300])


def _broken_answer(error: Exception) -> Failure:
    return host_failed(
        "GitHub gives no answer that can be read",
        "check the connection and GitHub's status, and ask again",
        f"{type(error).__name__}: {error}"[:300],
    )


def _postpone(failure: Failure, seconds: float) -> HttpFailure:
    return HttpFailure(
        whose=failure.whose,
        message=failure.message,
        next_step=f"ask again in {format_duration(seconds)}",
        evidence=failure.evidence,
        wait=seconds,
    )
