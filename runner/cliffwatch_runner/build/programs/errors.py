"""Explains why a suite's program does not build, for the suite's author."""

import re
from dataclasses import replace

from cliffwatch.catalogue.suite import Program
from cliffwatch.failure import Failure
from cliffwatch_runner.build.errors import absent_program

_MODULES = re.compile(
    r"module lookup disabled by GOPROXY=off|no required module provides package|cannot find module providing"
    r" package"
    r"|missing go\.sum entry|updates to go\.mod needed|inconsistent vendoring"
)
_NEWER_GO = re.compile(r"go\.mod requires go >= (?P<wanted>[\d.]++)[^\n]{0,200}?running go (?P<have>[\d.]++)")
_NETWORK = re.compile(
    r"Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is"
    r" unreachable"
)


def blame_suite(failure: Failure, suite: str, program: Program, *, own: bool) -> Failure:
    """Turns a build failure into a failure of the suite's author if the suite is the user's own.

    For a suite of the catalogue, and for a failure of the host, it stays or becomes the host's.
    """
    about = f"suite {suite}: "
    if failure.whose == "host":
        return replace(failure, message=about + failure.message)
    message, next_step = _of_log(failure.evidence) or _of_build(failure, program, own=own)
    return replace(failure, whose="usage" if own else "host", message=about + message, next_step=next_step)


def _of_log(log: str) -> tuple[str, str] | None:
    """Returns what the isolated build lacks and what to do about it; None for an unknown cause."""
    if _MODULES.search(log):
        return (
            (
                "its program does not build: Go modules that it needs are not in the folder, and a build has"
                " no network"
            ),
            "run `go mod vendor` in the suite's folder (GOFLAGS=-mod=mod fetches nothing here)",
        )
    if newer := _NEWER_GO.search(log):
        return (
            f"its go.mod wants go {newer['wanted']}, and this host has {newer['have']}",
            "install that version, or lower the go line of go.mod",
        )
    if tool := absent_program(log):
        return (
            f"its program is built with {tool}, which is not there",
            f"install {tool} under /usr, or build in an image that has it: --build-image IMAGE",
        )
    if _NETWORK.search(log):
        return (
            "its program does not build: it wants the network, and a build has none",
            "put what it fetches into the suite's folder",
        )
    return None


def _of_build(failure: Failure, program: Program, *, own: bool) -> tuple[str, str]:
    what = failure.message
    if not own:
        return (
            "its program does not build on this host",
            "see the log for what is missing here, or leave the suite out",
        )
    if what.startswith("it builds, but "):
        return (
            what.replace("it builds, but suite/", "its program builds, but "),
            f"`build` ({program.build or 'none'}) must leave each file that `run` and `files` name",
        )
    return (
        "its program does not build" if what == "it does not build" else what,
        f"`{program.build}` runs in a copy of the suite's folder, without network and home: fix it there",
    )
