"""Reads from GitHub's API: pull requests, commits, files and artifacts that the event does not contain.

Writes nothing.
"""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.pull_request.patience import seconds_to_retry
from cliffwatch_runner import clock
from cliffwatch_runner.ci.artifact import LARGEST_ARCHIVE, refuse_artifact

API = "https://api.github.com"
_HEADERS = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "cliffwatch",
}
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
_TRIES = 5
_LONGEST_WAIT = 120.0
_PAGES = 10
_FOUND = (301, 302, 303, 307, 308)


class GitHubReader:
    """Reads from one repository. Every request returns GitHub's answer, or a failure after a few tries."""

    def __init__(
        self, url: str, token: str | None, repository: str, *, sleep: Callable[[float], object] = clock.pause
    ) -> None:
        headers = {**_HEADERS, **({"Authorization": f"Bearer {token}"} if token else {})}
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=_TIMEOUT, follow_redirects=False)
        self._repository = repository
        self._sleep = sleep

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **params: str | int) -> Any | Failure:
        """Returns the JSON at a path below the repository; None if the path does not exist."""
        response = self._asked(path, params)
        if isinstance(response, Failure):
            return response
        if response.status_code == 404:
            return None
        try:
            return response.json() if response.is_success else _failed(path, response)
        except ValueError:
            return _failed(path, response)

    def pages(self, path: str, key: str | None = None, **params: str | int) -> list[Any] | Failure:
        """Returns the entries of a list from all its pages, up to a limit of pages.

        `key` names the list within an object; None if the answer itself is the list.
        """
        found: list[Any] = []
        for page in range(1, _PAGES + 1):
            content = self.get(path, per_page=100, page=page, **params)
            if isinstance(content, Failure):
                return content
            entries = content.get(key, []) if key is not None and isinstance(content, dict) else content or []
            found += entries
            if len(entries) < 100:
                break
        return found

    def text_of(self, path: str, commit: str) -> str | Failure | None:
        """Returns the text of a file at a commit; None if the commit does not have the file."""
        content = self.get(f"/contents/{quote(path)}", ref=commit)
        if content is None or isinstance(content, Failure):
            return content
        try:
            return base64.b64decode(content["content"]).decode()
        except (KeyError, TypeError, ValueError):
            return wrong_usage(f"{path} of {commit[:12]} is no file", "make it one")

    def download(self, artifact: int, to: Path) -> Failure | None:
        """Downloads an artifact's archive up to the size limit.

        The storage server that GitHub redirects to never gets the token.
        """
        sent = self._asked(f"/actions/artifacts/{artifact}/zip", {})
        if isinstance(sent, Failure):
            return sent
        address = sent.headers.get("location", "")
        if sent.status_code not in _FOUND or not address:
            return _failed("the artifact", sent)
        size = 0
        try:
            with httpx2.stream("GET", address, timeout=_TIMEOUT) as stream, to.open("wb") as sink:
                if not stream.is_success:
                    return refuse_artifact(f"its storage answers {stream.status_code}")
                for piece in stream.iter_bytes():
                    size += len(piece)
                    if size > LARGEST_ARCHIVE:
                        return refuse_artifact("it is too large")
                    sink.write(piece)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return refuse_artifact(f"its storage cannot be reached: {error or type(error).__name__}")
        return None

    def _asked(self, path: str, params: Mapping[str, str | int]) -> httpx2.Response | Failure:
        why = "not tried"
        for attempt in range(_TRIES):
            try:
                response = self._http.get(f"/repos/{self._repository}{path}", params=dict(params))
            except httpx2.TransportError as error:
                why, wait = str(error) or type(error).__name__, 2.0**attempt
            else:
                again = _wait(response, attempt)
                if again is None:
                    return response
                why, wait = f"it answers {response.status_code}", again
            if wait > _LONGEST_WAIT:
                break
            if attempt < _TRIES - 1:
                self._sleep(wait)
        return host_failed(f"GitHub cannot be asked: {why}", "start the job again later")


def _wait(response: httpx2.Response, attempt: int) -> float | None:
    """Returns the seconds to wait before a retry; None if the response is final."""
    if not response.is_error:
        return None
    return seconds_to_retry(
        response.status_code,
        response.headers,
        response.text,
        now=clock.now().timestamp(),
        again=2.0**attempt,
        attempt=attempt,
    )


def _failed(what: str, response: httpx2.Response) -> Failure:
    return host_failed(
        f"GitHub answers {response.status_code} for {what}", "the job's permissions are in docs/github.md"
    )
