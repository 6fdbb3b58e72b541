"""Makes requests to GitHub's API.

Requests go only to the address in the settings. Redirects to other addresses are not followed, proxies of the
environment are not used, and no address comes from a webhook, a comment or an unchecked answer. GitHub's
signing keys have their own client (`actions/signing_keys.py`).
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gidgethub import HTTPException, RateLimitExceeded
from gidgethub.abc import GitHubAPI
from gidgethub.sansio import create_headers, decipher_response

from cliffwatch.failure import HttpFailure
from cliffwatch.pull_request.patience import seconds_to_retry
from cliffwatch_service.github.app.files import AppFiles

if TYPE_CHECKING:
    import httpx2

_SECONDS = 20.0
_SECONDS_TO_CONNECT = 10.0
_LARGEST = 16 << 20
_MOST_PAGES = 30
_MOST_REDIRECTS = 2
_AGAIN_SECONDS = 15.0
_LONGEST_WAIT = 3600.0
_SKEW_SECONDS, _LASTING_SECONDS = 60, 9 * 60
"""GitHub accepts an App's JWT for at most ten minutes, and its clock may be behind ours."""

_LATER = "it is tried again by itself; `cliffwatch github status` shows whether GitHub answers"
_LOOK = "look at the App and its installations with `cliffwatch github status`"

_EARLY = timedelta(minutes=2)
"""Tokens are replaced this long before they expire, so that none expires during a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """GitHub's answer to a request."""

    status: int
    body: Any
    more: str | None = None
    """URL of the next page; None on the last page."""


Reply = Answer | HttpFailure


