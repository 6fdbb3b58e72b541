"""What a worker and a builder say to each other over a socket: one JSON object a line, the job first, its end last."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

VERSION = 1
SOCKET = "builder.sock"

LONGEST_LINE = 1 << 20
"""Bytes of a line. What builds and boots is somebody else's code, and could write in the builder's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderJob:
    """One `cliffwatch run`. `tree` is a folder in which builder and worker see the same; `base` and `head` are whole hashes.

    With `resume` it goes on with what the builder's last job left: the worker knows that it was this one.
    """

    name: str
    tree: str
    base: str
    head: str
    suites: str
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
            *("--tree", self.tree, "--base", self.base, "--head", self.head),
            *("--suite", self.suites, "--profile", self.profile, "--mode", self.mode),
            *("--platform", self.platform, "--boots", self.boots, "--seed", self.seed),
            *("--out", results, "--cache", cache, "--trust", trust, "--isolation", "container", "--format", "text"),
        ]


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
    return json.dumps({"version": VERSION, "job": asdict(job)}).encode() + b"\n"


def read_job(line: bytes) -> BuilderJob | None:
    """The job of a first line; None where it is none of this version."""
    content = _object(line)
    given = content.get("job") if content is not None and content.get("version") == VERSION else None
    kinds = {field.name: bool if field.name == "resume" else str for field in fields(BuilderJob)}
    if not isinstance(given, dict) or {name: type(value) for name, value in given.items()} != kinds:
        return None
    plain = given["name"].replace("-", "").isalnum() and given["name"].isascii()
    return BuilderJob(**given) if plain else None


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
    content = _object(line) or {}
    output, status, timed_out = content.get("output"), content.get("status"), content.get("timed_out")
    if isinstance(output, str):
        return Output(output)
    if isinstance(status, int) and isinstance(timed_out, bool):
        return Ended(status, timed_out)
    return None


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
