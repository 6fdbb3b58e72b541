"""GitHub's issuer of identities (OIDC), played: it signs for jobs and shows its keys over HTTP, on this
machine.
"""

import http.server
import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from service_running import Clock

WORKFLOW = "cliffwatch/cliffwatch/.github/workflows/publish.yml@refs/tags/v0.1.0"
REPOSITORY = 4711
AUDIENCE = "https://cliffwatch.example.org"
BITS = 2048
JOB_SECRET = "what a job asks for its identity with"


@cache
def rsa_key(name: str, bits: int) -> rsa.RSAPrivateKey:
    """A key of this name, the same for the whole test run: making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_key(name: str, bits: int = BITS) -> dict[str, Any]:
    found: dict[str, Any] = RSAAlgorithm.to_jwk(rsa_key(name, bits).public_key(), as_dict=True)
    return {**found, "kid": name, "use": "sig", "alg": "RS256"}


@dataclass
class Issuer:
    """`keys` are shown at the address of keys, `status` what it answers there with; `asked` counts how often
    somebody looked.
    """

    url: str
    clock: Clock
    keys: list[dict[str, Any]] = field(default_factory=lambda: [public_key("first")])
    status: int = 200
    content: bytes | None = None
    asked: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    identities: list[str] = field(default_factory=list)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """What GitHub says of a publishing job; None takes a claim out."""
        now = int(self.clock.now().timestamp())
        said = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "repo:kernel/linux:ref:refs/heads/master",
            "iat": now,
            "nbf": now - 600,
            "exp": now + 300,
            "jti": str(uuid.uuid4()),
            "repository": "kernel/linux",
            "repository_id": str(REPOSITORY),
            "event_name": "workflow_run",
            "job_workflow_ref": WORKFLOW,
            "job_workflow_sha": "5" * 40,
            "runner_environment": "github-hosted",
            "run_id": "6000",
            **self.more,
            **changed,
        }
        return {name: value for name, value in said.items() if value is not None}

    def identity(self, *, key: str = "first", kid: str | None = None, **changed: Any) -> str:
        return jwt.encode(
            self.claims(**changed), rsa_key(key, BITS), algorithm="RS256", headers={"kid": kid or key}
        )

    def job_address(self) -> str:
        """Where a job asks for its identity, as GitHub's runner says it."""
        return f"{self.url}/job?api-version=2.0"


@contextmanager
def issuing(clock: Clock) -> Iterator[Issuer]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == "/.well-known/jwks":
                issuer.asked += 1
                content = issuer.content or json.dumps({"keys": issuer.keys}).encode()
                self.answer(issuer.status, content)
            elif asked.path == "/job" and self.headers["Authorization"] == f"Bearer {JOB_SECRET}":
                (audience,) = parse_qs(asked.query)["audience"]
                assert parse_qs(asked.query)["api-version"] == ["2.0"]
                issuer.identities.append(issuer.identity(aud=audience))
                self.answer(200, json.dumps({"count": 1, "value": issuer.identities[-1]}).encode())
            else:
                self.answer(401, b"{}")

        def answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer = Issuer(f"http://127.0.0.1:{server.server_port}", clock)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
