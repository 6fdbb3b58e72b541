"""Endpoints for GitHub: its webhooks, and tokens for jobs of GitHub Actions.

A webhook's signature is checked, its delivery is stored once, and background tasks do the work.
"""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import APIRouter, Header, Request
from fastapi.responses import Response
from prometheus_client import Counter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from cliffwatch_service.api.answers import answer
from cliffwatch_service.api.documents import plain_json
from cliffwatch_service.github.actions.identities import LARGEST_TOKEN, Expected, read_identity
from cliffwatch_service.github.actions.job_tokens import make_job_token
from cliffwatch_service.github.app.files import app_files
from cliffwatch_service.github.webhooks.deliveries import Delivery, take_delivery
from cliffwatch_service.github.webhooks.signatures import signed_by_any
from cliffwatch_service.http.bodies import body_content
from cliffwatch_service.http.context import PREFIX, Allowed, Service, ServiceHere
from cliffwatch_service.refusal import Refusal

router = APIRouter(prefix=PREFIX, tags=["github"])
_log = structlog.get_logger("cliffwatch.github")

WEBHOOKS = Counter("cliffwatch_github_webhooks", "Webhooks by what became of them", ["outcome"])

EventName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,100}$")]


class DeliveryReceipt(BaseModel):
    """`fresh` is false if the delivery was received before. Then nothing is done again."""

    fresh: bool


@router.post(
    "/github/webhook",
    summary="A webhook of the GitHub App",
    status_code=202,
    responses={202: {"model": DeliveryReceipt}},
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    },
)
async def take_webhook(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    event: Annotated[EventName, Header(alias="X-GitHub-Event")],
    delivery: Annotated[UUID, Header(alias="X-GitHub-Delivery")],
    signature: Annotated[str, Header(alias="X-Hub-Signature-256", max_length=100)],
) -> Response:
    body = await body_content(request)
    fresh = await run_in_threadpool(_store_delivery, service, body, signature, event, delivery)
    return answer(request, {"fresh": fresh}, status=202)


def _store_delivery(service: Service, body: bytes, signature: str, event: str, identity: UUID) -> bool:
    secrets = app_files(service.settings).accepted_secrets(service.now())
    if not signed_by_any(body, signature, secrets):
        WEBHOOKS.labels("refused").inc()
        _log.warning("webhook refused", gh_event=event, delivery=str(identity), set_up=bool(secrets))
        detail = (
            "the signature does not match this App's webhook secret"
            if secrets
            else "no App is set up: run `cliffwatch github setup`"
        )
        raise Refusal(401, "signature refused", detail)
    delivery = Delivery(identity=identity, event=event, payload=plain_json(body))
    with service.transaction() as connection:
        fresh = take_delivery(connection, delivery, service.settings.github_web, service.now())
    WEBHOOKS.labels("taken" if fresh else "known").inc()
    _log.info("webhook", gh_event=event, delivery=str(identity), fresh=fresh)
    return fresh


class IdentityBody(BaseModel):
    """The identity of a GitHub Actions job.

    - `identity`: the OIDC token that GitHub gave the job.
    - `fork`: whether a fork's workflow measured the results.
    """

    model_config = ConfigDict(extra="forbid")

    identity: Annotated[str, Field(min_length=1, max_length=LARGEST_TOKEN)]
    fork: bool


class JobTokenMade(BaseModel):
    """A token whose `secret` can upload results of `host` only, until it expires."""

    name: str
    secret: str
    host: str
    expires: datetime


@router.post(
    "/github/token",
    summary="Make a token for a job of GitHub Actions from the identity that GitHub signed",
    status_code=201,
    responses={201: {"model": JobTokenMade}},
)
def new_job_token(body: IdentityBody, request: Request, service: ServiceHere, _: Allowed) -> Response:
    settings, now = service.settings, service.now()
    if not settings.github_publish_workflows:
        raise Refusal(
            403,
            "no publishing job",
            "this service makes no tokens for jobs: ask its operator to set"
            " CLIFFWATCH_GITHUB_PUBLISH_WORKFLOWS, or store a token as a secret of the workflow",
        )
    expected = Expected(
        issuer=settings.github_actions_issuer,
        audience=settings.github_actions_audience or settings.pages_url,
        workflows=frozenset(settings.github_publish_workflows),
    )
    job = read_identity(
        body.identity, lambda name: service.signing_keys.key(name, expected.issuer, now), expected, now
    )
    with service.transaction() as connection:
        made = make_job_token(connection, settings, job, fork=body.fork, now=now)
    _log.info("job token", repository=job.name, run=job.run, token=made.name)
    response = answer(request, asdict(made), status=201)
    response.headers["Cache-Control"] = "no-store"
    return response
