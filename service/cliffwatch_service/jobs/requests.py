"""Requests: what a person or a push asks for, made into jobs for hosts."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, get_args
from uuid import UUID, uuid5

from psycopg import Connection

from cliffwatch.catalogue.discovery import ALL, AUTO, DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import PROFILES
from cliffwatch.formats.reading import as_json, convert
from cliffwatch.formats.setup import NO_SETUP, Setup, SetupContent, problem_of
from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import AskedFiles, AskedWork, Priority
from cliffwatch.identities import digest_of
from cliffwatch_service.jobs.targets import Needs
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import tokens, trees
from cliffwatch_service.store.work import queue, requests
from cliffwatch_service.store.work.queue import NewJob
from cliffwatch_service.store.work.requests import NewRequest, RequestRow

PRIORITIES: tuple[Priority, ...] = get_args(Priority)

HEAD_STARTS: Mapping[Priority, timedelta] = {
    "person": timedelta(hours=24),
    "push": timedelta(hours=4),
    "watch": timedelta(hours=2),
    "backfill": timedelta(0),
}
"""How much earlier than asked a job counts as asked: a person passes a push of the last 20 hours and no older one, so that
nothing waits for ever however many people come."""

_NAMESPACE = UUID("6c69ff3a-7463-4a1e-8d5b-c11ff0a7c4b0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: base..head of a tree, or the arms of `setup`, on some targets (platform, mode). `boots` is `auto`, `staged`, `careful` or a
    number; `contents` are those of the setup's files.
    """

    tree: str
    base: str
    head: str
    targets: Sequence[tuple[str, str]]
    suites: Sequence[str]
    profile: str
    boots: str
    priority: Priority
    note: str = ""
    setup: Setup = NO_SETUP
    contents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def needs(self) -> Needs:
        return Needs(
            setup=self.setup, cpus=max(self.setup.most_cpus, _cpus_of_suites(self.suites, self.profile))
        )


def asked_of(work: AskedWork) -> Asked:
    """The request of a document. Raises Refusal where its parts do not go together, or its files are not those that it names."""
    arms = work.setup.arms
    if (work.base is None) != (work.head is None) or (work.base is None) == (not arms):
        raise _odd("base", "a request names base and head, or arms in its setup, and not both")
    problem = problem_of(work.setup)
    if problem is not None:
        raise _odd("setup", problem)
    contents = {each.name: each.content for each in work.contents}
    odd = _odd_file(work, contents)
    if odd is not None:
        raise _odd(
            "contents", f"{odd} is not as the setup lists it: send each file once, with its size and SHA-256"
        )
    base, head = (arms[0].rev, arms[-1].rev) if arms else (work.base, work.head)
    assert base is not None
    assert head is not None
    return Asked(
        tree=work.tree,
        base=base,
        head=head,
        targets=[(target.platform, target.mode) for target in work.targets],
        suites=work.suites or (() if work.setup.folders else (AUTO,)),
        profile=work.profile,
        boots=work.boots,
        priority=work.priority,
        note=work.note,
        setup=work.setup,
        contents=contents,
    )


def _odd_file(work: AskedWork, contents: Mapping[str, bytes]) -> str | None:
    """A file that came otherwise than it is listed, or twice, or is listed and did not come."""
    listed = {file.name: (file.bytes, file.sha256) for file in work.setup.files}
    came = {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in contents.items()}
    names = [each.name for each in work.contents]
    return next(
        (name for name in [*names, *listed] if came.get(name) != listed.get(name) or names.count(name) > 1),
        None,
    )


def _odd(where: str, message: str) -> Refusal:
    return Refusal(422, "invalid request", f"{where}: {message}", errors=[(where, message)])


def _cpus_of_suites(names: Sequence[str], profile: str) -> int:
    """CPUs of the largest guest that these suites' cases ask for; 0 where none asks."""
    chosen = [suite for suite in load_catalogue().suites if suite.name in names or ALL in names]
    lengths = [each for each in PROFILES if each == profile]
    return max(
        (case.guest.cpus or 0 for suite in chosen for each in lengths for case in suite.cases(each)),
        default=0,
    )


class AskedRequest(NamedTuple):
    """A request as it is stored, and whether it is new."""

    row: RequestRow
    fresh: bool


def ask(
    connection: Connection[Any], asked: Asked, *, key: str, token_id: int, who: str, now: datetime
) -> AskedRequest:
    """The request's row, and whether it is new: the same key asks once. Each target becomes a job, whose run measures base and
    head together, so that the base's missing results ride along. Raises Refusal.
    """
    _refuse_unknown(asked)
    targets = sorted(set(asked.targets))
    setup = as_json(asked.setup) or None
    digest = digest_of(
        [
            "request",
            asked.tree,
            asked.base,
            asked.head,
            targets,
            sorted(asked.suites),
            asked.profile,
            asked.boots,
        ]
        + ([setup] if setup else [])
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
        setup=setup,
        cpus=asked.needs.cpus,
    )
    fresh = requests.insert_request(connection, wanted)
    if fresh:
        trees.keep_tree(connection, asked.tree, now)
        requests.insert_files(connection, identity, asked.contents)
        for platform, mode in targets:
            _add_job(connection, identity, platform, mode, asked, now)
        tokens.write_audit(
            connection, who=who, action="request", what=str(identity), detail={"digest": digest}, now=now
        )
    stored = requests.request_by_key(connection, token_id, key)
    assert stored is not None
    if stored.body_digest != digest:
        raise Refusal(
            409,
            "key used",
            f"the key {key!r} asked for something else before: choose another Idempotency-Key",
        )
    return AskedRequest(stored, fresh)


def _refuse_unknown(asked: Asked) -> None:
    known = {suite.name for suite in load_catalogue().suites}
    unknown = sorted(set(asked.suites) - known - {ALL, AUTO, DISCOVERED})
    if unknown:
        raise Refusal(
            422,
            "no such suite",
            f"there is no suite {unknown[0]!r}; there are {', '.join(sorted(known))}, auto, all and discovered",
        )


def _add_job(
    connection: Connection[Any], request: UUID, platform: str, mode: str, asked: Asked, now: datetime
) -> None:
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


def setup_of(stored: FreeJson | None) -> Setup:
    """The setup of a request as it is stored."""
    return NO_SETUP if stored is None else convert(stored, Setup)


def asked_files(connection: Connection[Any], request: UUID) -> AskedFiles:
    """The files that came with a request."""
    rows = requests.files_of(connection, request)
    return AskedFiles(files=tuple(SetupContent(name=row.name, content=row.content) for row in rows))


def request_named(connection: Connection[Any], identity: UUID) -> RequestRow:
    row = requests.request_row(connection, identity)
    if row is None:
        raise not_found("request", str(identity))
    return row
