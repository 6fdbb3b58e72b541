"""Runs someone else's Makefiles without network, without the user's home, in a clean environment."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from cliffwatch_runner import process
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.guest_argv import view_of_host
from cliffwatch_runner.toolchain import container_engine

Level = Literal["bubblewrap", "container", "no network", "none"]

LANE = Path("/cliffwatch/lane")
CCACHE = Path("/cliffwatch/ccache")
GIVEN = Path("/cliffwatch/given")
_PROBE_SECONDS = 300.0
"""For a probe that takes milliseconds: on a host that is only busy a build must not lose its isolation."""

_PLAIN = re.compile(r"[\w/.,+@%=~-]+")
"""Paths that make takes as one word, and a shell as they are."""

_LEVELS_TOLD: Mapping[Level, str] = {
    "bubblewrap": "built without network and without your home (bubblewrap)",
    "container": "built in a container without network",
    "no network": "built without network, but as your user with your home in reach: install bubblewrap",
    "none": "built WITHOUT isolation, as your user, with network: install bubblewrap and allow user namespaces",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where a build runs: the lane and ccache, which it writes, and `given`, which it reads."""

    level: Level
    lane: Path
    ccache: Path
    given: Path
    image: str | None

    @property
    def fixed_paths(self) -> bool:
        """Whether a build sees its folders under the same names every time, wherever they lie on the host."""
        return self.level in ("bubblewrap", "container")

    def inside(self, path: Path) -> Path:
        """A host path of the lane, ccache or given folder as the build sees it."""
        if not self.fixed_paths:
            return path
        for host, seen in ((self.lane, LANE), (self.ccache, CCACHE), (self.given, GIVEN)):
            if path == host or host in path.parents:
                return seen / path.relative_to(host)
        raise ValueError(f"{path} is not shown to the build")

    def argv(self, command: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The command with the isolation around it."""
        if self.level == "container":
            return self._container(command, env)
        if self.level == "bubblewrap":
            return self._bubblewrap(command, env)
        clean = ["env", "-i", *(f"{name}={value}" for name, value in env.items())]
        unshared = ["unshare", "--net"] if self.level == "no network" else []
        return [*unshared, *clean, *command]

    def _bubblewrap(self, command: Sequence[str], env: Mapping[str, str]) -> list[str]:
        settings = [word for name, value in env.items() for word in ("--setenv", name, value)]
        return [
            *view_of_host(),
            *settings,
            *("--bind", str(self.lane), str(LANE), "--bind", str(self.ccache), str(CCACHE)),
            *("--ro-bind", str(self.given), str(GIVEN), "--chdir", str(LANE), "--"),
            *command,
        ]

    def _container(self, command: Sequence[str], env: Mapping[str, str]) -> list[str]:
        assert self.image is not None
        settings = [word for name, value in env.items() if name != "PATH" for word in ("--env", f"{name}={value}")]
        mounts = [(self.lane, LANE, ""), (self.ccache, CCACHE, ""), (self.given, GIVEN, ":ro")]
        volumes = [word for host, seen, how in mounts for word in ("--volume", f"{host}:{seen}{how}")]
        user = ["--user", f"{os.getuid()}:{os.getgid()}"]
        head = [container_engine(), "run", "--rm", "--network", "none", "--cap-drop", "ALL", *user]
        return [*head, *settings, *volumes, "--workdir", str(LANE), self.image, *command]


@cache
def strongest_level() -> Level:
    """The strongest isolation that this host really gives, found by trying it."""
    if _works([*view_of_host(), "--", "true"]):
        return "bubblewrap"
    return "no network" if _works(["unshare", "--net", "true"]) else "none"


def refused_path(level: Level, paths: Sequence[Path]) -> Failure | None:
    """Make takes spaces and colons in a path for ends of words; bubblewrap and containers show builds plain paths instead."""
    odd = next((path for path in paths if not _PLAIN.fullmatch(str(path))), None)
    if odd is None or level in ("bubblewrap", "container"):
        return None
    return Failure(
        whose="host",
        message=f"a kernel cannot be built under {str(odd)!r}, as make does not take such a path",
        next_step="name a folder without spaces with --cache (or TMPDIR), or install bubblewrap, with which any path will do",
    )


def told(level: Level) -> str:
    """One line for the report."""
    return _LEVELS_TOLD[level]


def _works(argv: Sequence[str]) -> bool:
    try:
        return process.run(argv, deadline=_PROBE_SECONDS).ok
    except OSError:
        return False


def build_environment(home: Path, jobs: int, path: str | None = None) -> dict[str, str]:
    """What a build knows of the world. Fixed names and times make the image depend on its sources alone."""
    return {
        "PATH": path or "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "MAKEFLAGS": f"-j{jobs}",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "cliffwatch",
        "KBUILD_BUILD_HOST": "cliffwatch",
        "KBUILD_BUILD_VERSION": "1",
    }


Progress = Callable[[str], None]
