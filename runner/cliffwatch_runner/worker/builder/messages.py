"""What a worker and a builder say to each other over a socket: one JSON object a line, the job first, its end last."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Final, Literal

from msgspec import Meta

from cliffwatch.formats.reading import Wrong, as_json, read_as
from cliffwatch.formats.values import Part

VERSION: Final = 2
SOCKET = "builder.sock"

LONGEST_LINE = 1 << 20
"""Bytes of a line. What builds and boots is somebody else's code, and could write in the builder's place."""


class BuilderJob(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One `cliffwatch run`. `tree` is a folder in which builder and worker see the same; `measured` are the words that say what is measured.

    With `resume` it goes on with what the builder's last job left: the worker knows that it was this one.
    """

    name: Annotated[str, Meta(pattern=r"^-*[A-Za-z0-9][A-Za-z0-9-]*(?![\s\S])")]
    tree: str
    measured: tuple[str, ...]
    profile: str
    mode: str
    platform: str
    boots: str
    seed: str
    resume: bool = False

    def argv(self, results: str, cache: str, trust: str) -> list[str]:
        """The arguments of `cliffwatch`."""
        return [
            "run",
            *("--tree", self.tree),
            *self.measured,
            *("--profile", self.profile, "--mode", self.mode),
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
    """A line of the builder's: an output, or the end."""

    output: str | None = None
    status: int | None = None
    timed_out: bool | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """What the run printed, in pieces."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the run: the status of `cliffwatch run`; `timed_out` where it took too long."""

    status: int
    timed_out: bool


def job_line(job: BuilderJob) -> bytes:
    """The first line of a conversation."""
    return json.dumps(as_json(_JobLine(version=VERSION, job=job))).encode() + b"\n"


def read_job(line: bytes) -> BuilderJob | None:
    """The job of a first line; None where it is none of this version."""
    given = read_as(line, _JobLine)
    return None if isinstance(given, Wrong) else given.job


def output_lines(text: str) -> Iterator[bytes]:
    """A piece of output, as lines that are not too long."""
    piece = LONGEST_LINE // 16  # a character may need twelve bytes
    for start in range(0, len(text), piece):
        yield json.dumps({"output": text[start : start + piece]}).encode() + b"\n"


def end_line(ended: Ended) -> bytes:
    """The last line."""
    return json.dumps(asdict(ended)).encode() + b"\n"


def read_answer(line: bytes) -> Output | Ended | None:
    """What a builder's line says; None where it says nothing that a builder says."""
    said = read_as(line, _Answer)
    if isinstance(said, Wrong):
        return None
    if said.output is not None:
        return Output(said.output)
    return None if said.status is None or said.timed_out is None else Ended(said.status, said.timed_out)
