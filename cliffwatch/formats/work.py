"""Messages about work between a service, its users and its hosts: requests, offers, leases and events."""

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from cliffwatch.formats.setup import MOST_FILES, NO_SETUP, Image, Setup, SetupContent
from cliffwatch.formats.values import Commit, Count, FreeJson, Moment, Name, Part
from cliffwatch.samples import BOOTS_PATTERN, DEFAULT_BOOTS, DEFAULT_MODE, SERVICE_PROFILE, Mode, Profile

JobOutcome = Literal["done", "kernel-failed", "not-possible", "host-failed", "cancelled", "given-back"]
"""`not-possible`: the request cannot be measured.

For example, no suite executes the change, or a patch does not apply.
"""

Priority = Literal["person", "push", "backfill", "watch"]
"""In the order of their numbers in the database. The service decides which goes first."""

PRIORITIES: tuple[Priority, ...] = get_args(Priority)
WATCH: Priority = "watch"
"""Of the service's own fresh comparisons and bisections."""

DEFAULT_PRIORITY: Priority = "person"

Trust = Literal["followed", "outside"]
"""Whose tree a job builds: a branch that the service follows, or anybody's."""

TRUSTS: tuple[Trust, ...] = get_args(Trust)


class Target(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A platform and a mode."""

    platform: Name
    mode: Mode = DEFAULT_MODE


class AskedWork(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A request: base..head of a tree, or the arms of its setup, on some targets."""

    tree: Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"^[a-z][a-z+]*://[^\s]+(?![\s\S])")]
    base: Commit | None = None
    head: Commit | None = None
    targets: Annotated[tuple[Target, ...], Meta(min_length=1, max_length=20)]
    suites: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()
    """Empty: the host measures what the change can affect (`auto`), unless the setup brings suites."""
    profile: Profile = SERVICE_PROFILE
    boots: Annotated[str, Meta(pattern=rf"^{BOOTS_PATTERN}(?![\s\S])")] = DEFAULT_BOOTS
    priority: Priority = DEFAULT_PRIORITY
    note: Annotated[str, Meta(max_length=1000)] = ""
    setup: Setup = NO_SETUP
    contents: Annotated[tuple[SetupContent, ...], Meta(max_length=MOST_FILES)] = ()
    """Contents of the setup's files."""


class AskedFiles(Part, frozen=True, kw_only=True):
    """The files of a request."""

    files: tuple[SetupContent, ...]


class HostOffer(Part, frozen=True, kw_only=True):
    """A host that asks for work."""

    host: Name
    platform: Name
    modes: Annotated[tuple[Mode, ...], Meta(min_length=1, max_length=2)]
    isolation: Literal["bubblewrap", "container", "none"]
    """How it isolates builds of foreign trees."""
    setups: bool = False
    """It takes jobs with a setup."""
    build_images: Annotated[tuple[Image, ...], Meta(max_length=50)] = ()
    """Images it may build in."""
    cpus: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    """Number of its CPUs; None if unknown."""
    about: FreeJson = msgspec.field(default_factory=dict)
    """What the hosts page shows of it."""


class Leased(Part, frozen=True, kw_only=True):
    """A lease and its job, by name."""

    lease: Name
    job: Name


class Work(Leased, frozen=True, kw_only=True):
    """A lease and its job."""

    trust: Annotated[str, Meta(extra_json_schema={"enum": [*TRUSTS]})] = "outside"
    """`followed` if base and head are on the job's followed branch, as the service's git knows it. Anything
    else is foreign code, of which a host keeps nothing.
    """
    heartbeat_seconds: Annotated[float, Meta(gt=0)]
    cancel: bool
    tree: Annotated[str, Meta(min_length=1, max_length=4000)]
    tree_access: Annotated[str, Meta(extra_json_schema={"enum": ["allowed", "public"]})] = "public"
    """`allowed` if an administrator vouches for the address; anything else must be public."""
    platform: Name
    mode: Mode
    suites: Annotated[tuple[Name, ...], Meta(max_length=200)]
    profile: Name
    boots: Name
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    base: Commit
    head: Commit
    setup: Setup = NO_SETUP


class JobEvent(Part, frozen=True, kw_only=True):
    """An event of a running job.

    `number` counts within the lease, so that an event sent twice is stored once.
    """

    number: Count
    kind: Annotated[str, Meta(pattern=r"^[a-z][a-z-]{0,40}(?![\s\S])")]
    at: Moment
    data: FreeJson


class JobEvents(Part, frozen=True, kw_only=True):
    events: tuple[JobEvent, ...]


class JobEnd(Part, frozen=True, kw_only=True):
    """How a job ended. `run` is the run that was uploaded for it; null if there is none."""

    outcome: JobOutcome
    reason: Annotated[str, Meta(max_length=8000)] | None = None
    run: str | None = None


class Heartbeat(Part, frozen=True, kw_only=True):
    """The answer to a heartbeat. `cancel` is true if the job should stop."""

    cancel: bool