class GitHub:
    """Client of GitHub's API, as the App itself or in one of its installations.

    Tokens are kept in memory only.
    """

    def __init__(self, api: str, files: AppFiles, now: Callable[[], datetime]) -> None:
        self._api, self._files, self._now = api, files, now
        self._tokens: dict[int, tuple[str, datetime]] = {}

    @cached_property
    def _http(self) -> "httpx2.Client":
        import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        timeout = httpx2.Timeout(_SECONDS, connect=_SECONDS_TO_CONNECT)
        return httpx2.Client(timeout=timeout, trust_env=False, follow_redirects=False)

    def close(self) -> None:
        if "_http" in self.__dict__:
            self._http.close()

    def without_login(self, method: str, path: str) -> Reply:
        return self._send(method, self._api + path, {}, None)

    def as_person(self, token: str, method: str, path: str) -> Reply:
        """Sends a request with the token of a person who signs in."""
        return self._send(method, self._api + path, create_headers("cliffwatch", oauth_token=token), None)

    def exchange_code(self, web: str, asked: Mapping[str, str]) -> Reply:
        """Exchanges the code of a sign-in for a token. `web`: the settings' address of GitHub's pages."""
        headers = {"accept": "application/json", "user-agent": "cliffwatch"}
        return self._send("POST", f"{web}/login/oauth/access_token", headers, asked)

    def as_app(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Reply:
        """Sends a request as the App itself. `key` replaces the stored private key."""
        identity, kept = self._files.identity(), key or self._files.private_key()
        if identity is None or kept is None:
            return permanent_failure(0, "no App is set up", "run `cliffwatch github setup`")
        import jwt  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        began = int(self._now().timestamp()) - _SKEW_SECONDS
        claims = {"iat": began, "exp": began + _LASTING_SECONDS, "iss": str(identity.id)}
        headers = create_headers("cliffwatch", jwt=jwt.encode(claims, kept, algorithm="RS256"))
        return self._send(method, self._api + path, headers, body)

    def installed(self, installation: int) -> "InstallationClient":
        return InstallationClient(self, installation)

    def in_installation(self, installation: int, method: str, url: str, body: Any) -> Reply:
        """Sends a request in an installation. If GitHub refuses the token, retries once with a new one."""
        for attempt in range(2):
            token = self.token(installation, fresh=attempt > 0)
            if isinstance(token, HttpFailure):
                return token
            reply = self._send(method, url, create_headers("cliffwatch", oauth_token=token), body)
            if not isinstance(reply, HttpFailure) or reply.status != 401:
                break
        return reply

    def token(self, installation: int, *, fresh: bool) -> str | HttpFailure:
        """Returns an installation's token. `fresh` forces a new one, for when GitHub refused the last."""
        known = self._tokens.get(installation)
        if known is not None and not fresh and self._now() < known[1] - _EARLY:
            return known[0]
        return self._new_token(installation)

    def answer_of(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Returns the status, headers and body of GitHub's answer.

        Raises ConnectionError if GitHub does not answer, ValueError if the URL is not GitHub's.
        """
        import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        if not self.is_here(url):
            raise ValueError(f"{urlsplit(url).netloc} is not where GitHub is")
        try:
            return self._whole(method, url, headers, body)
        except httpx2.TransportError as error:
            raise ConnectionError(str(error) or type(error).__name__) from None

    def address(self, path: str) -> str:
        return self._api + path

    def is_here(self, url: str) -> bool:
        """True if a URL that GitHub named is below the address in the settings."""
        try:
            ours, theirs = urlsplit(self._api), urlsplit(url)
        except ValueError:
            return False
        return (ours.scheme, ours.netloc) == (theirs.scheme, theirs.netloc) and theirs.path.startswith(
            ours.path
        )

    def _new_token(self, installation: int) -> str | HttpFailure:
        reply = self.as_app("POST", f"/app/installations/{installation:d}/access_tokens")
        if isinstance(reply, HttpFailure):
            self._tokens.pop(installation, None)
            return reply
        try:
            token, ends = str(reply.body["token"]), datetime.fromisoformat(reply.body["expires_at"])
        except (TypeError, KeyError, ValueError):
            return _broken_answer(reply.status, "GitHub's answer holds no token")
        self._tokens[installation] = (token, ends)
        return token

    def _send(self, method: str, url: str, headers: Mapping[str, str], body: Any) -> Reply:
        import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        for _ in range(_MOST_REDIRECTS + 1):
            try:
                sent = b"" if body is None else json.dumps(body).encode()
                status, answered, content = self._whole(method, url, headers, sent)
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                return _broken_answer(0, f"GitHub was not reached: {error or type(error).__name__}")
            target = self._target(url, answered.get("location"))
            # GitHub redirects reads of a renamed repository.
            if method != "GET" or status not in (301, 302, 307, 308) or target is None:
                return _read(status, answered, content, self._now())
            url = target
        return _broken_answer(status, "GitHub redirects in a circle")

    def _target(self, url: str, location: str | None) -> str | None:
        """Returns the target of a redirect; None if there is none or it is not GitHub's."""
        import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        try:
            target = None if location is None else str(httpx2.URL(url).join(location))
        except httpx2.InvalidURL:
            return None
        return target if target is not None and self.is_here(target) else None

    def _whole(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, "httpx2.Headers", bytes]:
        import httpx2  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

        content = bytearray()
        kind = {"content-type": "application/json"} if body else {}
        with self._http.stream(method, url, headers={**kind, **headers}, content=body) as response:
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _LARGEST:
                    raise httpx2.ReadError("the answer is too large")
            return response.status_code, response.headers, bytes(content)


class PostingApi(GitHubAPI):
    """API client for posting. It sends one request at a time, and only to the address in the settings."""

    def __init__(self, github: GitHub) -> None:
        super().__init__("cliffwatch", base_url=github.address(""))
        self._github = github

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        return self._github.answer_of(method, url, headers, body)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class InstallationClient:
    """Client with the rights of one installation. Paths are relative to the address in the settings."""

    github: GitHub
    number: int

    def get(self, path: str) -> Reply:
        return self.send("GET", path)

    def post(self, path: str, body: Any) -> Reply:
        return self.send("POST", path, body)

    def patch(self, path: str, body: Any) -> Reply:
        return self.send("PATCH", path, body)

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        return self.github.in_installation(self.number, method, self.github.address(path), body)

    def every(self, path: str, member: str | None = None) -> list[Any] | HttpFailure:
        """Returns the items of all pages. If a page is an object, `member` names its list of items."""
        found: list[Any] = []
        for reply in self._pages(path):
            if isinstance(reply, HttpFailure):
                return reply
            page = reply.body.get(member, []) if member and isinstance(reply.body, dict) else reply.body
            found += page if isinstance(page, list) else []
        return found

    def _pages(self, path: str) -> Iterator[Reply]:
        url: str | None = self.github.address(path)
        for _ in range(_MOST_PAGES):
            if url is None or not self.github.is_here(url):
                return
            reply = self.github.in_installation(self.number, "GET", url, None)
            yield reply
            url = reply.more if isinstance(reply, Answer) else None


def _read(status: int, headers: "httpx2.Headers", content: bytes, now: datetime) -> Reply:
    try:
        body, _, more = decipher_response(status, headers, content)
    except HTTPException as refusal:
        return _refusal_of(status, headers, refusal, now)
    except (ValueError, LookupError, TypeError):
        return _broken_answer(status, "GitHub's answer cannot be read")
    return Answer(status=status, body=body, more=more)


def _refusal_of(status: int, headers: "httpx2.Headers", refusal: HTTPException, now: datetime) -> HttpFailure:
    used_up = isinstance(refusal, RateLimitExceeded)
    message = "GitHub's limit of requests is used up" if used_up else str(refusal)[:300]
    wait = seconds_to_retry(status, headers, str(refusal), now=now.timestamp(), again=_AGAIN_SECONDS)
    if wait is None:
        return permanent_failure(status, message, _LOOK)
    return _later(status, message, min(max(wait, 1.0), _LONGEST_WAIT))


def _later(status: int, message: str, wait: float) -> HttpFailure:
    return HttpFailure(
        whose="host", message=_said(status, message), next_step=_LATER, status=status, wait=wait
    )


def permanent_failure(status: int, message: str, next_step: str) -> HttpFailure:
    """A failure that no retry mends."""
    return HttpFailure(whose="usage", message=_said(status, message), next_step=next_step, status=status)


def unreadable_answer(status: int, holds_no: str) -> HttpFailure:
    """The answer lacks what GitHub's documentation promises."""
    return permanent_failure(status, f"GitHub's answer holds no {holds_no}", _LOOK)


def _said(status: int, message: str) -> str:
    return f"GitHub answered {status}: {message}" if status not in (0, 200, 201) else message


def _broken_answer(status: int, message: str) -> HttpFailure:
    return _later(status, message, _AGAIN_SECONDS)
