"""Sign-in with GitHub, whose pages and API are played here: who comes in, and who does not."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from listening import listening, port_of
from service_running import Running
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings, read_settings
from cliffwatch_service.store import tokens

ANNA = 583231
SECRET = "the client's secret"


@dataclass
class GitHubPlayed:
    """GitHub's side of the web flow, with answers as its documentation shows them."""

    url: str = ""
    account: dict[str, Any] = field(default_factory=lambda: {"login": "anna", "id": ANNA, "type": "User"})
    challenges: dict[str, str] = field(default_factory=dict)
    """By code: the PKCE challenge that it was asked for with. Each is good once."""
    redirected: set[str] = field(default_factory=set)

    def allow(self, url: str) -> dict[str, str]:
        """The person says yes on GitHub's page. Returns what GitHub adds to the callback."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["client_id"] == "Iv1.client"
        assert asked["code_challenge_method"] == "S256"
        assert "scope" not in asked
        self.redirected.add(asked["redirect_uri"])
        code = f"code-{len(self.challenges)}"
        self.challenges[code] = asked["code_challenge"]
        return {"code": code, "state": asked["state"]}

    async def token(self, request: Request) -> JSONResponse:
        asked = await request.json()
        assert request.headers["accept"] == "application/json"
        challenge = urlsafe_b64encode(hashlib.sha256(asked["code_verifier"].encode()).digest())
        expected = self.challenges.pop(asked["code"], None)
        if asked["client_secret"] != SECRET or challenge.rstrip(b"=").decode() != expected:
            said = "The code passed is incorrect or expired."
            return JSONResponse({"error": "bad_verification_code", "error_description": said})
        return JSONResponse({"access_token": "gho_16C7", "scope": "", "token_type": "bearer"})

    async def user(self, request: Request) -> JSONResponse:
        if request.headers.get("authorization") not in ("token gho_16C7", "Bearer gho_16C7"):
            return JSONResponse({"message": "Bad credentials"}, 401)
        return JSONResponse(self.account)


@pytest.fixture
def github() -> Iterator[GitHubPlayed]:
    played = GitHubPlayed()
    routes = [
        Route("/login/oauth/access_token", played.token, methods=["POST"]),
        Route("/api/user", played.user),
    ]
    config = uvicorn.Config(Starlette(routes=routes), port=0, log_config=None, lifespan="off")
    with listening(config) as server:
        played.url = f"http://127.0.0.1:{port_of(server)}"
        yield played


@pytest.fixture
def service(serve_with: Any, github: GitHubPlayed) -> Iterator[Running]:
    with serve_with(
        github_web=github.url,
        github_api=f"{github.url}/api",
        github_client_id="Iv1.client",
        github_client_secret=SECRET,
        github_triagers=(ANNA,),
        pages_url="https://cliffwatch.example.org",
    ) as running:
        yield running


def begin(http: Any, next_page: str = "/") -> str:
    """Presses the button; returns the address of GitHub's page."""
    answer = http.get("/sign-in/github", params={"next": next_page})
    assert answer.status_code == 303
    location: str = answer.headers["location"]
    return location


def come_back(http: Any, given: dict[str, str]) -> Any:
    return http.get("/sign-in/github/callback", params=given)


def signed_in(http: Any) -> bool:
    return "Sign out" in http.get("/").text


def test_a_listed_account_signs_in_for_triage_and_nothing_else(
    service: Running, github: GitHubPlayed
) -> None:
    with service.http(None) as http:
        assert "Sign in with GitHub" in http.get("/sign-in").text
        answer = come_back(http, github.allow(begin(http, "/regressions")))
        assert (answer.status_code, answer.headers["location"]) == (303, "/regressions")
        assert github.redirected == {"https://cliffwatch.example.org/sign-in/github/callback"}
        assert "github-user:anna" in http.get("/").text
    (token,) = [row for row in service.rows("SELECT * FROM token") if row["name"] == "github-user:anna"]
    assert token["scopes"] == ["triage"]
    assert SECRET not in str(service.rows("SELECT * FROM audit"))


