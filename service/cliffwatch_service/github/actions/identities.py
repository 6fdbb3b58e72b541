"""Verifies the identity token (OIDC) that GitHub Actions signs for a job."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.github.webhooks.looks import is_repository_name
from cliffwatch_service.refusal import Refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

EVENTS = frozenset({"workflow_run", "push", "workflow_dispatch"})
"""Events whose workflows may publish.

Workflows of pull requests are written by their authors. `pull_request_target` is used nowhere.
"""

LARGEST_TOKEN = 8192
LEEWAY_SECONDS = 30
LONGEST_LIFE_SECONDS = 3600
"""Longest accepted lifetime. It bounds how long used token numbers (`jti`) must be remembered."""

_REQUIRED = [
    "iss",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    "repository",
    "repository_id",
    "event_name",
    "job_workflow_ref",
]
_NUMBER = re.compile(r"[1-9][0-9]{0,18}")
_PLAIN = re.compile(r"[!-~]{1,200}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Required claims of an identity token."""

    issuer: str
    audience: str
    workflows: frozenset[str]
    """Workflows that may publish, as OWNER/NAME/.github/workflows/FILE@REF."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIdentity:
    """A job of a repository."""

    repository: int
    """GitHub's number of the repository."""
    name: str
    """OWNER/NAME."""
    run: str
    """Id of the workflow run, as text for the audit."""
    jti: str
    """Number of the identity token."""


def read_identity(
    token: str, key_named: "Callable[[str], RSAPublicKey | None]", expected: Expected, now: datetime
) -> JobIdentity:
    """Verifies an identity token and returns its job.

    Raises Refusal: 401 for an invalid token, 403 for a job that may not publish.
    """
    import jwt  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

    key = key_named(_name_of_key(token))
    if key is None:
        raise _refuse_identity("GitHub signs with no key of that name: ask GitHub for a new one")
    try:
        # `_refuse_time` checks the times against the service's own clock.
        claims: FreeJson = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            audience=expected.audience,
            issuer=expected.issuer,
            options={
                "require": _REQUIRED,
                "strict_aud": True,
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except jwt.InvalidAudienceError:
        raise _refuse_identity(
            f"it is for another audience than {expected.audience!r}: name the service by that address, which"
            " is its CLIFFWATCH_GITHUB_ACTIONS_AUDIENCE or CLIFFWATCH_PAGES_URL"
        ) from None
    except jwt.InvalidIssuerError:
        raise _refuse_identity(f"its issuer is not {expected.issuer}") from None
    except jwt.MissingRequiredClaimError as error:
        raise _refuse_identity(f"it does not say {error.claim}") from None
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise _refuse_identity("its signature is not GitHub's, or it is no token at all") from None
    _refuse_time(claims, now)
    _refuse_job(claims, expected.workflows)
    return _identity(claims)


def _name_of_key(token: str) -> str:
    """Returns the key name that a token claims. Refuses malformed tokens before any key is fetched."""
    import jwt  # noqa: PLC0415 - 15 MB, which a service without a GitHub App does without

    if len(token) > LARGEST_TOKEN:
        raise _refuse_identity(f"it has more than {LARGEST_TOKEN} characters")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise _refuse_identity("it is no JSON Web Token") from None
    name = header.get("kid")
    if header.get("alg") != "RS256" or not isinstance(name, str) or not _PLAIN.fullmatch(name):
        raise _refuse_identity("it is not signed with RS256 and a key that it names, as GitHub's are")
    return name


def _refuse_time(claims: FreeJson, now: datetime) -> None:
    times = [claims[name] for name in ("iat", "nbf", "exp")]
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in times):
        raise _refuse_identity("its times are no numbers")
    issued, begins, ends = times
    second = now.timestamp()
    if second >= ends + LEEWAY_SECONDS:
        raise _refuse_identity("it has expired: ask GitHub for a new one just before it is used")
    if second < max(begins, issued) - LEEWAY_SECONDS:
        raise _refuse_identity("it is of a later time: have the operator set the service's clock")
    if ends - issued > LONGEST_LIFE_SECONDS:
        raise _refuse_identity("it lives for longer than an hour, which GitHub's do not")


def _refuse_job(claims: FreeJson, workflows: frozenset[str]) -> None:
    if str(claims["event_name"]) not in EVENTS:
        raise _refuse_publishing(f"jobs of the event {_show_claim(claims['event_name'])} publish nothing")
    # A self-hosted runner may have built a stranger's tree before, and any runner can carry any `runs-on`
    # label.
    if claims.get("runner_environment") != "github-hosted":
        raise _refuse_publishing("it does not run on a runner of GitHub's own")
    reference = str(claims["job_workflow_ref"])
    pinned = f"{reference.rpartition('@')[0]}@{claims.get('job_workflow_sha')}"
    by_commit = _COMMIT.fullmatch(str(claims.get("job_workflow_sha"))) and pinned in workflows
    if reference not in workflows and not by_commit:
        raise _refuse_publishing(
            f"its workflow {_show_claim(reference)} is none that publishes here: call one of"
            " CLIFFWATCH_GITHUB_PUBLISH_WORKFLOWS"
        )


def _identity(claims: FreeJson) -> JobIdentity:
    number, name, jti = (claims[key] for key in ("repository_id", "repository", "jti"))
    if not isinstance(number, str) or not _NUMBER.fullmatch(number):
        raise _refuse_identity("it has no number of a repository")
    if not isinstance(name, str) or not is_repository_name(name):
        raise _refuse_identity("it has no name of a repository")
    if not isinstance(jti, str) or not _PLAIN.fullmatch(jti):
        raise _refuse_identity("it has no number of its own (jti)")
    return JobIdentity(repository=int(number), name=name, run=_show_claim(claims.get("run_id")), jti=jti)


def _show_claim(value: object) -> str:
    return ascii(str(value)[:200])[1:-1]


def _refuse_identity(why: str) -> Refusal:
    return Refusal(401, "identity refused", f"the job's identity token is not taken: {why}")


def _refuse_publishing(why: str) -> Refusal:
    return Refusal(403, "no publishing job", f"this job gets no token: {why}")
