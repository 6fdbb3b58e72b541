"""A host as a worker: its description, its leased jobs and its output for the operator."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure
from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import JobOutcome, Work
from cliffwatch.samples import Mode
from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.worker.builder.asking import Builders
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.spool import Spooled

Ending = JobOutcome | Literal["lost"]
"""How a job ended. `lost`: its lease ended first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHost:
    """A host as its service knows it."""

    name: str
    platform: str
    modes: tuple[Mode, ...]
    cache: Path
    command: tuple[str, ...]
    """`cliffwatch`."""

    env: Mapping[str, str]
    """The complete environment of its child processes."""

    build_images: tuple[str, ...] = ()
    """Images that it builds in; the first is the default. Empty: it builds with its own tools."""

    cpus: int | None = None
    """Number of CPUs; None if not known."""

    builders: Builders | None = None
    """Build and boot for this host; None if it does so itself."""

    limits: JobLimits = field(default_factory=JobLimits)
    about: FreeJson = field(default_factory=dict)
    """Shown on the service's hosts page."""

    unfit: Callable[[Mode], Failure | None] = lambda _: None
    """Called before each job: returns why this host cannot do it now; None if it can."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A host that works for a service."""

    client: Client
    host: WorkerHost
    say: Callable[[str], object]
    """Prints a line for the operator."""


@dataclass(frozen=True, slots=True)
class LeasedJob:
    """One job under a lease."""

    worker: Worker
    offer: Work
    """The job as the service offered it."""

    spooled: Spooled
    """Where its results are stored."""

    stop: threading.Event
    """Ends the job early."""

    @property
    def name(self) -> str:
        return self.offer.job

    @property
    def path(self) -> str:
        """URL path of the lease."""
        return f"/leases/{self.offer.lease}"

    def say(self, text: str) -> None:
        self.worker.say(f"job {self.name}{text}")


def printable(text: str) -> str:
    """Makes the output of a tree or guest safe to store and show.

    Replaces control characters except line ends.
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)
