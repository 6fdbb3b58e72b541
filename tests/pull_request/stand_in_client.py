"""A client of the stand-in: gidgethub over httpx2, with a clock that only waiting moves."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx2
from gidgethub.abc import GitHubAPI
from github_stand_in.server import StandIn

from cliffwatch.failure import Failure
from cliffwatch.pull_request.posting import Patience, Poster

BOT = "cliffwatch[bot]"
REPOSITORY = "octocat/linux"
_NONE_KEPT = httpx2.Limits(max_keepalive_connections=0)
"""Each call of a test has an event loop of its own."""
_PATIENT = Patience()


@dataclass
class Moment:
    """The time, for the stand-in and for us."""

    seconds: float = 1_800_000_000.0
    waits: list[float] = field(default_factory=list)


class Client(GitHubAPI):
    """gidgethub's client of a stand-in."""

    def __init__(self, github: StandIn, moment: Moment, timeout: float = 0.25) -> None:
        super().__init__("cliffwatch", base_url=github.url)
        self.http = httpx2.AsyncClient(
            trust_env=False, timeout=httpx2.Timeout(10, read=timeout), limits=_NONE_KEPT
        )
        self.moment = moment

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            answer = await self.http.request(method, url, headers=dict(headers), content=body)
        except httpx2.TransportError as error:
            raise ConnectionError(str(error)) from error
        return answer.status_code, answer.headers, answer.content

    async def sleep(self, seconds: float) -> None:
        self.moment.waits.append(seconds)
        self.moment.seconds += seconds


def speaker(
    github: StandIn, moment: Moment, *, patience: Patience = _PATIENT, timeout: float = 5.0
) -> Poster:
    """As an installation of the app, whose token is made anew when it is refused."""
    installation = next(iter(github.kept.installations.values()))
    tokens: list[str] = []

    async def token(fresh: bool) -> str | Failure:
        if installation.revoked:
            return Failure(
                whose="host", message="the installation was revoked", next_step="install the app again"
            )
        if fresh or not tokens:
            tokens.append(github.kept.token(BOT, installation=installation.identity))
        return tokens[-1]

    api = Client(github, moment, timeout)
    return Poster(api=api, author=BOT, token=token, now=lambda: moment.seconds, patience=patience)
