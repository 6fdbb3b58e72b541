"""What a host and its service say to each other about jobs: an offer and its answer, events, and the end of a job."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cliffwatch.formats.values import Commit, Count, FreeJson, Moment, Name, Part
from cliffwatch.samples import Mode

JobOutcome = Literal["done", "kernel-failed", "host-failed", "cancelled"]


class HostOffer(Part, frozen=True, kw_only=True):
    """A host that wants work: what it can do, and how it isolates the builds of other people's trees. `about` is what the
    service's hosts page shows of it.
    """

    host: Name
    platform: Name
    modes: Annotated[tuple[Mode, ...], Meta(min_length=1, max_length=2)]
    isolation: Literal["bubblewrap", "container", "none"]
    about: FreeJson = msgspec.field(default_factory=dict)


class Leased(Part, frozen=True, kw_only=True):
    """The names of a lease and of its job."""

    lease: Name
    job: Name


class Work(Leased, frozen=True, kw_only=True):
    """A lease and its job. `trust` is `followed` where base and head are on the followed branch that the job is of, as the
    service's own git knows it; anything else is anybody's code, of which a host keeps nothing. `tree_access` is `allowed` where an
    administrator vouches for the tree's address; anything else must be public.
    """

    trust: Annotated[str, Meta(extra_json_schema={"enum": ["followed", "outside"]})] = "outside"
    heartbeat_seconds: Annotated[float, Meta(gt=0)]
    cancel: bool
    tree: Annotated[str, Meta(min_length=1, max_length=4000)]
    tree_access: Annotated[str, Meta(extra_json_schema={"enum": ["allowed", "public"]})] = "public"
    platform: Name
    mode: Mode
    suites: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=200)]
    profile: Name
    boots: Name
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    base: Commit
    head: Commit


class JobEvent(Part, frozen=True, kw_only=True):
    """Something of a job under way. `number` counts within the lease, so that an event that is sent twice is kept once."""

    number: Count
    kind: Annotated[str, Meta(pattern=r"^[a-z][a-z-]{0,40}(?![\s\S])")]
    at: Moment
    data: FreeJson


class JobEvents(Part, frozen=True, kw_only=True):
    events: tuple[JobEvent, ...]


class JobEnd(Part, frozen=True, kw_only=True):
    """How a job ended, and the run that was uploaded for it."""

    outcome: JobOutcome
    reason: Annotated[str, Meta(max_length=8000)] | None = None
    run: str | None = None


class Heartbeat(Part, frozen=True, kw_only=True):
    """Answers whether the job is to be cancelled."""

    cancel: bool
