"""A host as a worker: what it is, the jobs that it has leased, and whom it reports to."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import JobOutcome, Work
from cliffwatch.samples import Mode
from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.worker.builder.asking import Builders
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.spool import Spooled

Ending = JobOutcome | Literal["lost"]
"""How a job ended; lost, where its lease did so first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHost:
    """A host as its service knows it, which builds and boots itself or has `builders` do it. `command` is `cliffwatch`; `env` is all that its children see of the environment;
    `about` is what the service's hosts page shows of it. `build_images` are those that it builds in: the first one if nobody asks, its own
    tools where there is none. `unfit` says before each job why this host cannot do it now, None where it can.
    """

    name: str
    platform: str
    modes: tuple[Mode, ...]
    cache: Path
    command: tuple[str, ...]
    env: Mapping[str, str]
    build_images: tuple[str, ...] = ()
    cpus: int | None = None
    builders: Builders | None = None
    limits: JobLimits = field(default_factory=JobLimits)
    about: FreeJson = field(default_factory=dict)
    unfit: Callable[[Mode], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Worker:
    """A host at work for a service. `say` prints a line for its operator."""

    client: Client
    host: WorkerHost
    say: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class LeasedJob:
    """One job under a lease: `offer` is what the service gave, `spooled` where its results lie; `stop` ends it early."""

    worker: Worker
    offer: Work
    spooled: Spooled
    stop: threading.Event

    @property
    def name(self) -> str:
        return self.offer.job

    @property
    def path(self) -> str:
        """Where the service takes what concerns the lease."""
        return f"/leases/{self.offer.lease}"

    def say(self, text: str) -> None:
        self.worker.say(f"job {self.name}{text}")


def printable(text: str) -> str:
    """What a tree or a guest printed, as it can be stored and shown: no control characters but the ends of lines."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)