def test_another_account_is_refused_with_its_number(service: Running, github: GitHubPlayed) -> None:
    """Even one that took the login which a listed account gave up."""
    github.account["id"] = 99
    with service.http(None) as http:
        answer = come_back(http, github.allow(begin(http)))
        assert answer.status_code == 403
        assert "add 99 to CLIFFWATCH_GITHUB_TRIAGERS" in answer.text
        assert not signed_in(http)


def test_a_sign_in_that_another_browser_began_is_refused(service: Running, github: GitHubPlayed) -> None:
    with service.http(None) as attacker, service.http(None) as victim:
        given = github.allow(begin(attacker))
        assert come_back(victim, given).status_code == 403
        begin(victim)
        assert come_back(victim, given).status_code == 403
        assert come_back(victim, {"code": given["code"]}).status_code == 403
        assert not signed_in(victim)


def test_a_stolen_code_is_worth_nothing_without_the_verifier(service: Running, github: GitHubPlayed) -> None:
    with service.http(None) as owner, service.http(None) as thief:
        code = github.allow(begin(owner))["code"]
        own = github.allow(begin(thief))
        answer = come_back(thief, {**own, "code": code})
        assert answer.status_code == 502
        assert "incorrect or expired" in answer.text
        assert not signed_in(thief)


def test_a_sign_in_is_good_once_and_for_ten_minutes(service: Running, github: GitHubPlayed) -> None:
    with service.http(None) as http:
        given = github.allow(begin(http))
        cookies = dict(http.cookies)
        service.clock.pass_(minutes=11)
        assert come_back(http, given).status_code == 403
        given = github.allow(begin(http))
        assert come_back(http, given).status_code == 303
        assert come_back(http, given).status_code == 403, "the cookie went with it"
        assert cookies


def test_who_declines_reads_why(service: Running, github: GitHubPlayed) -> None:
    with service.http(None) as http:
        state = github.allow(begin(http))["state"]
        answer = come_back(http, {"state": state, "error_description": "The user has <b>denied</b>"})
        assert answer.status_code == 403
        assert "&lt;b&gt;denied" in answer.text


def test_a_revoked_person_stays_out_whatever_his_login(service: Running, github: GitHubPlayed) -> None:
    with service.http(None) as http:
        come_back(http, github.allow(begin(http)))
        assert signed_in(http)
        with service.service.transaction() as connection:
            assert tokens.revoke_token(connection, "github-user:anna", service.clock.now())
        assert not signed_in(http)
        github.account["login"] = "anna-2"
        assert come_back(http, github.allow(begin(http))).status_code == 401
        assert not signed_in(http)


def test_the_page_to_return_to_is_of_this_site(service: Running, github: GitHubPlayed) -> None:
    with service.http(None) as http:
        answer = come_back(http, github.allow(begin(http, "//evil.example.org")))
        assert answer.headers["location"] == "/"


def test_a_service_without_a_client_offers_none(running: Running) -> None:
    with running.http(None) as http:
        assert "GitHub" not in http.get("/sign-in").text
        assert http.get("/sign-in/github").status_code == 403
        assert come_back(http, {"code": "a", "state": "b"}).status_code == 403


def test_a_client_needs_its_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("CLIFFWATCH_GITHUB_CLIENT_ID", "Iv1.client")
    with pytest.raises(Refusal, match="CLIFFWATCH_GITHUB_CLIENT_SECRET"):
        read_settings(data_dir=tmp_path)
    monkeypatch.setenv("CLIFFWATCH_GITHUB_CLIENT_SECRET", SECRET)
    assert SECRET not in repr(read_settings(data_dir=tmp_path))
    assert Settings.model_fields["github_triagers"].default == ()
