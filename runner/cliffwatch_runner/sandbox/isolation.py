"""The choice of isolation between a tree's code and this host: the strongest that works here; none only where
the user asks for it.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner.host.programs import container_engine
from cliffwatch_runner.host.surroundings import find_isolation_gap
from cliffwatch_runner.sandbox.namespaces import TRUST, NamespaceRefusal, bubblewrap_refusal
from cliffwatch_runner.sandbox.sandbox import Level, Sandbox
from cliffwatch_runner.sandbox.seccomp_filter import filter_program
from cliffwatch_runner.sandbox.unprivileged_user import out_of_reach, unprivileged_user

IsolationChoice = Level | Literal["auto"]
"""The isolation that was asked for: the strongest that works here, or the one named."""

_PLAIN = re.compile(r"[\w/.,+@%=~-]+")
"""Paths that make takes as one word, and a shell as they are."""


def choose_sandbox(wanted: IsolationChoice, image: str | None) -> Sandbox | Failure:
    """The sandbox for builds, or why there is none and what to do about it."""
    if image is None and wanted == "container" and find_isolation_gap() is None:
        return Sandbox(level="container", user=unprivileged_user())
    if image is not None or wanted == "container":
        return _container(wanted, image)
    if wanted == "none":
        return Sandbox(level="none", user=unprivileged_user())
    refusal = _refusal()
    if refusal is None:
        return Sandbox(level="bubblewrap", user=unprivileged_user(), calls=filter_program())
    return refusal.failure(TRUST)


@cache
def _refusal() -> NamespaceRefusal | None:
    """Asked once in a run, which has a process of its own."""
    return bubblewrap_refusal()


def choose_guest_sandbox(wanted: IsolationChoice) -> Sandbox | Failure:
    """The sandbox in which emulators run: bubblewrap, or none where the user asks for it. Of containers only
    the one that all of this runs in: another would have to hold them.
    """
    if wanted == "container" and find_isolation_gap() is not None:
        wanted = "auto"
    return choose_sandbox(wanted, None)


def _container(wanted: IsolationChoice, image: str | None) -> Sandbox | Failure:
    if wanted not in ("auto", "container") or image is None:
        return wrong_usage(
            "--build-image names a container's image, and --isolation container needs one: "
            + (find_isolation_gap() or ""),
            "give both, or neither",
        )
    engine = container_engine()
    if engine is None:
        return host_failed(
            "there is no container engine to build in", "install docker or podman, or leave --build-image out"
        )
    return Sandbox(level="container", user=unprivileged_user(), image=image, engine=engine)


def unreachable(sandbox: Sandbox, paths: Sequence[Path]) -> Failure | None:
    """Without a view of its own, a tree's code gets to its folders only where its user may go."""
    if sandbox.fixed_paths or sandbox.user is None:
        return None
    for path in paths:
        closed = out_of_reach(sandbox.user, path.absolute())
        if closed is not None:
            return host_failed(
                f"a tree's code does not run as root, and as user {sandbox.user.uid} it does not get into"
                f" {closed}",
                "run cliffwatch as an ordinary user, or put the cache, the results and Cliffwatch itself"
                " where all users get to (--cache /var/cache/cliffwatch --out /var/tmp/cliffwatch-results, a"
                " checkout in /srv)",
            )
    return None


def find_path_problem(level: Level, paths: Sequence[Path]) -> Failure | None:
    """Make takes spaces and colons in a path for ends of words; bubblewrap and containers show builds plain
    paths instead.
    """
    odd = next((path for path in paths if not _PLAIN.fullmatch(str(path))), None)
    if odd is None or level != "none":
        return None
    return host_failed(
        f"a kernel cannot be built under {str(odd)!r}, as make does not take such a path",
        "name a folder without spaces with --cache (or TMPDIR), or use bubblewrap, with which any path"
        " will do",
    )


def isolation_sentence(level: Level) -> str:
    """One line for the report."""
    return {
        "bubblewrap": "built without network and without your home (bubblewrap)",
        "container": "built in a container without network",
        "none": (
            "built and booted WITHOUT isolation, with your files and the network in reach (--isolation none)"
        ),
    }[level]
