"""The parameters of an installation, checked as a whole: service, name and program of the worker."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import is_rehearsal
from cliffwatch_runner.plan.arguments import platform_problem

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_PROGRAM = re.compile(r"/[\w/.+@-]+", re.ASCII)
"""Paths that systemd accepts as a program without quoting."""
_TOKEN = re.compile(r"[!-~]{8,4096}")

CLOSED = (Path("/home"), Path("/root"), Path("/run/user"))
"""Folders that ProtectHome= hides from a service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationOrder:
    """A worker as requested from `cliffwatch host install`."""

    url: str
    platform: str
    modes: tuple[str, ...]
    name: str
    token: str
    program: Path
    """The host's `cliffwatch`."""

    hours: float
    """Maximum duration of a job."""

    @property
    def tunes(self) -> bool:
        """True if it needs KVM and root's tuning helper."""
        return "walltime" in self.modes


def check_order(order: InstallationOrder) -> Iterator[Failure]:
    """Yields everything that is wrong with the parameters, independent of the host."""
    yield from _wrong_url(order.url)
    yield from platform_problem(order.platform)
    if is_rehearsal(order.platform):
        yield wrong_usage(
            f"--platform: {order.platform!r} is for rehearsals, which need no bench host",
            "start `cliffwatch worker --mode walltime --accel tcg` by hand",
        )
    if not _NAME.fullmatch(order.name):
        yield wrong_usage(
            f"--name: {order.name!a} is not a valid host name",
            "use letters, digits, '-', '.' and '_', such as rome-1, and the name that the token was made for",
        )
    if not _TOKEN.fullmatch(order.token):
        yield wrong_usage(
            "--token-file: the file does not contain a token",
            "write one line, as `cliffwatch token make NAME --scope work --host NAME` prints it",
        )
    yield from _wrong_program(order.program)


def _wrong_url(url: str) -> Iterator[Failure]:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not url.isascii() or not url.isprintable() or " " in url:
        yield wrong_usage(
            f"--url: {url!a} is not a service URL",
            "give it as https://bench.example.org or http://10.0.0.5:8000",
        )
    elif "@" in parts.netloc or parts.query or parts.fragment:
        yield wrong_usage(
            "--url: the service URL must not have a user, password, query or fragment",
            "everybody can read units; only the token identifies this host: --token-file",
        )


def _wrong_program(program: Path) -> Iterator[Failure]:
    if not _PROGRAM.fullmatch(str(program)) or ".." in program.parts:
        yield wrong_usage(
            f"--program: {str(program)!a} is not a path that a unit can start",
            "install Cliffwatch in a plain path, such as /opt/cliffwatch,"
            " and name /opt/cliffwatch/.venv/bin/cliffwatch",
        )
    elif any(program.is_relative_to(folder) for folder in CLOSED):
        yield not_for_services(program)


def not_for_services(path: Path) -> Failure:
    return wrong_usage(
        f"the worker's service cannot reach home directories, and {path} is in one",
        "install Cliffwatch in /opt/cliffwatch with the system's Python,"
        " and run that cliffwatch or name it with --program",
    )
