"""Authorisation: the right that each operation needs, and who owns a run, lease, request or host name."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection

from cliffwatch_service.access.tokens import Caller, Scope, refuse_other_host, refuse_unless
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import tokens
from cliffwatch_service.store.runs import RunRow
from cliffwatch_service.store.work.leases import LeaseRow

Whose = Literal["everybody's", "own run", "own lease", "own request", "own host", "own subscription"]
"""Who may use the object of an operation: everybody, or its owner only. Administrators own every run, lease
and request. The name of an enrolled host belongs to its own token alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What a caller needs for an operation."""

    scope: Scope | None
    """None needs no token."""
    whose: Whose = "everybody's"
    bound: bool = False
    """Whether tokens that are bound to one host suffice."""


IMPORTS = "import"
"""Prefix of host names that stand for imported files: one per platform, since a host has one platform."""

_READ = Right(scope="read", bound=True)
_ADMIN = Right(scope="admin")

RIGHTS: Mapping[str, Right] = {
    "GET /api/v1/runs": _READ,
    "GET /api/v1/runs/{run}": _READ,
    "GET /api/v1/runs/{run}/code": _READ,
    "GET /api/v1/runs/{run}/boots/{number}": _READ,
    "GET /api/v1/runs/{run}/boots/{number}/raw": _READ,
    "GET /api/v1/runs/{run}/boots/{number}/raw/{path}": _READ,
    "GET /api/v1/runs/{run}/comparison": _READ,
    "GET /api/v1/runs/{run}/export": _READ,
    "GET /api/v1/answer": _READ,
    "GET /api/v1/comparisons": _READ,
    "GET /api/v1/comparisons/{pair}": _READ,
    "GET /api/v1/search": _READ,
    "GET /api/v1/series": _READ,
    "GET /api/v1/series/{digest}": _READ,
    "GET /api/v1/series/{digest}/history": _READ,
    "GET /api/v1/series/{digest}/samples": _READ,
    "GET /api/v1/branches": _READ,
    "GET /api/v1/revisions/{commit}": _READ,
    "GET /api/v1/changes": _READ,
    "GET /api/v1/reports": _READ,
    "GET /api/v1/reports/quality": _READ,
    "GET /api/v1/reports/{report}": _READ,
    "GET /api/v1/requests": _READ,
    "GET /api/v1/requests/{request_id}": _READ,
    "GET /api/v1/requests/{request_id}/files": _READ,
    "GET /api/v1/queue": _READ,
    "GET /api/v1/jobs": _READ,
    "GET /api/v1/jobs/{job}": _READ,
    "GET /api/v1/jobs/{job}/events": _READ,
    "GET /api/v1/jobs/{job}/stream": _READ,
    "GET /api/v1/hosts": _READ,
    "GET /api/v1/suites": _READ,
    "GET /api/v1/suites/{name}": _READ,
    "GET /api/v1/follows": _READ,
    "PUT /api/v1/runs/{run}": Right(scope="upload", whose="own run", bound=True),
    "PUT /api/v1/runs/{run}/code": Right(scope="upload", whose="own run", bound=True),
    "PUT /api/v1/runs/{run}/boots/{number}": Right(scope="upload", whose="own run", bound=True),
    "PUT /api/v1/runs/{run}/boots/{number}/raw": Right(scope="upload", whose="own run", bound=True),
    "POST /api/v1/imports": Right(scope="upload"),
    "POST /api/v1/requests": Right(scope="upload"),
    "POST /api/v1/requests/{request_id}/cancel": Right(scope="upload", whose="own request"),
    "POST /api/v1/jobs/{job}/cancel": Right(scope="upload", whose="own request"),
    "POST /api/v1/jobs/{job}/retry": _ADMIN,
    "POST /api/v1/offers": Right(scope="work", whose="own host", bound=True),
    "POST /api/v1/leases/{lease}/heartbeat": Right(scope="work", whose="own lease", bound=True),
    "GET /api/v1/leases/{lease}/files": Right(scope="work", whose="own lease", bound=True),
    "POST /api/v1/leases/{lease}/events": Right(scope="work", whose="own lease", bound=True),
    "POST /api/v1/leases/{lease}/complete": Right(scope="work", whose="own lease", bound=True),
    "POST /api/v1/reports/{report}/triage": Right(scope="triage"),
    "GET /api/v1/hosts/{host}/calibrations": _READ,
    "POST /api/v1/hosts/{host}/calibrations": Right(scope="work", whose="own host", bound=True),
    "POST /api/v1/hosts/{host}/calibrations/check": Right(scope="work", whose="own host", bound=True),
    "POST /api/v1/hosts/{host}/quarantine": _ADMIN,
    "POST /api/v1/planted-steps": _ADMIN,
    "GET /api/v1/feed": _READ,
    "GET /api/v1/subscriptions": Right(scope="triage"),
    "POST /api/v1/subscriptions": Right(scope="triage"),
    "DELETE /api/v1/subscriptions/{subscription}": Right(scope="triage", whose="own subscription"),
    "POST /api/v1/subscriptions/{subscription}/mute": Right(scope="triage", whose="own subscription"),
    "POST /api/v1/follows": _ADMIN,
    "POST /api/v1/follows/{follow}/backfill": _ADMIN,
    "DELETE /api/v1/follows/{follow}": _ADMIN,
    "GET /api/v1/tokens": _ADMIN,
    "POST /api/v1/tokens": _ADMIN,
    "DELETE /api/v1/tokens/{name}": _ADMIN,
    "GET /api/v1/tasks": _ADMIN,
    "GET /api/v1/audit": _ADMIN,
    "POST /api/v1/github/webhook": Right(scope=None, bound=True),
    "POST /api/v1/github/token": Right(scope=None, bound=True),
    "GET /healthz": Right(scope=None, bound=True),
    "GET /readyz": Right(scope=None, bound=True),
    "GET /metrics": _READ,
    "POST /requests": Right(scope="upload"),
    "POST /jobs/{job}/cancel": Right(scope="upload", whose="own request"),
    "POST /jobs/{job}/retry": _ADMIN,
    "POST /regressions/{report}/triage": Right(scope="triage"),
    "POST /branches": _ADMIN,
    "POST /branches/{follow}/backfill": _ADMIN,
    "POST /branches/{follow}/end": _ADMIN,
    "POST /regressions/triage": Right(scope="triage"),
    "POST /measure": Right(scope="upload"),
    "POST /subscriptions": Right(scope="triage"),
    "POST /subscriptions/{subscription}/mute": Right(scope="triage", whose="own subscription"),
    "POST /subscriptions/{subscription}/end": Right(scope="triage", whose="own subscription"),
    "POST /sign-in": Right(scope=None, bound=True),
    "POST /sign-out": Right(scope=None, bound=True),
}
"""Rights by method and path; the last entries are the forms of pages. Pages need the scope `read`."""


def refuse_without_right(caller: Caller, operation: str) -> None:
    """Raises Refusal if the caller lacks the right to an operation.

    Nobody may do an operation that `RIGHTS` lacks. Does not check who owns the object of the operation.
    """
    right = RIGHTS.get(operation)
    if right is None:
        raise Refusal(
            403, "not allowed", f"nobody may {operation}: it is missing from the service's table of rights"
        )
    if right.scope is None:
        return
    refuse_unless(caller, right.scope)
    if caller.host is not None and not right.bound:
        raise Refusal(
            403,
            "a host's token",
            f"token {caller.name!r} is for host {caller.host!r}:"
            " it measures and uploads. Do this with a token of your own",
        )


def may_speak_for(connection: Connection[Any], caller: Caller, host: str, now: datetime) -> bool:
    """Whether the caller may use a host's name.

    It may with the host's own token. If the host has none, any token may that is not bound to another host.
    """
    return caller.host == host or (
        caller.host is None and tokens.token_of_host(connection, host, now) is None
    )


def refuse_host_name(connection: Connection[Any], caller: Caller, host: str, now: datetime) -> None:
    """Raises Refusal if the caller may not use a host's name.

    An enrolled host's name is refused to all callers without the host's token, administrators included. Names
    for imported files are refused to everybody.
    """
    refuse_other_host(caller, host)
    if host == IMPORTS or host.startswith(f"{IMPORTS} "):
        raise Refusal(
            403,
            "another host's name",
            f"{host!r} is kept for imported files (POST /imports): choose another name",
        )
    if not may_speak_for(connection, caller, host, now):
        raise Refusal(
            403,
            "another host's name",
            f"host {host!r} has a token of its own, and {caller.name!r} is not for it:"
            " use that token, or another name",
        )


def refuse_foreign_run(caller: Caller, run: RunRow, host: str | None) -> None:
    """Raises Refusal unless the caller started the run, is its host, or is an administrator."""
    if caller.may("admin") or (caller.token_id == run.uploaded_by and caller.host in (None, host)):
        return
    if caller.host is not None and caller.host == host:
        return
    raise Refusal(
        403,
        "another's run",
        f"run {run.digest} was started with another token than {caller.name!r}:"
        f" continue with that token, or with a token for host {host!r}",
    )


def refuse_foreign_lease(caller: Caller, lease: LeaseRow) -> None:
    """Raises Refusal unless the caller took the lease, is its enrolled host, or is an administrator."""
    refuse_other_host(caller, lease.host)
    if caller.may("admin") or caller.host is not None or caller.token_id == lease.token_id:
        return
    raise Refusal(
        403,
        "another's lease",
        f"host {lease.host!r} took this lease with another token than {caller.name!r}:"
        " offer to work to get a lease of your own",
    )


def may_cancel(caller: Caller, asked_by: int) -> bool:
    """Whether the caller may cancel a job: its requester and administrators may."""
    return caller.may("admin") or (
        caller.host is None and caller.may("upload") and caller.token_id == asked_by
    )


def refuse_foreign_request(caller: Caller, asked_by: int) -> None:
    if not may_cancel(caller, asked_by):
        raise Refusal(
            403,
            "another's request",
            f"token {caller.name!r} did not ask for this:"
            " cancel it with the token that did, or as an administrator",
        )
