"""Requests: what a person or a push asks for, made into jobs for hosts."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID, uuid5

from psycopg import Connection

from cliffwatch.catalogue.discovery import ALL, DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.identities import digest_of
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import tokens, trees
from cliffwatch_service.store.work import queue, requests
from cliffwatch_service.store.work.queue import NewJob
from cliffwatch_service.store.work.requests import NewRequest, RequestRow

Priority = Literal["person", "push", "backfill"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)

HEAD_STARTS: Mapping[Priority, timedelta] = {
    "person": timedelta(hours=24),
    "push": timedelta(hours=4),
    "backfill": timedelta(0),
}
"""How much earlier than asked a job counts as asked: a person passes a push of the last 20 hours and no older one, so that
nothing waits for ever however many people come."""

_NAMESPACE = UUID("6c69ff3a-7463-4a1e-8d5b-c11ff0a7c4b0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: base..head of a tree on some targets (platform, mode). `boots` is `auto`, `staged`, `careful` or a number."""

    tree: str
    base: str
    head: str
    targets: Sequence[tuple[str, str]]
    suites: Sequence[str]
    profile: str
    boots: str
    priority: Priority
    note: str = ""


def ask(
    connection: Connection[Any], asked: Asked, *, key: str, token_id: int, who: str, now: datetime
) -> tuple[RequestRow, bool]:
    """The request's row, and whether it is new: the same key asks once. Each target becomes a job, whose run measures base and
    head together, so that the base's missing results ride along. Raises Refusal.
    """
    _refuse_unknown(asked)
    targets = sorted(set(asked.targets))
    digest = digest_of(
        ["request", asked.tree, asked.base, asked.head, targets, sorted(asked.suites), asked.profile, asked.boots]
    )
    identity = uuid5(_NAMESPACE, f"{token_id} {key}")
    wanted = NewRequest(
        id=identity,
        idempotency_key=key,
        asked_by=token_id,
        body_digest=digest,
        tree=asked.tree,
        base_commit=asked.base,
        head_commit=asked.head,
        suites=sorted(set(asked.suites)),
        profile=asked.profile,
        boots=asked.boots,
        priority=PRIORITIES.index(asked.priority),
        note=asked.note,
        created=now,
    )
    fresh = requests.insert_request(connection, wanted)
    if fresh:
        trees.keep_tree(connection, asked.tree, now)
        for platform, mode in targets:
            _add_job(connection, identity, platform, mode, asked, now)
        tokens.write_audit(
            connection, who=who, action="request", what=str(identity), detail={"digest": digest}, now=now
        )
    stored = requests.request_by_key(connection, token_id, key)
    assert stored is not None
    if stored.body_digest != digest:
        raise Refusal(
            409, "key used", f"the key {key!r} asked for something else before: choose another Idempotency-Key"
        )
    return stored, fresh


def _refuse_unknown(asked: Asked) -> None:
    known = {suite.name for suite in load_catalogue().suites}
    unknown = sorted(set(asked.suites) - known - {ALL, DISCOVERED})
    if unknown:
        raise Refusal(
            422,
            "no such suite",
            f"there is no suite {unknown[0]!r}; there are {', '.join(sorted(known))}, all and discovered",
        )


def _add_job(connection: Connection[Any], request: UUID, platform: str, mode: str, asked: Asked, now: datetime) -> None:
    seed = int.from_bytes(hashlib.sha256(f"{request} {platform} {mode}".encode()).digest()[:4], "big") >> 1
    job = uuid5(request, f"{platform} {mode}")
    row = NewJob(
        id=job,
        request_id=request,
        platform=platform,
        mode=mode,
        seed=seed,
        priority=PRIORITIES.index(asked.priority),
        due=now - HEAD_STARTS[asked.priority],
        created=now,
    )
    queue.insert_job(connection, row)
    queue.write_own_event(connection, job, "queued", {}, now)


def request_named(connection: Connection[Any], identity: UUID) -> RequestRow:
    row = requests.request_row(connection, identity)
    if row is None:
        raise not_found("request", str(identity))
    return row
