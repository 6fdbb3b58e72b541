"""Posts the state of a pull request with the token of a workflow's job."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
from gidgethub.abc import GitHubAPI

from cliffwatch.failure import Failure
from cliffwatch.pull_request.comment import FailOn, check_run, regression_comment, sticky_comment
from cliffwatch.pull_request.patience import Poster
from cliffwatch.pull_request.policy import Policy
from cliffwatch.pull_request.posting import Posted, put_check_run, put_notification, put_sticky
from cliffwatch.pull_request.state import PullRequestState
from cliffwatch_runner import clock

AUTHOR = "github-actions[bot]"
"""Author of the comments that a workflow's token writes."""

_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)


class _Transport(GitHubAPI):
    """gidgethub over httpx2."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        super().__init__("cliffwatch", base_url=url)
        self._client = client

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, httpx2.Headers, bytes]:
        try:
            answered = await self._client.request(method, url, headers=dict(headers), content=body)
        except httpx2.TransportError as error:
            raise ConnectionError(str(error) or type(error).__name__) from error
        return answered.status_code, answered.headers, answered.content

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOutcome:
    """The outcome of one post."""

    what: str
    """`comment`, `notification` or `check run`."""
    came: Posted | Failure


def post(
    state: PullRequestState, policy: Policy, *, repository: str, number: int | None, url: str, token: str
) -> list[PostOutcome]:
    """Posts the check run of head and, if `number` names a pull request, its comments."""
    return asyncio.run(_post(state, policy, repository=repository, number=number, url=url, token=token))


async def _post(
    state: PullRequestState, policy: Policy, *, repository: str, number: int | None, url: str, token: str
) -> list[PostOutcome]:
    async def same_token(_: bool) -> str | Failure:
        return token

    async with httpx2.AsyncClient(timeout=_TIMEOUT, follow_redirects=False) as client:
        poster = Poster(
            api=_Transport(client, url), author=AUTHOR, token=same_token, now=lambda: clock.now().timestamp()
        )
        said = []
        if number is not None:
            sticky = await put_sticky(poster, repository, number, sticky_comment(state))
            said.append(PostOutcome(what="comment", came=sticky))
            news = regression_comment(state)
            if news is not None and not isinstance(sticky, Failure) and sticky.how != "outdated":
                said.append(
                    PostOutcome(
                        what="notification", came=await put_notification(poster, repository, number, news)
                    )
                )
        run = check_run(state, fail_on=fail_on(policy))
        said.append(
            PostOutcome(what="check run", came=await put_check_run(poster, repository, state.head, run))
        )
        return said


def fail_on(policy: Policy) -> FailOn:
    return "regression" if "regression" in policy.fail_on else "never"
