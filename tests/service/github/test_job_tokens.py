"""Tokens for jobs of GitHub Actions: only what GitHub signed for a publishing job of a listed repository gets
one, once.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from identity_issuer import AUDIENCE, BITS, REPOSITORY, WORKFLOW, Issuer, issuing, public_key, rsa_key
from service_running import Clock, Running, serving
from service_runs import put_all, record_of, run_of

from cliffwatch_service.github.actions.job_tokens import forget_job_tokens
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings, read_settings
from cliffwatch_service.store.github import installations

HOST = "github:kernel/linux"


@dataclass(frozen=True)
class Exchange:
    """A service, and the issuer that it believes."""

    running: Running
    issuer: Issuer

    def post(self, identity: Any, *, fork: Any = False, headers: dict[str, str] | None = None) -> Any:
        with self.running.http(None) as http:
            body = {"identity": identity, "fork": fork}
            return http.post("/api/v1/github/token", json=body, headers=headers)

    def refused(self, identity: Any, status: int) -> str:
        """Why somebody gets nothing."""
        answer = self.post(identity)
        assert answer.status_code == status, answer.text
        assert self.running.rows("SELECT * FROM github_job_token") == []
        detail: str = answer.json()["detail"]
        return detail

    def token(self, *, fork: bool = False, **claims: Any) -> dict[str, Any]:
        answer = self.post(self.issuer.identity(**claims), fork=fork)
        assert answer.status_code == 201, answer.text
        assert answer.headers["cache-control"] == "no-store"
        made: dict[str, Any] = answer.json()
        self.running.tokens["job"] = made["secret"]
        return made


@pytest.fixture
def issuer(clock: Clock) -> Iterator[Issuer]:
    with issuing(clock) as running:
        yield running


@pytest.fixture
def job_settings(tmp_path: Path, issuer: Issuer) -> Settings:
    return Settings(
        data_dir=tmp_path,
        requests_per_minute=100_000,
        pages_url=AUDIENCE,
        github_actions_issuer=issuer.url,
        github_publish_workflows=(WORKFLOW,),
        github_repositories=(REPOSITORY,),
    )


@pytest.fixture
def exchange(database: str, job_settings: Settings, clock: Clock, issuer: Issuer) -> Iterator[Exchange]:
    with serving(database, job_settings, clock) as running:
        yield Exchange(running, issuer)


def encoded(content: Any) -> str:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def test_a_publishing_job_uploads_for_its_repository_and_nothing_else(exchange: Exchange) -> None:
    made = exchange.token()
    assert (made["name"], made["host"]) == (HOST, HOST)
    run, other = (
        run_of(boots=1, cases=1, host=HOST),
        run_of(boots=1, cases=1, seed=9, host="github:bpf/linux"),
    )
    with exchange.running.http("job") as http:
        put_all(http, run)
        refused = http.put(f"/api/v1/runs/{other.digest}", json=record_of(other))
        asked = http.post("/api/v1/requests", json={})
        tokens = http.get("/api/v1/tokens")
    assert (refused.status_code, refused.json()["title"]) == (403, "another host's token")
    assert (asked.status_code, tokens.status_code) == (403, 403)
    (kept,) = exchange.running.get("/runs", "read")["items"]
    assert kept["host"] == HOST
    assert exchange.running.rows("SELECT of_history FROM run") == [{"of_history": False}]


def test_what_a_fork_measured_keeps_the_forks_name(exchange: Exchange) -> None:
    assert exchange.token(fork=True)["host"] == "github-fork:kernel/linux"
    with exchange.running.http("job") as http:
        ours = run_of(boots=1, cases=1, seed=9, host=HOST)
        assert http.put(f"/api/v1/runs/{ours.digest}", json=record_of(ours)).status_code == 403
        put_all(http, run_of(boots=1, cases=1, host="github-fork:kernel/linux"))


def test_a_token_ends_after_a_quarter_of_an_hour(exchange: Exchange) -> None:
    exchange.token()
    run = run_of(boots=1, cases=1, host=HOST)
    exchange.running.clock.pass_(minutes=14, seconds=59)
    with exchange.running.http("job") as http:
        put_all(http, run)
        exchange.running.clock.pass_(seconds=2)
        answer = http.put(f"/api/v1/runs/{run.digest}", json={})
    assert (answer.status_code, "has expired" in answer.json()["detail"]) == (401, True)


def test_an_identity_is_good_once_for_as_long_as_it_lives(exchange: Exchange) -> None:
    identity = exchange.issuer.identity(exp=int(exchange.running.clock.now().timestamp()) + 3000)
    assert exchange.post(identity).status_code == 201
    for minutes in (0, 5, 40):
        exchange.running.clock.pass_(minutes=minutes)
        with exchange.running.service.transaction() as connection:
            forget_job_tokens(connection, exchange.running.clock.now())
        answer = exchange.post(identity)
        assert (answer.status_code, "used before" in answer.json()["detail"]) == (401, True)
    assert len(exchange.running.rows("SELECT * FROM github_job_token")) == 1


def test_what_ended_long_ago_is_forgotten(exchange: Exchange) -> None:
    exchange.token()
    exchange.running.clock.pass_(days=1, minutes=16)
    with exchange.running.service.transaction() as connection:
        assert forget_job_tokens(connection, exchange.running.clock.now()) == 1
    with exchange.running.http("job") as http:
        assert http.put("/api/v1/runs/" + "0" * 64, json={}).status_code == 401


def test_revoking_the_repositorys_token_ends_its_jobs_tokens(exchange: Exchange) -> None:
    exchange.token()
    with exchange.running.http("admin") as http:
        http.delete(f"/api/v1/tokens/{quote(HOST, safe='')}").raise_for_status()
    with exchange.running.http("job") as http:
        assert http.put("/api/v1/runs/" + "0" * 64, json={}).status_code == 401
    again = exchange.post(exchange.issuer.identity())
    assert (again.status_code, "revoked" in again.json()["detail"]) == (403, True)


def test_quotas_count_for_the_repository_and_not_for_each_job(exchange: Exchange) -> None:
    exchange.token()
    exchange.token()
    owners = exchange.running.rows("SELECT DISTINCT token_id FROM github_job_token")
    assert len(owners) == 1
    audit = exchange.running.get("/audit", "admin")["items"]
    assert [each["object"] for each in audit if each["action"] == "job-token"] == [HOST, HOST]


def test_a_name_that_an_administrator_gave_away_is_not_taken_over(exchange: Exchange) -> None:
    exchange.running.token(HOST, "read")
    assert "the operator made a token called" in exchange.refused(exchange.issuer.identity(), 409)


WRONG_CLAIMS: dict[str, tuple[dict[str, Any], int, str]] = {
    "audience": ({"aud": "https://another.example.org"}, 401, "another audience"),
    "several audiences": ({"aud": [AUDIENCE, "https://another.example.org"]}, 401, "another audience"),
    "issuer": ({"iss": "https://token.actions.githubusercontent.com.evil.example"}, 401, "its issuer is not"),
    "no number": ({"jti": None}, 401, "it does not say jti"),
    "no repository": ({"repository_id": None}, 401, "it does not say repository_id"),
    "no end": ({"exp": None}, 401, "it does not say exp"),
    "an endless life": ({"exp": 2**62}, 401, "lives for longer"),
    "an infinite life": ({"exp": float("inf")}, 401, "times are no numbers"),
    "another repository": ({"repository_id": "4712"}, 403, "may not publish here"),
    "a number that is none": ({"repository_id": "4711 "}, 401, "no number of a repository"),
    "a number of another script": ({"repository_id": "٤٧١١"}, 401, "no number of a repository"),
    "a name that is none": ({"repository": "../../x"}, 401, "no name of a repository"),
    "another workflow": (
        {"job_workflow_ref": "kernel/linux/.github/workflows/build.yml@refs/heads/master"},
        403,
        "is none that publishes",
    ),
    "another version of it": (
        {"job_workflow_ref": WORKFLOW.replace("refs/tags/v0.1.0", "refs/pull/1/merge")},
        403,
        "is none that publishes",
    ),
    "a longer name": ({"job_workflow_ref": WORKFLOW + "x"}, 403, "is none that publishes"),
    "a list of workflows": ({"job_workflow_ref": [WORKFLOW]}, 403, "is none that publishes"),
    "a pull request": ({"event_name": "pull_request"}, 403, "publish nothing"),
    "a pull request's target": ({"event_name": "pull_request_target"}, 403, "publish nothing"),
    "a list of events": ({"event_name": ["push"]}, 403, "publish nothing"),
    "a runner of its own": ({"runner_environment": "self-hosted"}, 403, "a runner of GitHub's own"),
    "no word on the runner": ({"runner_environment": None}, 403, "a runner of GitHub's own"),
}


def test_another_job_gets_nothing(exchange: Exchange) -> None:
    for what, (claims, status, words) in WRONG_CLAIMS.items():
        assert words in exchange.refused(exchange.issuer.identity(**claims), status), what


@pytest.mark.parametrize(
    ("seconds", "words"), [(329, None), (331, "has expired"), (-29, None), (-31, "of a later time")]
)
def test_times_are_held_against_the_services_clock(
    exchange: Exchange, seconds: int, words: str | None
) -> None:
    identity = exchange.issuer.identity()
    exchange.running.clock.pass_(seconds=seconds)
    if words is None:
        assert exchange.post(identity).status_code == 201
    else:
        assert words in exchange.refused(identity, 401)


def test_another_key_under_the_same_name_is_refused(exchange: Exchange) -> None:
    assert "its signature is not GitHub's" in exchange.refused(
        exchange.issuer.identity(key="evil", kid="first"), 401
    )


def test_claims_that_were_changed_after_signing_are_refused(exchange: Exchange) -> None:
    head, _, signature = exchange.issuer.identity().split(".")
    forged = f"{head}.{encoded(exchange.issuer.claims(repository='kernel/other'))}.{signature}"
    assert "its signature is not GitHub's" in exchange.refused(forged, 401)


def test_other_algorithms_are_refused_the_public_key_is_no_secret(exchange: Exchange) -> None:
    """As by hand: the library refuses to sign with a public key."""
    pem = (
        rsa_key("first", BITS)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    for algorithm in ("none", "None", "nOnE", "HS256", "PS256", "RS512"):
        signed = (
            f"{encoded({'alg': algorithm, 'typ': 'JWT', 'kid': 'first'})}.{encoded(exchange.issuer.claims())}"
        )
        mac = encoded(hmac.new(pem, signed.encode(), hashlib.sha256).digest())
        for signature in (mac, ""):
            assert "not signed with RS256" in exchange.refused(f"{signed}.{signature}", 401), algorithm
    assert exchange.issuer.asked == 0


def test_a_key_in_the_token_itself_is_nobodys(exchange: Exchange) -> None:
    headers = {"kid": "evil", "jwk": public_key("evil"), "jku": exchange.issuer.url + "/job"}
    forged = jwt.encode(exchange.issuer.claims(), rsa_key("evil", BITS), algorithm="RS256", headers=headers)
    assert "no key of that name" in exchange.refused(forged, 401)


def test_what_is_no_token_is_refused(exchange: Exchange) -> None:
    for junk in ("x", "a.b.c", "..", "é.é.é", encoded(b"[]") + ".e30.e30", encoded(b"[" * 3000) + ".e30."):
        exchange.refused(junk, 401)
    assert exchange.issuer.asked == 0


def test_a_huge_token_is_not_read(exchange: Exchange) -> None:
    assert exchange.post("x" * 9000).status_code == 422
    assert exchange.post("x" * (1 << 20)).status_code == 413
    assert exchange.post("x", headers={"Content-Encoding": "gzip"}).status_code == 415
    assert exchange.issuer.asked == 0


def test_keys_are_fetched_once_and_again_for_a_name_that_is_new(exchange: Exchange) -> None:
    for _ in range(3):
        exchange.token()
    assert exchange.issuer.asked == 1
    exchange.issuer.keys = [public_key("second")]
    exchange.running.clock.pass_(seconds=61)
    exchange.token(key="second")
    assert exchange.issuer.asked == 2
    assert "no key of that name" in exchange.post(exchange.issuer.identity()).json()["detail"]


def test_names_of_keys_that_nobody_has_cost_one_fetch_a_minute(exchange: Exchange) -> None:
    exchange.token()
    for number in range(20):
        exchange.post(exchange.issuer.identity(kid=f"evil-{number}"))
    assert exchange.issuer.asked == 1
    exchange.running.clock.pass_(seconds=61)
    for number in range(20):
        exchange.post(exchange.issuer.identity(kid=f"evil-{number}"))
    assert exchange.issuer.asked == 2


def test_a_key_that_github_withdrew_is_good_for_no_more_than_an_hour(exchange: Exchange) -> None:
    exchange.token()
    exchange.issuer.keys = [public_key("second")]
    exchange.running.clock.pass_(minutes=61)
    assert "no key of that name" in exchange.post(exchange.issuer.identity()).json()["detail"]


UNREADABLE: list[tuple[int, bytes | None]] = [
    (500, None),
    (302, None),
    (200, b"<html>"),
    (200, b"[]"),
    (200, b'{"keys": []}'),
    (200, b'{"keys": [{"kty": "RSA", "kid": "first", "n": 5, "e": []}, 3]}'),
    (200, b"[" * 100_000),
    (200, b'{"keys": "' + b"x" * 300_000 + b'"}'),
]


def test_keys_that_cannot_be_read_are_said_and_asked_for_again(exchange: Exchange) -> None:
    for number, (status, content) in enumerate(UNREADABLE, 1):
        exchange.issuer.status, exchange.issuer.content = status, content
        for _ in range(3):
            assert "keys that GitHub signs" in exchange.refused(exchange.issuer.identity(), 503)
        assert exchange.issuer.asked == number
        exchange.running.clock.pass_(seconds=11)
    exchange.issuer.status, exchange.issuer.content = 200, None
    assert exchange.post(exchange.issuer.identity()).status_code == 201


def test_an_issuer_that_is_away_is_a_clear_problem(
    database: str, job_settings: Settings, clock: Clock
) -> None:
    settings = job_settings.model_copy(update={"github_actions_issuer": "http://127.0.0.1:1"})
    with issuing(clock) as issuer, serving(database, settings, clock) as running:
        detail = Exchange(running, issuer).refused(issuer.identity(), 503)
    assert "CLIFFWATCH_GITHUB_ACTIONS_ISSUER" in detail


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_weak_keys_and_keys_for_other_uses_sign_nothing(exchange: Exchange) -> None:
    exchange.issuer.keys = [
        public_key("weak", 1024),
        {**public_key("sealing"), "use": "enc"},
        public_key("first"),
    ]
    weak = jwt.api_jws.PyJWS(options={"enforce_minimum_key_length": False})
    signed = weak.encode(
        json.dumps(exchange.issuer.claims()).encode(), rsa_key("weak", 1024), "RS256", headers={"kid": "weak"}
    )
    assert "no key of that name" in exchange.refused(signed, 401)
    assert "no key of that name" in exchange.refused(exchange.issuer.identity(key="sealing"), 401)


def test_a_workflow_can_be_named_by_its_commit(
    database: str, job_settings: Settings, clock: Clock, issuer: Issuer
) -> None:
    by_commit = WORKFLOW.rpartition("@")[0] + "@" + "5" * 40
    settings = job_settings.model_copy(update={"github_publish_workflows": (by_commit,)})
    with serving(database, settings, clock) as running:
        exchange = Exchange(running, issuer)
        assert "is none that publishes" in exchange.refused(issuer.identity(job_workflow_sha="6" * 40), 403)
        exchange.token()


def test_repositories_that_the_app_reaches_are_listed_and_no_longer_than_it_does(
    database: str, job_settings: Settings, clock: Clock, issuer: Issuer
) -> None:
    settings = job_settings.model_copy(update={"github_repositories": ()})
    with serving(database, settings, clock) as running:
        exchange = Exchange(running, issuer)
        assert "install the App on it" in exchange.refused(issuer.identity(), 403)
        with running.service.transaction() as connection:
            installations.keep_installation(connection, 1, "kernel", "active", clock.now())
            installations.keep_repositories(connection, 1, [(REPOSITORY, "kernel/linux")])
        exchange.token()
        with running.service.transaction() as connection:
            installations.set_installation_state(connection, 1, "suspended", clock.now())
        assert exchange.post(issuer.identity()).status_code == 403


def test_a_service_that_names_no_workflow_gives_no_tokens(
    database: str, job_settings: Settings, clock: Clock, issuer: Issuer
) -> None:
    settings = job_settings.model_copy(update={"github_publish_workflows": ()})
    with serving(database, settings, clock) as running:
        assert "CLIFFWATCH_GITHUB_PUBLISH_WORKFLOWS" in Exchange(running, issuer).refused(
            issuer.identity(), 403
        )
    assert issuer.asked == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_PUBLISH_WORKFLOWS", "cliffwatch/cliffwatch/.github/workflows/publish.yml"),
        ("GITHUB_PUBLISH_WORKFLOWS", "cliffwatch/cliffwatch/.github/workflows/publish.yml@*"),
        ("GITHUB_REPOSITORIES", "kernel/linux"),
        ("GITHUB_REPOSITORIES", "-1"),
        ("GITHUB_ACTIONS_ISSUER", "http://token.example.org"),
    ],
)
def test_settings_that_would_let_others_in_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    monkeypatch.setenv(f"CLIFFWATCH_{name}", value)
    with pytest.raises(Refusal, match="setting"):
        read_settings(data_dir=tmp_path)


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(
        "CLIFFWATCH_GITHUB_PUBLISH_WORKFLOWS", f"{WORKFLOW}, {WORKFLOW.rpartition('@')[0]}@{'a' * 40}"
    )
    monkeypatch.setenv("CLIFFWATCH_GITHUB_REPOSITORIES", "4711 4712")
    settings = read_settings(data_dir=tmp_path)
    assert len(settings.github_publish_workflows) == 2
    assert settings.github_repositories == (4711, 4712)
