"""Chooses the isolation between a tree's code and this host.

It is the strongest that works here. Without isolation, code runs only if the user asks for that.
"""

import re
import socket
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner.host.programs import container_engine
from cliffwatch_runner.sandbox.namespaces import TRUST_ADVICE, NamespaceRefusal, bubblewrap_refusal
from cliffwatch_runner.sandbox.sandbox import Level, Sandbox
from cliffwatch_runner.sandbox.seccomp_filter import filter_program
from cliffwatch_runner.sandbox.unprivileged_user import find_closed_folder, unprivileged_user

IsolationChoice = Level | Literal["auto"]
"""The requested isolation: a level, or `auto` for the strongest that works here."""

_PLAIN = re.compile(r"[\w/.,+@%=~-]+")
"""Paths that make reads as one word and that a shell does not expand."""


def choose_sandbox(wanted: IsolationChoice, image: str | None) -> Sandbox | Failure:
    """Returns the sandbox for builds, or why there is none and what to do about it."""
    if image is None and wanted == "container" and find_isolation_gap() is None:
        return Sandbox(level="container", user=unprivileged_user())
    if image is not None or wanted == "container":
        return _container(wanted, image)
    if wanted == "none":
        return Sandbox(level="none", user=unprivileged_user())
    refusal = _refusal()
    if refusal is None:
        return Sandbox(level="bubblewrap", user=unprivileged_user(), calls=filter_program())
    return refusal.failure(TRUST_ADVICE)


@cache
def _refusal() -> NamespaceRefusal | None:
    """Cached for this process, which serves one run."""
    return bubblewrap_refusal()


def choose_guest_sandbox(wanted: IsolationChoice) -> Sandbox | Failure:
    """Returns the sandbox for emulators: bubblewrap, or none if the user asks for it.

    The only container it uses is the one that Cliffwatch itself runs in: any other would have to contain
    Cliffwatch.
    """
    if wanted == "container" and find_isolation_gap() is not None:
        wanted = "auto"
    return choose_sandbox(wanted, None)


def _container(wanted: IsolationChoice, image: str | None) -> Sandbox | Failure:
    if wanted not in ("auto", "container") or image is None:
        gap = find_isolation_gap()
        return wrong_usage(
            "--build-image names a container's image, and --isolation container needs one"
            + (f": {gap.message}" if gap is not None else ""),
            "give both, or neither",
        )
    engine = container_engine()
    if engine is None:
        return host_failed(
            "there is no container engine to build in", "install docker or podman, or leave --build-image out"
        )
    return Sandbox(level="container", user=unprivileged_user(), image=image, engine=engine)


def find_unreachable(sandbox: Sandbox, paths: Sequence[Path]) -> Failure | None:
    """Returns a Failure if the sandbox has no view of its own and its user cannot reach one of the paths."""
    if sandbox.fixed_paths or sandbox.user is None:
        return None
    for path in paths:
        closed = find_closed_folder(sandbox.user, path.absolute())
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
    """Refuses paths that make would split, such as at spaces or colons.

    bubblewrap and containers show the build plain paths instead, so there nothing is refused.
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
    """Returns the report's line about the isolation."""
    return {
        "bubblewrap": "built in a sandbox without network or your home (bubblewrap)",
        "container": "built in a container without network",
        "none": (
            "built and booted WITHOUT isolation, with your files and the network in reach (--isolation none)"
        ),
    }[level]


_OWN_CONTAINER = (
    "start it as docker-compose.yml does; without a container, `cliffwatch worker` builds by itself"
)
_MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files that mark the containers of Docker and Podman."""


def find_isolation_gap() -> Failure | None:
    """Returns why this process is not isolated; None if it runs in a container without a network."""
    if not any(Path(mark).exists() for mark in _MARKS):
        return wrong_usage("this is not a container", _OWN_CONTAINER)
    reached = sorted(name for _, name in socket.if_nameindex() if name != "lo")
    if reached:
        return wrong_usage(f"this container has a network ({', '.join(reached)})", _OWN_CONTAINER)
    return None
