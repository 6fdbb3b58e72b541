"""A token of the service for a workflow's job, against GitHub's word on which job it is (OIDC): nothing is stored anywhere."""

from collections.abc import Mapping

import httpx2

from cliffwatch.failure import Failure
from cliffwatch_runner.upload.client import Answered, Client, Refused

REQUEST_URL, REQUEST_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)


def service_token(service: str, environment: Mapping[str, str]) -> str | Failure:
    """Asks GitHub who this job is, for the service alone, and the service for a token that uploads as that job."""
    url, token = environment.get(REQUEST_URL), environment.get(REQUEST_TOKEN)
    if not url or not token:
        return Failure(
            whose="usage",
            message="GitHub gives this job no identity token",
            next_step="give it the permission id-token: write, or name a token of the service in CLIFFWATCH_TOKEN",
        )
    identity = _identity(url, token, service.rstrip("/"))
    if isinstance(identity, Failure):
        return identity
    client = Client(service, None)
    try:
        reply = client.post("/github/tokens", {"identity": identity})
    finally:
        client.close()
    if isinstance(reply, Answered):
        return str(reply.body["token"])
    why = reply.detail if isinstance(reply, Refused) else reply.reason
    return Failure(
        whose="usage" if isinstance(reply, Refused) else "host",
        message=f"the service gives this job no token: {why}",
        next_step="ask its administrator to trust this repository's workflow",
    )


def _identity(url: str, token: str, audience: str) -> str | Failure:
    try:
        answered = httpx2.get(
            httpx2.URL(url).copy_add_param("audience", audience),
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT,
        )
        return str(answered.raise_for_status().json()["value"])
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError) as error:
        return Failure(
            whose="host",
            message=f"GitHub gives this job no identity token: {type(error).__name__}",
            next_step="start the job again",
        )
