"""What is read of a service's answers: the members that this program needs, of all that docs/formats.md says there are."""

from cliffwatch.formats.values import FreeJson, Part


class StoredBoot(Part, frozen=True, kw_only=True):
    """A boot that the service has; `raw_digest` is null while its raw outputs are missing."""

    number: int
    raw_digest: str | None


class StoredRun(Part, frozen=True, kw_only=True):
    boots: tuple[StoredBoot, ...]


class Queued(Part, frozen=True, kw_only=True):
    """When a job may be done: `position` counts from 1, 0 for a job under way; seconds to its end, null where nothing is known."""

    position: int
    hosts: int
    seconds: float | None


class Job(Part, frozen=True, kw_only=True):
    """`whose` a failed job is: `kernel`, or `usage` where what was asked for cannot be measured; older services do not say."""

    job: str
    platform: str
    mode: str
    state: str
    whose: str | None = None
    reason: str | None
    run: str | None
    expected: Queued | None


class JobQueue(Part, frozen=True, kw_only=True):
    items: tuple[Job, ...]


class MadeRequest(Part, frozen=True, kw_only=True):
    """A request and its jobs; `warnings` are sentences."""

    request: str
    jobs: tuple[Job, ...]
    warnings: tuple[str, ...] = ()


class Event(Part, frozen=True, kw_only=True):
    id: int
    kind: str
    data: FreeJson


class Events(Part, frozen=True, kw_only=True):
    items: tuple[Event, ...]


class GivenToken(Part, frozen=True, kw_only=True):
    secret: str
