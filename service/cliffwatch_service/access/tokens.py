"""Tokens, their scopes, and the callers who hold them."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from psycopg import Connection

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import tokens
from cliffwatch_service.store.tokens import TokenRow

Scope = Literal["read", "upload", "work", "triage", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

IMPLIED: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read"}),
    "upload": frozenset({"upload", "read"}),
    "work": frozenset({"work", "upload", "read"}),
    "triage": frozenset({"triage", "read"}),
    "admin": frozenset(SCOPES),
}
"""By scope: the scopes that it includes. A host that works also uploads, and whoever writes may read."""

TOKEN_PREFIX = "cliffwatch_"  # noqa: S105 - a prefix, no token
"""Prefix of every token, by which secret scanners recognise a leaked one."""

OF_A_HOST = frozenset({"read", "upload", "work"})
"""Scopes that a token bound to one host may have."""

_TOUCHED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request or gives a command."""

    name: str
    token_id: int | None
    """None for the public."""
    scopes: frozenset[str]
    host: str | None = None
    """The host that the token is bound to; None if it is bound to none."""

    def may(self, scope: Scope) -> bool:
        return any(scope in IMPLIED[granted] for granted in self.scopes)


PUBLIC = Caller(name="public", token_id=None, scopes=frozenset({"read"}))
NOBODY = Caller(name="nobody", token_id=None, scopes=frozenset())


def hash_token(secret: str) -> bytes:
    """Hashes a token. A plain hash suffices, since nobody can guess the 256 random bits of a token."""
    return hashlib.sha256(secret.encode()).digest()


def make_token(
    connection: Connection[Any],
    name: str,
    scopes: Sequence[str],
    *,
    by: str,
    now: datetime,
    host: str | None = None,
    expires: datetime | None = None,
) -> str:
    """Makes a token and returns its secret, which is not stored.

    Raises Refusal for a taken name or invalid scopes.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        named = f"unknown scope {unknown[0]!r}" if unknown else "a token needs a scope"
        raise Refusal(422, "no such scope", f"{named}; there are {', '.join(SCOPES)}")
    if host is not None and not set(scopes) <= OF_A_HOST:
        raise Refusal(
            422,
            "a host's token",
            "a token of one host reads, uploads and works:"
            f" leave out {', '.join(sorted(set(scopes) - OF_A_HOST))}, or the host",
        )
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    fresh = tokens.insert_token(
        connection,
        name=name,
        hashed=hash_token(secret),
        scopes=sorted(set(scopes)),
        host=host,
        expires=expires,
        now=now,
    )
    if not fresh:
        raise Refusal(409, "name taken", f"there is or was a token {name!r}: choose another name")
    detail = {
        "scopes": sorted(set(scopes)),
        "host": host,
        "expires": expires.isoformat() if expires else None,
    }
    tokens.write_audit(connection, who=by, action="make-token", what=name, detail=detail, now=now)
    return secret


def caller_of(connection: Connection[Any], secret: str, now: datetime) -> Caller:
    """Returns the caller who holds a token. Raises Refusal if the token is unknown, expired or revoked.

    Only who holds the token learns that it is expired or revoked.
    """
    return _caller(connection, tokens.token_by_hash(connection, hash_token(secret)), now)


def load_signed_in_caller(connection: Connection[Any], token_id: int, now: datetime) -> Caller:
    """Returns the caller who signed in with a token. Raises Refusal if the token is no longer valid."""
    return _caller(connection, tokens.token_by_id(connection, token_id), now)


def _caller(connection: Connection[Any], row: TokenRow | None, now: datetime) -> Caller:
    if row is None:
        raise Refusal(401, "token refused", "this token is not known: ask the service's operator for one")
    if row.revoked is not None:
        raise Refusal(
            401, "token refused", f"token {row.name!r} was revoked: ask the service's operator for a new one"
        )
    if row.expires is not None and row.expires <= now:
        raise Refusal(
            401, "token refused", f"token {row.name!r} has expired: ask the service's operator for a new one"
        )
    if row.last_used is None or now - row.last_used > _TOUCHED_EVERY:
        tokens.touch_token(connection, row.id, now)
    return Caller(name=row.name, token_id=row.id, scopes=frozenset(row.scopes), host=row.host)


def refuse_unless(caller: Caller, scope: Scope) -> None:
    if caller.may(scope):
        return
    if caller.token_id is None:
        raise Refusal(
            401,
            "token needed",
            f"this needs a token of scope {scope!r}: send it as `Authorization: Bearer …`",
        )
    raise Refusal(403, "not allowed", f"token {caller.name!r} lacks the scope {scope!r}")


def refuse_other_host(caller: Caller, host: str) -> None:
    if caller.host is not None and caller.host != host:
        raise Refusal(
            403, "another host's token", f"token {caller.name!r} is for host {caller.host!r}, not {host!r}"
        )
