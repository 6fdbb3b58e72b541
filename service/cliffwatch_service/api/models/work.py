"""Requests, jobs, hosts, tokens and tasks as the API answers them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from cliffwatch.formats.values import FreeJson


class Expected(BaseModel):
    """`position` counts from 1 in the queue, 0 for a job under way; seconds to its end, null where nothing is known."""

    position: int
    hosts: int
    seconds: float | None
    low: float | None
    high: float | None


class Job(BaseModel):
    """A job with what its request asks; `setup` is what the request brings (AskedWork), null for nothing. A failed job is the kernel's, or of
    the `usage`: what was asked for cannot be measured; `whose` is null of every other job.
    """

    job: str
    request: str
    priority: str
    platform: str
    mode: str
    seed: int
    state: str
    whose: Literal["kernel", "usage"] | None
    reason: str | None
    run: str | None
    host: str | None
    created: datetime
    started: datetime | None
    ended: datetime | None
    cancel: bool
    tree: str
    suites: list[str]
    profile: str
    boots: str
    base: str
    head: str
    setup: FreeJson | None
    expected: Expected | None


class RequestListed(BaseModel):
    request: str
    asked_by: str
    priority: str
    base: str
    head: str
    tree: str
    suites: list[str]
    profile: str
    boots: str
    note: str
    created: datetime
    setup: FreeJson | None


class RequestWhole(RequestListed):
    """`warnings` are sentences on jobs that wait for a host that is quiet at present."""

    jobs: list[Job]
    warnings: list[str]


class Event(BaseModel):
    id: int
    at: datetime
    kind: str
    data: FreeJson


class HostListed(BaseModel):
    name: str
    platform: str
    added: datetime
    last_seen: datetime
    about: FreeJson
    job: str | None


class Kept(BaseModel):
    kept: int


class JobState(BaseModel):
    state: str


class ImportProblem(BaseModel):
    """A line that could not be read, and why."""

    line: int
    text: str
    reason: str


class Imported(BaseModel):
    run: str
    boots: int
    samples: int
    problems: list[ImportProblem]
    fresh: bool


class TokenMade(BaseModel):
    name: str
    secret: str


class Token(BaseModel):
    name: str
    scopes: list[str]
    host: str | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    last_used: datetime | None


class TokenRevoked(BaseModel):
    name: str
    revoked: bool


class Task(BaseModel):
    id: int
    task: str
    about: FreeJson
    status: str
    attempts: int
    due: datetime | None
    at: datetime | None


class AuditEntry(BaseModel):
    id: int
    at: datetime
    who: str
    action: str
    object: str
    detail: FreeJson


class Followed(BaseModel):
    """`backlog` is how many commits lie in ranges that are measured later; `anchor` the commit that walltime runs measure beside base and
    head, null where there is none yet, and `anchor_problem` why it gives nothing at present.
    """

    follow: int
    tree: str
    branch: str
    policy: str
    targets: list[dict[str, str]]
    suites: list[str]
    profile: str
    head_commit: str | None
    requested_commit: str | None
    polled: datetime | None
    requested: datetime | None
    problem: str | None
    backlog: int
    anchor: str | None
    anchor_problem: str | None


class Backfilled(BaseModel):
    """How many first-parent commits a range has; all of them will be measured."""

    follow: int
    commits: int


class FollowEnded(BaseModel):
    follow: int
    followed: bool
