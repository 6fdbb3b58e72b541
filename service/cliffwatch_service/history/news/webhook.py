"""Sends signed webhooks, only to addresses that the settings allow.

Follows no redirects and uses no proxy from the environment. Reads only the status and Retry-After of a
response.
"""

import asyncio
import hashlib
import hmac
from datetime import datetime

import orjson

from cliffwatch_service.history.news.sending import NotSent, Sent
from cliffwatch_service.history.news.wording import NewsContent, case_name, headline, sentence
from cliffwatch_service.runtime.destinations import allows_webhook
from cliffwatch_service.runtime.settings import Settings

VERSION = 1
"""Version of the body (docs/news.md). Members may be added; changing or removing one needs a new version."""

_SECONDS = 10.0
_MOST_CHANGES = 100


def body_of(whole: NewsContent) -> bytes:
    """Returns the body as JSON, identical for every attempt."""
    news = whole.news
    return orjson.dumps(
        {
            "version": VERSION,
            "news": news.digest,
            "kind": news.kind,
            "at": news.at,
            "headline": headline(news),
            "sentence": sentence(news),
            "report": {
                "report": news.report,
                "page": whole.page,
                "picture": whole.picture,
                "state": news.state,
                "base": news.base,
                "head": news.head,
                "culprit": news.head if news.named else None,
                "subject": news.subject,
                "author": news.author,
                "fix": news.fix,
                "fix_base": news.fix_base,
                "cases": news.cases,
                "worst": news.worst,
                "summary": news.summary,
                "apart": news.apart,
                "platforms": news.platforms,
                "suites": news.suites,
            },
            "functions": [
                {
                    "case": block.case,
                    "sentence": block.sentence,
                    "functions": [
                        {"name": row.name, "base": row.base, "head": row.head, "change": row.change}
                        for row in block.rows
                    ],
                    "also": block.also,
                }
                for block in whole.causes
            ],
            "changes": [
                {
                    "case": case_name(each),
                    "metric": each.metric,
                    "unit": each.unit,
                    "platform": each.platform,
                    "mode": each.mode,
                    "change": each.size,
                    "ci_low": each.ci_low,
                    "ci_high": each.ci_high,
                    "base_value": each.base_value,
                    "head_value": each.head_value,
                    "apart": each.apart,
                }
                for each in whole.changes[:_MOST_CHANGES]
            ],
        },
        option=orjson.OPT_UTC_Z,
    )


def signature_of(secret: str, moment: int, body: bytes) -> str:
    """Returns the signature: HMAC-SHA-256 over `MOMENT.BODY`, so that a replay is recognised by its time."""
    signed = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={signed}"


def send_webhook(
    settings: Settings, address: str, secret: str, whole: NewsContent, now: datetime
) -> Sent | NotSent:
    """Sends a webhook. The timeout covers the whole exchange, however slowly the server responds.

    Checks the address here, so that no caller can bypass the settings.
    """
    import httpx2  # noqa: PLC0415 - 15 MB that only a service with webhooks needs

    if not allows_webhook(settings.news_webhooks, address):
        return NotSent(
            reason="the settings do not allow this address (CLIFFWATCH_NEWS_WEBHOOKS)", for_good=True
        )
    body = body_of(whole)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "cliffwatch",
        "X-Cliffwatch-Delivery": whole.news.digest,
        "X-Cliffwatch-Signature": signature_of(secret, int(now.timestamp()), body),
    }

    async def send() -> Sent | NotSent:
        async with (
            asyncio.timeout(_SECONDS),
            httpx2.AsyncClient(timeout=_SECONDS, trust_env=False, follow_redirects=False) as http,
            http.stream("POST", address, headers=headers, content=body) as response,
        ):
            return _outcome(response.status_code, response.headers.get("retry-after", ""))

    try:
        return asyncio.run(send())
    except TimeoutError:
        return NotSent(reason=f"the webhook was not reached: no answer within {_SECONDS:.0f} seconds")
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        return NotSent(reason=f"the webhook was not reached: {str(error)[:300] or type(error).__name__}")


def _outcome(status: int, retry_after: str) -> Sent | NotSent:
    if 200 <= status < 300:
        return Sent(thread=None)
    wait = float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0
    redirected = " (redirects are not followed)" if 300 <= status < 400 else ""
    return NotSent(
        reason=f"the webhook answered {status}{redirected}", wait=min(wait, 86_400), for_good=status == 410
    )
