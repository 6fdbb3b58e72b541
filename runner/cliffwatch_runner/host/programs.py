"""Finds the programs that a run calls on this host, and their versions."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cliffwatch_runner import process

Version = tuple[int, ...]

_DEADLINE_SECONDS = 120.0
"""Generous for an answer that takes milliseconds, so that no program counts as missing on a busy host."""

_DIGITS = re.compile(r"\d{1,18}")
_NUMBERS = re.compile(r"(?<![\w.-])v?(\d+(?:\.\d+)+|\d+(?=\s|$))")
_NEWEST_LLVM, _OLDEST_LLVM = 30, 13
_ASKED = {
    "qemu": "qemu-system-x86_64",
    "git": "git",
    "make": "make",
    "gcc": "gcc",
    "pahole": "pahole",
    "bc": "bc",
    "flex": "flex",
    "bison": "bison",
    "ccache": "ccache",
    "bwrap": "bwrap",
}
_GO_FOLDERS = "/usr/local/go/bin:/usr/lib/go/bin"
"""Folders of Go's own installer and of distributions, which are not on every PATH."""

_MOST_STEPS = 200
_UDEV_DAEMONS = ("usr/lib/systemd/systemd-udevd", "lib/systemd/systemd-udevd", "usr/sbin/udevd", "sbin/udevd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Llvm:
    """Versions of clang, llc and llvm-strip with a common suffix (`-19`, or empty); None if missing."""

    suffix: str
    clang: str | None
    llc: str | None
    llvm_strip: str | None

    @property
    def whole(self) -> bool:
        majors = {text.split(".")[0] if text else None for text in (self.clang, self.llc, self.llvm_strip)}
        return len(majors) == 1 and None not in majors


def program_versions() -> dict[str, str | None]:
    """Returns the version that each program prints, for the environment record; None if it is missing.

    The version is empty if a program runs but prints none.
    """
    versions = {name: _version_of(program) for name, program in _ASKED.items()}
    return {**versions, "virtme-ng": _distribution_version("virtme-ng")}


def installed_llvms() -> tuple[Llvm, ...]:
    """Returns every clang on PATH with the tools of its suffix, newest first; the plain `clang` is last."""
    suffixes = [f"-{number}" for number in range(_NEWEST_LLVM, _OLDEST_LLVM - 1, -1)] + [""]
    return tuple(
        Llvm(
            suffix=suffix,
            clang=_version_of(f"clang{suffix}"),
            llc=_version_of(f"llc{suffix}"),
            llvm_strip=_version_of(f"llvm-strip{suffix}"),
        )
        for suffix in suffixes
        if shutil.which(f"clang{suffix}")
    )


def parse_version(text: str | None) -> Version:
    """Returns the numbers of a version for comparison. Without a version it is empty, and older than any."""
    return tuple(int(part) for part in _DIGITS.findall(text or "")[:3])


def version_in(output: str) -> str:
    """Returns the first version number in a program's output; empty if there is none."""
    match = _NUMBERS.search(output)
    return match[1] if match else ""


def find_virtme_run() -> Path | None:
    """Finds `virtme-run`, which vng calls by name: in the virtual environment, or else on PATH."""
    beside = Path(sys.executable).parent / "virtme-run"
    if beside.exists():
        return beside
    on_path = shutil.which("virtme-run")
    return Path(on_path) if on_path else None


def find_udev(root: Path = Path("/")) -> Path | None:
    """Finds udev in a root file system. Links are resolved within it."""
    return next((root / name for name in _UDEV_DAEMONS if _path_exists(root, name)), None)


def _path_exists(root: Path, name: str) -> bool:
    """True if a path exists in a root file system. False if it has more links than Linux follows."""
    left, place = name.split("/")[::-1], root
    for _ in range(_MOST_STEPS):
        if not left:
            return place.exists()
        part = left.pop()
        place = (
            place.parent
            if part == ".." and place != root
            else place / part
            if part not in ("", ".", "..")
            else place
        )
        if place.is_symlink():
            target = str(place.readlink())
            left += target.split("/")[::-1]
            place = root if target.startswith("/") else place.parent
    return False


def find_go_root() -> Path | None:
    """Returns GOROOT of the `go` on PATH, with its compiler and standard library; None without a `go`."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), _GO_FOLDERS))
    environment = {
        "PATH": path,
        "HOME": "/nonexistent",
        "GOTOOLCHAIN": "local",
        "GOENV": "off",
        "GOTELEMETRY": "off",
    }
    try:
        asked = process.run(["go", "env", "GOROOT"], deadline=_DEADLINE_SECONDS, env=environment)
    except OSError:
        return None
    root = Path(asked.output.strip())
    return root.resolve() if asked.ok and root.is_absolute() and (root / "bin" / "go").exists() else None


def container_engine() -> str | None:
    """Returns the name of this host's container engine; None without one."""
    return next((name for name in ("docker", "podman") if shutil.which(name)), None)


def _version_of(program: str) -> str | None:
    try:
        ended = process.run([program, "--version"], deadline=_DEADLINE_SECONDS)
    except OSError:
        return None
    return version_in(ended.output)


def _distribution_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def guest_programs() -> tuple[Path, ...]:
    """Returns the folders of vng and its interpreter outside /usr: the virtual environment, and its base."""
    folders = (Path(sys.prefix), Path(sys.base_prefix))
    return tuple(dict.fromkeys(folder for folder in folders if not folder.is_relative_to("/usr")))
