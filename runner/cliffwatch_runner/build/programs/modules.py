"""Fetches the Go modules of a suite's program, outside the isolation of builds.

No code of a module is executed. go checks each module against go.sum or the checksum database. The build gets
the modules as a vendor folder beside the suite's own files.
"""

import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner import process
from cliffwatch_runner.build.programs.walled_go import FIXED, run_go_confined
from cliffwatch_runner.host.programs import find_go_root
from cliffwatch_runner.sandbox.limits import SandboxLimits
from cliffwatch_runner.sandbox.sandbox import Sandbox
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder
from cliffwatch_runner.source.go_modules import read_go_mod, required_modules
from cliffwatch_runner.source.suite_folder import PackedFolder, pack_folder

_FETCH_SECONDS = 900.0
_EVIDENCE = 4000
_LARGEST_LIST = 1 << 20

_VENDORED = re.compile(r"^# (?P<path>\S+)(?: (?P<version>v\S+))?(?P<replaced> => \S.*)?$", re.MULTILINE)

_ABSENT = re.compile(
    r"404 Not Found|410 Gone|no such file or directory|not available|unknown revision|no matching"
    r" versions|invalid version|malformed|unrecognized import path"
)
_UNREACHABLE = re.compile(
    r"dial tcp|no such host|i/o timeout|connection (?:refused|reset)|proxyconnect|TLS handshake|deadline"
    r" exceeded|x509:|GOPROXY=off|module proxy cannot be reached"
)
_NEWER_GO = re.compile(
    r"requires go >= (?P<wanted>\d[\d.]{0,30})[^\n]{0,200}?running go (?P<have>\d[\d.]{0,30}\d)"
)
_LACKING = re.compile(
    r"does not contain package (?P<package>\S+)|no required module provides package (?P<other>\S+?);"
)
_CHECKSUM_ERROR = re.compile(r"checksum mismatch|SECURITY ERROR|missing go\.sum entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedModules:
    """A suite's folder with the modules of its program."""

    packed: PackedFolder
    """The folder, including vendor/."""
    versions: Mapping[str, str]
    """Version of each vendored module by path; "a folder" for a module from a folder."""


def needs_modules(folder: Path, chosen: Mapping[str, Path | str]) -> bool:
    """True if modules must be fetched for a suite's program.

    That is so if it requires modules and has no vendor folder, or if modules were chosen. Never without
    go.mod.
    """
    text = read_go_mod(folder)
    if text is None:
        return False
    return bool(chosen) or (bool(required_modules(text)) and not (folder / "vendor").is_dir())


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchConfinement:
    """Confinement of go for modules that anybody may have chosen."""

    sandbox: Sandbox
    """Its only exit leads to the module proxies."""
    limits: SandboxLimits


def fetch_modules(
    suite: str,
    packed: PackedFolder,
    chosen: Mapping[str, Path | str],
    should_stop: Callable[[], bool],
    walls: FetchConfinement | None,
) -> FetchedModules | Failure:
    """Returns a suite's folder with the modules of its go.mod in vendor/.

    `chosen` maps modules to a version (or branch or commit) or a folder to use instead. Without `walls` go
    has the user's own settings and credentials. Raises Stopped; OSError if the host cannot write the modules.
    """
    with _unpacked(packed) as home:
        try:
            for argv in _commands(home, chosen, in_view=walls is not None and walls.sandbox.fixed_paths):
                ended = _run_go(argv, home, chosen, should_stop, walls)
                if isinstance(ended, Failure):
                    return ended
                if not ended.ok:
                    return _failure(suite, chosen, ended)
        except FileNotFoundError:
            return _no_go(suite)
        fetched = pack_folder(home / "suite", made=())
        if isinstance(fetched, Failure):
            return fetched
        return FetchedModules(packed=fetched, versions=_versions(UntrustedFolder(home / "suite")))


def _run_go(
    argv: Sequence[str],
    home: Path,
    chosen: Mapping[str, Path | str],
    should_stop: Callable[[], bool],
    walls: FetchConfinement | None,
) -> process.Finished | Failure:
    if walls is not None:
        folders = [how for _, how in sorted(chosen.items()) if isinstance(how, Path)]
        return run_go_confined(argv, home, folders, walls.sandbox, walls.limits, should_stop)
    return process.run(
        argv, deadline=_FETCH_SECONDS, cwd=home / "suite", env=_environment(), should_stop=should_stop
    )


@contextmanager
def _unpacked(packed: PackedFolder) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cliffwatch-modules-") as temporary:
        home = Path(temporary)
        with tarfile.open(fileobj=BytesIO(packed.archive)) as archive:
            # Python 3.11.2, as Debian 12 has it, knows no filters; names and links are those that
            # `pack_folder` took from below one folder.
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)
            archive.extractall(home / "suite")  # noqa: S202 - our own archive
        yield home


