"""Response models: requests, jobs, hosts, imports, tokens, tasks and followed branches."""

from datetime import datetime
from typing import Literal

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.api.models.lists import Answer
from cliffwatch_service.jobs.estimates import Estimate


class Job(Answer):
    """A job with the facts of its request.

    - `setup`: the request's additions to two revisions and the catalogue's suites (AskedWork); null for none.
    - `whose`: cause of a failure: the kernel, or `usage` if the request cannot be measured; null if the job
      has not failed.
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
    expected: Estimate | None


class RequestListed(Answer):
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
    """A request with its jobs. `warnings` has a sentence for each target whose hosts are all offline."""

    jobs: list[Job]
    warnings: list[str]


class Kept(Answer):
    kept: int


class JobState(Answer):
    state: str


class ImportProblem(Answer):
    """A line of an imported file that could not be read."""

    line: int
    text: str
    reason: str


class Imported(Answer):
    run: str
    boots: int
    samples: int
    problems: list[ImportProblem]
    fresh: bool


class TokenMade(Answer):
    name: str
    secret: str


class Token(Answer):
    name: str
    scopes: list[str]
    host: str | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    last_used: datetime | None


class TokenRevoked(Answer):
    name: str
    revoked: bool


class Followed(Answer):
    """A followed branch.

    - `head_commit`: head at the last poll.
    - `requested_commit`, `requested`: last commit that was requested, and the time of the last request.
    - `polled`: time of the last poll.
    - `problem`: why the last poll failed; null if it did not.
    - `backlog`: number of commits in ranges that are measured later.
    - `anchor`: commit that walltime runs measure beside base and head; null if there is none yet.
    - `anchor_problem`: why the anchor gives no results at present; null if it does.
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


class Backfilled(Answer):
    """A range of commits to measure. `commits` is the number of its first-parent commits."""

    follow: int
    commits: int


class FollowEnded(Answer):
    follow: int
    followed: bool
