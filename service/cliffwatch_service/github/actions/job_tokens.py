"""Tokens for jobs of GitHub Actions. Each uploads for one repository and trust and expires after 15 minutes.

Every repository and trust also has a permanent token that nobody holds. It owns the uploaded runs, quotas
count under it, and revoking it ends all job tokens of that repository and trust.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch_service.access.tokens import TOKEN_PREFIX, hash_token
from cliffwatch_service.github.actions.identities import JobIdentity
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import tokens
from cliffwatch_service.store.github import installations, job_tokens

LASTING = timedelta(minutes=15)
KEPT = timedelta(days=1)
"""How long used identity tokens are remembered. None of them is valid for that long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobToken:
    """A new token for a job."""

    name: str
    secret: str
    host: str
    """The only host name that the job may upload under."""
    expires: datetime


def make_job_token(
    connection: Connection[Any], settings: Settings, job: JobIdentity, *, fork: bool, now: datetime
) -> JobToken:
    """Makes a token for a job. `fork`: a fork's workflow measured the uploads. Raises Refusal."""
    _refuse_other_repository(connection, settings, job)
    host = f"{'github-fork' if fork else 'github'}:{job.name}"
    owner = job_tokens.keep_owner(connection, host, now)
    if owner is None:
        raise Refusal(
            409,
            "name taken",
            f"the operator made a token called {host!r}, as this repository's would be: upload with that one",
        )
    if owner.revoked is not None:
        raise Refusal(403, "token refused", f"the operator revoked {host!r}: its jobs upload nothing here")
    secret, expires = TOKEN_PREFIX + secrets.token_urlsafe(32), now + LASTING
    used = hashlib.sha256(job.jti.encode()).digest()
    if not job_tokens.insert_job_token(connection, owner.id, hash_token(secret), used, expires, now):
        raise Refusal(
            401,
            "identity refused",
            "this identity token was used before: ask GitHub for a new one, each is good once",
        )
    detail = {"repository": job.repository, "run": job.run, "expires": expires.isoformat()}
    tokens.write_audit(
        connection, who=f"GitHub Actions of {job.name}", action="job-token", what=host, detail=detail, now=now
    )
    return JobToken(name=host, secret=secret, host=host, expires=expires)


def _refuse_other_repository(connection: Connection[Any], settings: Settings, job: JobIdentity) -> None:
    """Checks the repository by number: a deleted repository's name may be taken by somebody else."""
    if job.repository in settings.github_repositories:
        return
    row = installations.repository_row(connection, job.repository)
    if row is None or not row.allowed or row.installation_state != "active":
        raise Refusal(
            403,
            "repository not listed",
            f"{job.name} may not publish here: install the App on it, or have the operator add"
            f" {job.repository} to CLIFFWATCH_GITHUB_REPOSITORIES",
        )


def forget_job_tokens(connection: Connection[Any], now: datetime) -> int:
    """Removes the tokens that expired more than `KEPT` ago; returns how many."""
    return job_tokens.remove_job_tokens(connection, now - KEPT)
