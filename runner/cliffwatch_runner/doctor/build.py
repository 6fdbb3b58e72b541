"""Checks of what building a kernel and its bench needs."""

from collections.abc import Iterator

from cliffwatch_runner.doctor.check import Check, Status
from cliffwatch_runner.doctor.facts import HostFacts
from cliffwatch_runner.host.programs import Llvm, parse_version
from cliffwatch_runner.sandbox.namespaces import TRUST_ADVICE

PYTHON = (3, 11)
PAHOLE_FOR_BTF = (1, 22)
PAHOLE_FOR_KFUNCS = (1, 27)
CACHE_BYTES = 12 << 30
LEAST_MEMORY_KIB = 2 << 20
ENOUGH_MEMORY_KIB = 4 << 20

_TOOLS = {
    "git": ("git", "kernel trees are git repositories"),
    "make": ("make", "the kernel is built with it"),
    "gcc": ("gcc", "it compiles the kernel"),
    "bc": ("bc", "the kernel's timer constants are computed with it"),
    "flex": ("flex", "the kernel's configuration language is scanned with it"),
    "bison": ("bison", "the kernel's configuration language is parsed with it"),
}
_HEADER_PACKAGES = {"libelf": "libelf-dev", "libssl": "libssl-dev", "zlib": "zlib1g-dev"}


def build_checks(facts: HostFacts) -> Iterator[Check]:
    yield python(facts)
    yield from (_tool(facts, name, package, why) for name, (package, why) in _TOOLS.items())
    yield llvm(facts)
    yield pahole(facts)
    yield headers(facts)
    yield ccache(facts)
    yield isolation(facts)
    yield disk(facts)
    yield memory(facts)


def python(facts: HostFacts) -> Check:
    good = parse_version(facts.python) >= PYTHON
    return Check(
        name="python",
        group="build",
        status="ok" if good else "fail",
        finding=facts.python,
        why="Cliffwatch is written for Python 3.11 and newer.",
        fixes=()
        if good
        else ("sudo apt install python3.11 python3.11-venv && make setup PYTHON=python3.11",),
    )


def _tool(facts: HostFacts, name: str, package: str, why: str) -> Check:
    version = facts.programs.get(name)
    missing = version is None
    return Check(
        name=name,
        group="build",
        status="fail" if missing else "ok",
        finding="not installed" if missing else version or "installed",
        why=f"{why[0].upper()}{why[1:]}.",
        fixes=(f"sudo apt install {package}",) if missing else (),
    )


def llvm(facts: HostFacts) -> Check:
    """Checks for clang with llc and llvm-strip of the same version. The newest complete set counts."""
    whole = next((each for each in facts.llvms if each.whole), None)
    return Check(
        name="llvm",
        group="build",
        status="fail" if whole is None else "ok",
        finding=_llvm_finding(facts.llvms, whole),
        why="clang compiles the BPF programs of bench; llc and llvm-strip must be of its version.",
        fixes=() if whole is not None else ("sudo apt install clang-19 llvm-19 lld-19",),
    )


def _llvm_finding(llvms: tuple[Llvm, ...], whole: Llvm | None) -> str:
    if whole is not None:
        return f"{whole.clang} (clang{whole.suffix}, llc{whole.suffix}, llvm-strip{whole.suffix})"
    if not llvms:
        return "clang is not installed"
    first = llvms[0]
    tools = ((f"clang{first.suffix}", first.clang), ("llc", first.llc), ("llvm-strip", first.llvm_strip))
    return ", ".join(f"{name} {_version_words(version)}" for name, version in tools)


def _version_words(version: str | None) -> str:
    """Describes a version. Empty means that the program exists but prints none."""
    return "missing" if version is None else version or "prints no version"


def pahole(facts: HostFacts) -> Check:
    version = facts.programs.get("pahole")
    numbers = parse_version(version)
    status: Status = "ok" if numbers >= PAHOLE_FOR_KFUNCS else "warn" if numbers >= PAHOLE_FOR_BTF else "fail"
    newer = (
        "Debian 12 has 1.24: build pahole 1.29 or newer from"
        " https://git.kernel.org/pub/scm/devel/pahole/pahole.git, or use Debian 13."
    )
    return Check(
        name="pahole",
        group="build",
        status=status,
        finding=version or "not installed",
        why=(
            "It writes the kernel's BTF. Without 1.22 `make olddefconfig` drops BTF silently;"
            " without 1.27 the bench of linux 7 does not build."
        ),
        fixes={"ok": (), "warn": (newer,), "fail": ("sudo apt install dwarves", newer)}[status],
    )


def headers(facts: HostFacts) -> Check:
    missing = facts.missing_headers
    packages = " ".join(_HEADER_PACKAGES[name] for name in missing)
    return Check(
        name="headers",
        group="build",
        status="fail" if missing else "ok",
        finding=f"missing: {', '.join(missing)}" if missing else "libelf, libssl, zlib",
        why="The kernel's own build tools, libbpf and bpftool are compiled against them.",
        fixes=(f"sudo apt install {packages}",) if missing else (),
    )


def ccache(facts: HostFacts) -> Check:
    version = facts.programs.get("ccache")
    return Check(
        name="ccache",
        group="build",
        status="ok" if version is not None else "warn",
        finding=version if version is not None else "not installed",
        why="It saves most of a second build when a header of the kernel changes.",
        fixes=() if version is not None else ("sudo apt install ccache",),
    )


def disk(facts: HostFacts) -> Check:
    free = facts.cache_free_bytes
    if not facts.cache_runs_programs:
        return Check(
            name="disk",
            group="build",
            status="fail",
            finding=f"{facts.cache} is on a file system that runs no programs (noexec)",
            why="A build runs tools that it has built there.",
            fixes=("Choose a folder on another file system with --cache DIR.",),
        )
    good = free is not None and free >= CACHE_BYTES
    return Check(
        name="disk",
        group="build",
        status="ok" if good else "fail",
        finding=f"{facts.cache} is on no file system"
        if free is None
        else f"{free / 2**30:.0f} GiB free for {facts.cache}",
        why="Two kernels with debugging information and the compiler's cache take up to 12 GiB.",
        fixes=() if good else ("Free some space there, or choose another folder with --cache DIR.",),
    )


def memory(facts: HostFacts) -> Check:
    available = facts.number("memory", "available_kib")
    known = available or 0
    status: Status = "ok" if known >= ENOUGH_MEMORY_KIB else "warn" if known >= LEAST_MEMORY_KIB else "fail"
    return Check(
        name="memory",
        group="build",
        status=status,
        finding="unknown" if available is None else f"{available / 2**20:.1f} GiB available",
        why="Linking a kernel with BTF and running a guest each take a few GiB.",
        fixes=() if status == "ok" else ("Stop what uses the memory: ps -eo rss,args --sort=-rss | head",),
    )


def isolation(facts: HostFacts) -> Check:
    """Without namespaces, neither builds nor guests run unless the user gives --isolation none."""
    refusal, unseen = facts.refusal, facts.unseen
    finding = "bubblewrap makes namespaces"
    fixes: tuple[str, ...] = ()
    if refusal is not None:
        finding, fixes = refusal.message, refusal.commands or (refusal.otherwise, TRUST_ADVICE)
    elif unseen is not None:
        finding, fixes = unseen.message, (unseen.next_step,)
    return Check(
        name="isolation",
        group="build",
        status="fail" if fixes else "ok",
        finding=finding,
        why="It keeps a tree's Makefiles and its kernel away from your files and the network.",
        fixes=fixes,
    )
