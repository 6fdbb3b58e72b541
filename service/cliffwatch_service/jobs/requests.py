"""Stores the requests of people and pushes, and makes their jobs."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from psycopg import Connection

from cliffwatch.catalogue.discovery import ALL, AUTO, DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.reading import as_json, convert
from cliffwatch.formats.setup import NO_SETUP, Setup, SetupContent, find_conflict, find_problem
from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import PRIORITIES, AskedFiles, AskedWork, Priority
from cliffwatch.identities import digest_of
from cliffwatch.samples import PROFILES
from cliffwatch.suggesting import did_you_mean
from cliffwatch_service.jobs.targets import Needs
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import tokens, trees
from cliffwatch_service.store.work import queue, requests
from cliffwatch_service.store.work.queue import NewJob
from cliffwatch_service.store.work.requests import NewRequest, RequestRow

HEAD_STARTS: Mapping[Priority, timedelta] = {
    "person": timedelta(hours=24),
    "push": timedelta(hours=4),
    "watch": timedelta(hours=2),
    "backfill": timedelta(0),
}
"""How much earlier than requested a job counts as due. A person's job passes pushes of the last 20 hours but
no older ones, so no job waits for ever, however many people ask."""

_NAMESPACE = UUID("6c69ff3a-7463-4a1e-8d5b-c11ff0a7c4b0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDraft:
    """A request before it is stored: base..head of a tree, or the arms of `setup`."""

    tree: str
    base: str
    """Commit; with arms, the revision of the first."""
    head: str
    """Commit; with arms, the revision of the last."""
    targets: Sequence[tuple[str, str]]
    """Platform and mode of each."""
    suites: Sequence[str]
    profile: str
    boots: str
    """`auto`, `staged`, `careful` or a number."""
    priority: Priority
    note: str = ""
    setup: Setup = NO_SETUP
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the setup's files, by name."""

    @property
    def needs(self) -> Needs:
        return Needs(
            setup=self.setup, cpus=max(self.setup.most_cpus, _cpus_of_suites(self.suites, self.profile))
        )


def asked_of(work: AskedWork) -> RequestDraft:
    """Reads a request from a document.

    Raises Refusal if its parts contradict each other or its files differ from its list.
    """
    arms = work.setup.arms
    if (work.base is None) != (work.head is None) or (work.base is None) == (not arms):
        raise _invalid_request("base", "a request names base and head, or arms in its setup, and not both")
    problem = find_problem(work.setup)
    if problem is not None:
        raise _invalid_request("setup", problem.reason)
    contents = {each.name: each.content for each in work.contents}
    odd = _find_wrong_file(work, contents)
    if odd is not None:
        raise _invalid_request(
            "contents", f"{odd} is not as the setup lists it: send each file once, with its size and SHA-256"
        )
    base, head = (arms[0].rev, arms[-1].rev) if arms else (work.base, work.head)
    assert base is not None
    assert head is not None
    return RequestDraft(
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


def _find_wrong_file(work: AskedWork, contents: Mapping[str, bytes]) -> str | None:
    """Returns the name of a file that is missing, sent twice, or not as listed; None if all are right."""
    listed = {file.name: (file.bytes, file.sha256) for file in work.setup.files}
    came = {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in contents.items()}
    names = [each.name for each in work.contents]
    return next(
        (name for name in [*names, *listed] if came.get(name) != listed.get(name) or names.count(name) > 1),
        None,
    )


def _invalid_request(where: str, message: str) -> Refusal:
    return Refusal(422, "invalid request", f"{where}: {message}", errors=[(where, message)])


def _cpus_of_suites(names: Sequence[str], profile: str) -> int:
    """Returns the CPUs of the largest guest that a case of these suites asks for; 0 if none asks."""
    chosen = [suite for suite in load_catalogue().suites if suite.name in names or ALL in names]
    lengths = [each for each in PROFILES if each == profile]
    return max(
        (case.guest.cpus or 0 for suite in chosen for each in lengths for case in suite.cases(each)),
        default=0,
    )


class StoredRequest(NamedTuple):
    """A stored request."""

    row: RequestRow
    fresh: bool
    """False if the same key stored the request before."""


def store_request(
    connection: Connection[Any], asked: RequestDraft, *, key: str, token_id: int, who: str, now: datetime
) -> StoredRequest:
    """Stores a request and one job for each target. The same key stores it once. Raises Refusal.

    The run of a job measures base and head together, so it also brings results that the base lacks.
    """
    _refuse_unknown(asked)
    conflict = find_conflict(asked.setup, asked.boots, {mode for _, mode in asked.targets})
    if conflict is not None:
        raise _invalid_request("boots" if conflict.option == "boots" else "setup", conflict.reason)
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
    return StoredRequest(stored, fresh)


def _refuse_unknown(asked: RequestDraft) -> None:
    known = {suite.name for suite in load_catalogue().suites}
    unknown = sorted(set(asked.suites) - known - {ALL, AUTO, DISCOVERED})
    if unknown:
        raise Refusal(
            422,
            "no such suite",
            f"there is no suite {unknown[0]!r}{did_you_mean(unknown[0], known)}"
            f" (there are {', '.join(sorted(known))}, auto, all and discovered)",
        )


def _add_job(
    connection: Connection[Any], request: UUID, platform: str, mode: str, asked: RequestDraft, now: datetime
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
    """Reads the stored setup of a request."""
    return NO_SETUP if stored is None else convert(stored, Setup)


def asked_files(connection: Connection[Any], request: UUID) -> AskedFiles:
    """Returns the files that came with a request."""
    files = requests.files_of(connection, request)
    return AskedFiles(files=tuple(SetupContent(name=name, content=content) for name, content in files))


def request_named(connection: Connection[Any], identity: UUID) -> RequestRow:
    row = requests.request_row(connection, identity)
    if row is None:
        raise not_found("request", str(identity))
    return row
