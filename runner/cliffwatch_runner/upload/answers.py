"""Types of the service's answers.

They contain only the members that the runner needs; docs/formats.md has all.
"""

from cliffwatch.formats.values import FreeJson, Part


class StoredBoot(Part, frozen=True, kw_only=True):
    """A boot that the service has."""

    number: int
    raw_digest: str | None
    """None while its raw outputs are missing."""


class StoredRun(Part, frozen=True, kw_only=True):
    boots: tuple[StoredBoot, ...]


class Queued(Part, frozen=True, kw_only=True):
    """When a job may be done."""

    position: int
    """Counts from 1; 0 for a running job."""

    hosts: int
    """Number of hosts that can do the job."""

    seconds: float | None
    """Until its end; None if it cannot be estimated."""


class Job(Part, frozen=True, kw_only=True):
    """A job of a request."""

    job: str
    platform: str
    mode: str
    state: str
    whose: str | None = None
    """Of a failed job: `kernel`, or `usage` if the request cannot be measured. None from older services."""

    reason: str | None
    run: str | None
    expected: Queued | None


class JobQueue(Part, frozen=True, kw_only=True):
    items: tuple[Job, ...]


class MadeRequest(Part, frozen=True, kw_only=True):
    """A request and its jobs."""

    request: str
    jobs: tuple[Job, ...]
    warnings: tuple[str, ...] = ()
    """Sentences."""


class Event(Part, frozen=True, kw_only=True):
    id: int
    kind: str
    data: FreeJson


class Events(Part, frozen=True, kw_only=True):
    items: tuple[Event, ...]


class GivenToken(Part, frozen=True, kw_only=True):
    secret: str