def _commands(home: Path, chosen: Mapping[str, Path | str], *, in_view: bool) -> Iterator[Sequence[str]]:
    """Yields the go commands.

    Chosen folders appear beside the suite's under fixed names, so that equal modules give equal bytes: as
    links, or, `in_view`, as mounts.
    """
    folders = ((name, how) for name, how in sorted(chosen.items()) if isinstance(how, Path))
    for number, (name, how) in enumerate(folders):
        if not in_view:
            (home / f"module-{number}").symlink_to(how.absolute())
        yield "go", "mod", "edit", f"-replace={name}=../module-{number}"
        yield "go", "get", "-t", "./..."
    versions = [f"{name}@{how}" for name, how in sorted(chosen.items()) if isinstance(how, str)]
    if versions:
        yield "go", "get", *versions
    yield "go", "mod", "vendor"


def _environment() -> dict[str, str]:
    """Returns the user's environment, with its proxy and credentials settings for go.

    go may not fetch another version of itself, because that would be executed.
    """
    root, path = find_go_root(), os.environ.get("PATH", os.defpath)
    path = path if root is None else f"{root}/bin:{path}"
    return {**os.environ, **FIXED, "PATH": path, "GOFLAGS": ""}


def _versions(folder: UntrustedFolder) -> dict[str, str]:
    listed = folder.read("vendor/modules.txt", limit=_LARGEST_LIST)
    text = "" if isinstance(listed, UnfitFile) else listed.decode(errors="replace")
    return {
        each["path"]: "a folder" if each["replaced"] else each["version"]
        for each in _VENDORED.finditer(text)
        if each["version"]
    }


def _no_go(suite: str) -> Failure:
    return host_failed(
        f"suite {suite}: go is missing, which fetches the modules of its program",
        "install Go on this host (a build image that has it is not enough), or run `go mod vendor` in the"
        " suite's folder",
    )


def _failure(suite: str, chosen: Mapping[str, Path | str], ended: process.Finished) -> Failure:
    """Explains why go did not get the modules.

    They may not exist, may need something that is missing, or may be unreachable from here.
    """
    said = ended.output
    named = ", ".join(
        f"{name}={how}" if isinstance(how, Path) else f"{name}@{how}" for name, how in chosen.items()
    )
    what = named or "the modules of its go.mod"
    if _UNREACHABLE.search(said) or ended.timed_out:
        return host_failed(
            f"suite {suite}: {what} cannot be fetched from here: {_last_line(said)}",
            "see to the network and to GOPROXY (`go env GOPROXY`), then give the same command again",
            said[-_EVIDENCE:],
        )
    message, next_step = _reason(what, said)
    return wrong_usage(f"suite {suite}: {message}", next_step, said[-_EVIDENCE:])


def _reason(what: str, said: str) -> tuple[str, str]:
    if newer := _NEWER_GO.search(said):
        return f"{what} wants go {newer['wanted']}, and this host has {newer['have']}", "install that version"
    if _CHECKSUM_ERROR.search(said):
        return f"go.sum has no checksum, or another one, of {what}", "run `go mod tidy` in the suite's folder"
    if lacking := _LACKING.search(said):
        package = lacking["package"] or lacking["other"]
        return f"{what} has no package {package}, which the suite uses", "name a version that has it"
    if _ABSENT.search(said):
        return f"there is no {what}", "see `go list -m -versions MODULE` for the versions that there are"
    return f"go does not take {what}: {_last_line(said)}", "see what go says of it below"


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")[
        :300
    ]
