"""Sets up the App and rotates its private key and webhook secret."""

import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cliffwatch.failure import Failure, HttpFailure, host_failed, wrong_usage
from cliffwatch_service.github.app.files import AppFiles, AppIdentity, WebhookSecret, find_key_problem
from cliffwatch_service.github.calling import Answer, GitHub

OVERLAP = timedelta(hours=1)
"""How long a replaced webhook secret is still accepted: deliveries in flight and redeliveries use it."""

_IN_ADDRESS = re.compile(r"[?&]code=([^&\s]+)")
_CODE = re.compile(r"[A-Za-z0-9]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedApp:
    """The App that GitHub made from a manifest."""

    identity: AppIdentity
    pem: str = field(repr=False)
    webhook_secret: str = field(repr=False)


def extract_code(pasted: str) -> str | Failure:
    """Extracts the code from pasted text: the code itself or the URL that the browser ended at."""
    found = _IN_ADDRESS.search(pasted)
    code = found[1] if found else pasted.strip()
    if _CODE.fullmatch(code):
        return code
    return wrong_usage(
        "this holds no code", "paste the address at which the browser ended, or what follows code= in it"
    )


def convert_code(github: GitHub, code: str) -> ConvertedApp | Failure:
    """Exchanges a code for the App's key and secret. GitHub accepts a code once, within an hour."""
    reply = github.without_login("POST", f"/app-manifests/{code}/conversions")
    if isinstance(reply, HttpFailure):
        return replace(reply, next_step="GitHub takes a code once and within an hour: begin anew")
    try:
        body = reply.body
        identity = AppIdentity(
            id=int(body["id"]),
            slug=str(body["slug"]),
            name=str(body["name"]),
            owner=str(body["owner"]["login"]),
            page=str(body["html_url"]),
        )
        pem, secret = str(body["pem"]), body["webhook_secret"]
    except (TypeError, KeyError, ValueError):
        return host_failed("GitHub's answer holds no App", "begin anew")
    # GitHub generates a secret if the manifest names a webhook. If it did not, generate one here.
    return find_key_problem(pem) or ConvertedApp(
        identity=identity, pem=pem, webhook_secret=str(secret) if secret else secrets.token_urlsafe(32)
    )


def keep_app(github: GitHub, files: AppFiles, made: ConvertedApp, webhook_url: str) -> Failure | None:
    """Stores the App, then configures its webhooks: JSON, signed with the secret, TLS verified."""
    files.keep_private_key(made.pem)
    files.keep_webhook_secrets((WebhookSecret(secret=made.webhook_secret, until=None),))
    files.keep_identity(made.identity)
    return _configure(github, made.webhook_secret, webhook_url)


def rotate_webhook_secret(github: GitHub, files: AppFiles, webhook_url: str, now: datetime) -> Failure | None:
    """Replaces the webhook secret.

    Both secrets are accepted from before GitHub gets the new one until `OVERLAP` after.
    """
    before = tuple(each for each in files.webhook_secrets() if each.holds(now))
    fresh = secrets.token_urlsafe(32)
    files.keep_webhook_secrets((WebhookSecret(secret=fresh, until=None), *before))
    failure = _configure(github, fresh, webhook_url)
    if failure is not None:
        return failure  # GitHub may have stored the new secret: both stay valid until the next rotation
    ending = tuple(WebhookSecret(secret=each.secret, until=each.until or now + OVERLAP) for each in before)
    files.keep_webhook_secrets((WebhookSecret(secret=fresh, until=None), *ending))
    return None


def rotate_private_key(github: GitHub, files: AppFiles, pem: str) -> Failure | None:
    """Replaces the private key with one made on the App's page, after GitHub has accepted it."""
    refused = find_key_problem(pem)
    if refused is not None:
        return refused
    reply = github.as_app("GET", "/app", key=pem)
    if isinstance(reply, HttpFailure):
        return replace(
            reply, next_step="name a key that was made on this App's page; the one before is still in use"
        )
    files.keep_private_key(pem)
    return None


def _configure(github: GitHub, secret: str, webhook_url: str) -> Failure | None:
    config = {"url": webhook_url, "content_type": "json", "insecure_ssl": "0", "secret": secret}
    reply = github.as_app("PATCH", "/app/hook/config", config)
    if isinstance(reply, Answer):
        return None
    return replace(reply, next_step="run `cliffwatch github rotate webhook-secret` once GitHub answers")
