"""Posts comments, check runs and reactions to GitHub through gidgethub's abstract client, with any transport.

Every operation reads the present state first. So it can be repeated at any time, after any failure and in any
order.
"""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from gidgethub import HTTPException

from cliffwatch.failure import Failure
from cliffwatch.pull_request.comment import CheckRun
from cliffwatch.pull_request.marker import Marker, read_marker
from cliffwatch.pull_request.patience import Patience, Poster, Token, retry

__all__ = [
    "Patience",
    "Posted",
    "Poster",
    "Reaction",
    "Token",
    "put_check_run",
    "put_notification",
    "put_reply",
    "put_sticky",
    "react",
]

Reaction = Literal["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]
How = Literal["created", "edited", "unchanged", "outdated"]

_ROUNDS = 5
"""Maximum number of rounds in one try: other people and processes may edit and delete at the same time."""

_CHECK = "cliffwatch"
"""Name of our check run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """The outcome of a post."""

    identity: int
    """GitHub's number of the comment or check run."""
    how: How
    """`outdated` if GitHub already shows a later state, which is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """A comment by Cliffwatch in its present state on GitHub."""

    identity: int
    sequence: int
    body: str


async def put_sticky(poster: Poster, repository: str, number: int, body: str) -> Posted | Failure:
    """Makes `body` (from `sticky_comment`) the only sticky comment of a pull request.

    `repository` is `owner/name`. An existing sticky comment is a comment by `poster.author` whose first line
    is the marker of this kind.

    - It is edited in place, or posted again if somebody deleted it.
    - It is left alone if it is equal or shows a later state.
    - If there are several, the oldest is kept and the others are deleted.

    Do not call this twice at the same time for one pull request: the earlier state might win until the next
    call.
    """
    return await _put_comment(poster, repository, number, body)


async def put_notification(poster: Poster, repository: str, number: int, body: str) -> Posted | Failure:
    """Posts `body` (from `regression_comment`) once per head.

    GitHub notifies everybody in the pull request.
    """
    return await _put_comment(poster, repository, number, body)


async def put_reply(poster: Poster, repository: str, number: int, body: str, *, to: str) -> Posted | Failure:
    """Answers a command once.

    `to` identifies the command, such as the number of its comment; `body` is Markdown.
    """
    return await _put_comment(poster, repository, number, f"{Marker(kind=f'reply:{to}', sequence=0)}\n{body}")


async def _put_comment(poster: Poster, repository: str, number: int, body: str) -> Posted | Failure:
    """Makes `body` the only comment of its marker's kind."""
    marker = read_marker(body)
    assert marker is not None, "a comment begins with its marker"

    async def act(token: str) -> Posted:
        how: How = "unchanged"
        for _ in range(_ROUNDS):
            own = await _own_comments(poster, token, repository, number, marker.kind)
            if own:
                posted = await _settle_comment(poster, token, repository, own, marker, body)
                if posted is not None:
                    return posted if how == "unchanged" else Posted(identity=posted.identity, how=how)
            else:
                # What another process made at the same moment shows in the next round.
                await _post(poster, token, f"/repos/{repository}/issues/{number}/comments", {"body": body})
                how = "created"
        raise TimeoutError("comments are changed by others as fast as we look")

    return await retry(poster, act)


async def _own_comments(poster: Poster, token: str, repository: str, number: int, kind: str) -> list[_Own]:
    """Reads the comments of this kind, oldest first."""
    own = []
    url = f"/repos/{repository}/issues/{number}/comments?per_page=100"
    async for each in poster.api.getiter(url, oauth_token=token):
        marker = read_marker(each.get("body") or "")
        if marker is not None and marker.kind == kind and _login(each).lower() == poster.author.lower():
            own.append(_Own(identity=each["id"], sequence=marker.sequence, body=each["body"]))
    return sorted(own, key=lambda each: each.identity)


def _login(comment: Any) -> str:
    """Returns the author's login; empty if the account was deleted."""
    return str((comment.get("user") or {}).get("login") or "")


async def _settle_comment(
    poster: Poster, token: str, repository: str, own: list[_Own], marker: Marker, body: str
) -> Posted | None:
    """Puts the latest content into the oldest comment and deletes the others.

    Returns None if the oldest is gone.
    """
    kept, *others = own
    latest = max(own, key=lambda each: each.sequence)
    outdated = latest.sequence > marker.sequence
    wanted = latest.body if outdated else body
    changed = not _same(kept.body, wanted)
    if changed:
        try:
            data = {"body": wanted}
            await poster.api.patch(
                f"/repos/{repository}/issues/comments/{kept.identity}", data=data, oauth_token=token
            )
        except HTTPException as refusal:
            if refusal.status_code == 404:
                return None
            raise
    for each in others:
        await _delete(poster, token, repository, each.identity)
    how: How = "outdated" if outdated else "edited" if changed else "unchanged"
    return Posted(identity=kept.identity, how=how)


async def _delete(poster: Poster, token: str, repository: str, identity: int) -> None:
    try:
        await poster.api.delete(f"/repos/{repository}/issues/comments/{identity}", oauth_token=token)
    except HTTPException as refusal:
        if refusal.status_code != 404:
            raise


def _same(there: str, wanted: str) -> bool:
    """Compares texts. GitHub may change line endings, and strips blanks at both ends."""
    return there.replace("\r\n", "\n").strip() == wanted.strip()


async def put_check_run(poster: Poster, repository: str, head: str, run: CheckRun) -> Posted | Failure:
    """Creates or updates our check run at the commit `head`."""
    content = _check_content(run)

    async def act(token: str) -> Posted:
        own = await _own_check(poster, token, repository, head)
        if own is None:
            made = await _post(
                poster, token, f"/repos/{repository}/check-runs", {**content, "head_sha": head}
            )
            return Posted(identity=made["id"], how="created")
        if _sequence(own) > run.sequence:
            return Posted(identity=own["id"], how="outdated")
        if _check_shown(own) == _check_shown(content):
            return Posted(identity=own["id"], how="unchanged")
        await poster.api.patch(f"/repos/{repository}/check-runs/{own['id']}", data=content, oauth_token=token)
        return Posted(identity=own["id"], how="edited")

    return await retry(poster, act)


class _CheckOutput(TypedDict):
    title: str
    summary: str


class _CheckContent(TypedDict):
    """A check run in the form of GitHub's API."""

    name: str
    external_id: str
    status: str
    output: _CheckOutput
    conclusion: NotRequired[str]
    details_url: NotRequired[str]


def _check_content(run: CheckRun) -> _CheckContent:
    content: _CheckContent = {
        "name": _CHECK,
        "external_id": str(run.sequence),
        "status": run.status,
        "output": {"title": run.title, "summary": run.summary},
    }
    if run.conclusion is not None:
        content["conclusion"] = run.conclusion
    if run.details_url:
        content["details_url"] = run.details_url
    return content


async def _own_check(poster: Poster, token: str, repository: str, head: str) -> Any:
    """Returns the app's latest check run at a commit; None if there is none."""
    url = f"/repos/{repository}/commits/{head}/check-runs{{?check_name}}"
    checks = poster.api.getiter(url, {"check_name": _CHECK}, oauth_token=token, iterable_key="check_runs")
    own = [
        each
        async for each in checks
        if f"{(each.get('app') or {}).get('slug')}[bot]".lower() == poster.author.lower()
    ]
    return max(own, key=lambda each: each["id"], default=None)


def _sequence(check: Any) -> int:
    text = str(check.get("external_id") or "")
    return int(text) if text.isascii() and text.isdigit() else -1


def _check_shown(check: Any) -> tuple[Any, ...]:
    output = check.get("output") or {}
    return (
        check.get("status"),
        check.get("conclusion"),
        output.get("title"),
        output.get("summary"),
        _sequence(check),
    )


async def react(poster: Poster, repository: str, comment: int, reaction: Reaction) -> Failure | None:
    """Adds a reaction to a comment, unless it is already there."""

    async def act(token: str) -> None:
        await _post(
            poster, token, f"/repos/{repository}/issues/comments/{comment}/reactions", {"content": reaction}
        )

    return await retry(poster, act)


async def _post(poster: Poster, token: str, url: str, data: Any) -> Any:
    return await poster.api.post(url, data=data, oauth_token=token)
