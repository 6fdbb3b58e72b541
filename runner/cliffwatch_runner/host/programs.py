"""Which programs this host has, and in which versions: the tools that a run calls."""

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
"""For an answer that takes milliseconds: a program of a busy host is not missing."""

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
"""Where go's own installer and distributions put it, which not every PATH names."""

_MOST_STEPS = 200
_UDEV_DAEMONS = ("usr/lib/systemd/systemd-udevd", "lib/systemd/systemd-udevd", "usr/sbin/udevd", "sbin/udevd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Llvm:
    """clang, llc and llvm-strip as they are called together: all plain, or all with one suffix (`-19`). Null
    is missing.
    """

    suffix: str
    clang: str | None
    llc: str | None
    llvm_strip: str | None

    @property
    def whole(self) -> bool:
        majors = {text.split(".")[0] if text else None for text in (self.clang, self.llc, self.llvm_strip)}
        return len(majors) == 1 and None not in majors


def program_versions() -> dict[str, str | None]:
    """For the environment record: the version that each program itself prints, null where it is missing.

    An empty version is a program that is there and prints none.
    """
    versions = {name: _version_of(program) for name, program in _ASKED.items()}
    return {**versions, "virtme-ng": _distribution_version("virtme-ng")}


def installed_llvms() -> tuple[Llvm, ...]:
    """Every clang on PATH with the tools of its suffix, newest first, the plain one last."""
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
    """Numbers of a version, for comparing; empty where there is none, which is older than any."""
    return tuple(int(part) for part in _DIGITS.findall(text or "")[:3])


def version_in(output: str) -> str:
    """The first version number in what a program prints of itself; empty where there is none."""
    match = _NUMBERS.search(output)
    return match[1] if match else ""


def find_virtme_run() -> Path | None:
    """`virtme-run`, which vng calls by name: beside this interpreter, where the virtual environment has it,
    or on PATH.
    """
    beside = Path(sys.executable).parent / "virtme-run"
    if beside.exists():
        return beside
    on_path = shutil.which("virtme-run")
    return Path(on_path) if on_path else None


def find_udev(root: Path = Path("/")) -> Path | None:
    """Of a root file system, whose links lead where they do in it."""
    return next((root / name for name in _UDEV_DAEMONS if _path_exists(root, name)), None)


def _path_exists(root: Path, name: str) -> bool:
    """Whether a path leads to something in a root file system; of more links than Linux follows, not."""
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
    """The folder of the `go` on PATH (GOROOT), which holds its compiler and standard library; None without a
    `go`.
    """
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
    """The container engine of this host, as it is called."""
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
    """Folders outside /usr that hold vng and its interpreter: the virtual environment and what it was made
    from.
    """
    folders = (Path(sys.prefix), Path(sys.base_prefix))
    return tuple(dict.fromkeys(folder for folder in folders if not folder.is_relative_to("/usr")))
