"""The protocol between worker and builder: one JSON object per line, first the job, last its end."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Final, Literal

from msgspec import Meta

from cliffwatch.formats.reading import as_json, read_as
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import is_rehearsal

VERSION: Final = 2
SOCKET = "builder.sock"

LONGEST_LINE = 1 << 20
"""Bytes per line. The code that is built and booted is untrusted, and could write in the builder's place."""


def accel_words(platform: str) -> tuple[str, ...]:
    """Returns the arguments with which a job of this platform is rehearsed; none for hardware and icount."""
    return ("--accel", "tcg") if is_rehearsal(platform) else ()


class BuilderJob(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One `cliffwatch run`."""

    name: Annotated[str, Meta(pattern=r"^-*[A-Za-z0-9][A-Za-z0-9-]*(?![\s\S])")]
    tree: str
    """A folder with the same content for builder and worker."""

    measured: tuple[str, ...]
    """The arguments that say what to measure."""

    profile: str
    mode: str
    platform: str
    boots: str
    seed: str
    resume: bool = False
    """True to continue the builder's last job. The worker knows that it was this one."""

    def argv(self, results: str, cache: str, trust: str) -> list[str]:
        """Returns the arguments of `cliffwatch`."""
        return [
            "run",
            *("--tree", self.tree),
            *self.measured,
            *("--profile", self.profile, "--mode", self.mode, *accel_words(self.platform)),
            *("--platform", self.platform, "--boots", self.boots, "--seed", self.seed),
            *(
                "--out",
                results,
                "--cache",
                cache,
                "--trust",
                trust,
                "--isolation",
                "container",
                "--format",
                "text",
            ),
        ]


class _JobLine(Part, frozen=True, kw_only=True):
    version: Literal[2]
    job: BuilderJob


class _Answer(Part, frozen=True, kw_only=True):
    """A line from the builder: output, or the end."""

    output: str | None = None
    status: int | None = None
    timed_out: bool | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of the run's output."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the run."""

    status: int
    """Exit status of `cliffwatch run`."""

    timed_out: bool
    """True if it took too long."""


def job_line(job: BuilderJob) -> bytes:
    """Returns the first line of a connection."""
    return json.dumps(as_json(_JobLine(version=VERSION, job=job))).encode() + b"\n"


def read_job(line: bytes) -> BuilderJob | None:
    """Returns the job of a first line; None if it is not a job of this version."""
    given = read_as(line, _JobLine)
    return None if isinstance(given, Problem) else given.job


def output_lines(text: str) -> Iterator[bytes]:
    """Splits output into lines of limited length."""
    piece = LONGEST_LINE // 16  # a character may need twelve bytes
    for start in range(0, len(text), piece):
        yield json.dumps({"output": text[start : start + piece]}).encode() + b"\n"


def end_line(ended: Ended) -> bytes:
    """Returns the last line of a connection."""
    return json.dumps(asdict(ended)).encode() + b"\n"


def read_answer(line: bytes) -> Output | Ended | None:
    """Parses a line from the builder; None if it is not one of its answers."""
    said = read_as(line, _Answer)
    if isinstance(said, Problem):
        return None
    if said.output is not None:
        return Output(said.output)
    return None if said.status is None or said.timed_out is None else Ended(said.status, said.timed_out)
