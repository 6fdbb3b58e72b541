"""Fetches the report of a comparison from a service, for `cliffwatch compare URL`."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, urlsplit, urlunsplit

from cliffwatch.command.secret import read_token_for
from cliffwatch.failure import Failure, HttpFailure, wrong_usage
from cliffwatch.reports.styles import visible

SUFFIXES = {"text": ".txt", "json": ".json", "commit": ".commit", "markdown": ".md"}
"""Formats that a service writes, and the suffixes that its addresses have for them."""

_LARGEST = 64 << 20
_SECONDS = 60.0
_SIGN_IN = "name a token that may read: --token-file FILE, or CLIFFWATCH_TOKEN beside CLIFFWATCH_URL"
_NEXT = {401: _SIGN_IN, 403: _SIGN_IN}
_LONGEST_WAIT = 180.0
"""Seconds to wait for a comparison that the service is still making."""


def fetch_report(
    address: str, form: str, *, token_file: Path | None = None, say: Callable[[str], object]
) -> str | Failure:
    """Returns the report behind the address of a page: /compare/BASE...HEAD, /compare/RUN or /runs/RUN.

    Filters in the address hold. A private service needs a token: see `read_token_for`. Waits, and says so,
    while the service compares. Redirects are followed on the service alone.
    """
    suffix = SUFFIXES.get(form)
    if suffix is None:
        return wrong_usage(
            f"a service does not write {form}",
            f"choose one of {', '.join(SUFFIXES)}, or compare the runs' files",
        )
    found = _report_address(address, suffix)
    if isinstance(found, Failure):
        return found
    token = read_token_for(found, token_file)
    if isinstance(token, Failure):
        return token
    waited = 0.0
    while True:
        reply = _get(found, token)
        if not isinstance(reply, HttpFailure) or reply.status != 202 or waited >= _LONGEST_WAIT:
            return reply if isinstance(reply, Failure) else visible(reply)
        say("the service is making the comparison")
        time.sleep(reply.wait)
        waited += reply.wait


def _report_address(address: str, suffix: str) -> str | Failure:
    """Returns the address of the report in another format."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return _no_comparison(address)
    before, kind, rest = parts.path.partition("/compare/")
    if not kind:
        before, kind, rest = parts.path.partition("/runs/")
    rest = rest.rstrip("/")
    if parts.scheme not in ("http", "https") or not kind or not rest or "/" in rest:
        return _no_comparison(address)
    rest = next((rest.removesuffix(each) for each in SUFFIXES.values() if rest.endswith(each)), rest)
    path = f"{before}/compare/{rest}{suffix}"
    return urlunsplit(SplitResult(parts.scheme, parts.netloc, path, parts.query, ""))


def _no_comparison(address: str) -> Failure:
    return wrong_usage(
        f"{address} is not the address of a comparison or run",
        "copy that of a page such as https://bench.example.org/compare/BASE...HEAD",
    )


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Follows redirects that stay on the service."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        ours, theirs = urlsplit(req.full_url), urlsplit(newurl)
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _get(address: str, token: str | None) -> str | HttpFailure:
    opener = urllib.request.build_opener(_SameOrigin())
    request = urllib.request.Request(  # noqa: S310 - `_report_address` lets http and https pass
        address,
        headers={"User-Agent": "cliffwatch", **({"Authorization": f"Bearer {token}"} if token else {})},
    )
    try:
        with opener.open(request, timeout=_SECONDS) as reply:
            content: bytes = reply.read(_LARGEST + 1)
            status, wait = reply.status, reply.headers.get("Retry-After", "")
    except urllib.error.HTTPError as error:
        with error:
            return _refused(error.code, error.read(2000).decode(errors="replace"), token)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return HttpFailure(
            whose="host",
            message=f"{address}: {reason or type(error).__name__}",
            next_step="check the address, and that the service runs",
        )
    if status == 202:
        return HttpFailure(
            whose="host",
            message="the service is still making the comparison",
            next_step="ask again later",
            status=status,
            wait=float(wait) if wait.isascii() and wait.isdecimal() and len(wait) < 4 else 3.0,
        )
    if len(content) > _LARGEST:
        return _refused(status, f"the report is larger than {_LARGEST >> 20} MiB", token)
    return content.decode(errors="replace")


def _refused(status: int, said: str, token: str | None) -> HttpFailure:
    lines = [visible(line).strip() for line in said.splitlines()]
    first = next((line for line in lines if line), "")
    known = {
        401: "it refuses the token" if token else "it is private",
        404: "it knows no such run or revisions",
    }
    known |= dict.fromkeys((301, 302, 303, 307, 308), "it redirects to another server")
    plain = first[:300] if first and not first.startswith("<") else f"it answers {status}"
    reason = known.get(status, plain)
    return HttpFailure(
        whose="host" if status >= 500 or status == 429 else "usage",
        message=f"the service has no such report: {reason}",
        next_step=_NEXT.get(status, "open the address in a browser"),
        status=status,
    )
