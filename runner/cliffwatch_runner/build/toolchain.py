"""Finds the tools that build a kernel and its bench, and checks them against the needs of a tree."""

import hashlib
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import process
from cliffwatch_runner.host.programs import (
    Version,
    container_engine,
    installed_llvms,
    parse_version,
    version_in,
)
from cliffwatch_runner.source.revision import Revision, read_blob

_CLANG = re.compile(r"clang(-\d+)?")
_CLANG_AT_END = re.compile(r"clang(-\d+)$")
_ECHOED = re.compile(r"echo (\d[\d.]*)")
_PACKAGES = {
    "gcc": "gcc",
    "clang": "clang (clang-19 in Debian 12, clang-22 in Debian 13)",
    "llc": "llvm-19",
    "llvm-strip": "llvm-19",
    "pahole": "dwarves (1.24 in Debian 12, 1.30 in Debian 13)",
    "ld": "binutils",
    "make": "make",
    "bc": "bc",
    "flex": "flex",
    "bison": "bison",
}
PLAIN_TOOLS = ("make", "bc", "flex", "bison")
"""Tools of the kernel's build of which any version will do."""

_BTF_PAHOLE: Version = (1, 22)
_ASK_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """Tools that the user named; None leaves the choice to `cliffwatch`."""

    cc: str | None
    clang: str | None
    pahole: str | None
    build_image: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program of the toolchain."""

    name: str
    program: str
    """Command that calls it."""
    version: Version
    """Parsed from `version_line`; empty if that has no version."""
    version_line: str
    """The line of its `--version` output that has the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The tools of a build."""

    cc: Tool
    clang: Tool
    """Compiles BPF programs."""
    llc: Tool
    llvm_strip: Tool
    pahole: Tool
    ld: Tool
    image: str | None
    """Container image that has the tools; None for the host's own."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (self.cc, self.clang, self.llc, self.llvm_strip, self.pahole, self.ld)

    @property
    def kernel_identity(self) -> str:
        """Digest of the tools on which the kernel's code depends."""
        return _digest(self.cc, self.ld, self.pahole)

    @property
    def bench_identity(self) -> str:
        """Digest of the tools on which bench's code depends."""
        return _digest(self.cc, self.clang, self.llvm_strip)

    def record(self) -> dict[str, object]:
        return {**{tool.name: tool.version_line for tool in self.tools}, "image": self.image}


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Tool versions that a tree requires."""

    versions: tuple[tuple[str, Version, str], ...]
    """Tool, minimum version, and the source of the requirement."""


def find_toolchain(choice: ToolChoice) -> Toolchain | tuple[Failure, ...]:
    """Returns the named tools; by default the host's newest clang and plain gcc and pahole.

    If tools are missing, returns one Failure for each of them.
    """
    if choice.build_image is None:
        choice = replace(
            choice, **{name: _whole_path(getattr(choice, name)) for name in ("cc", "clang", "pahole")}
        )
    suffix = _llvm_suffix(choice)
    cc = choice.cc or "gcc"
    wanted = {
        "clang" if "clang" in Path(cc).name else "gcc": cc,
        "bpf-clang": choice.clang or f"clang{suffix}",
        "llc": _beside(choice.clang, f"llc{suffix}"),
        "llvm-strip": _beside(choice.clang, f"llvm-strip{suffix}"),
        "pahole": choice.pahole or "pahole",
        "ld": f"ld.lld{suffix}" if "clang" in Path(cc).name else "ld",
    }
    missing = (
        [] if choice.build_image else [_missing(name) for name in PLAIN_TOOLS if shutil.which(name) is None]
    )
    tools: dict[str, Tool] = {}
    for name, program in wanted.items():
        tool = query_tool(name, program, choice.build_image)
        if isinstance(tool, Failure):
            missing.append(tool)
        else:
            tools[name] = tool
    if missing:
        return tuple(missing)
    first, bpf, llc, strip, pahole, ld = (tools[name] for name in wanted)
    return Toolchain(
        cc=first, clang=bpf, llc=llc, llvm_strip=strip, pahole=pahole, ld=ld, image=choice.build_image
    )


def _whole_path(program: str | None) -> str | None:
    """Makes a path absolute, since builds run in other folders; a name stays a name."""
    return str(Path(program).absolute()) if program is not None and "/" in program else program


def _beside(clang: str | None, name: str) -> str:
    """Returns the tool of a clang that was named by its path, if it is in the same folder."""
    if clang is None or "/" not in clang:
        return name
    own = Path(clang).with_name(name)
    return str(own) if own.exists() else name


def _llvm_suffix(choice: ToolChoice) -> str:
    if choice.clang is not None:
        match = _CLANG_AT_END.search(choice.clang)
        return match[1] if match else ""
    if choice.build_image is not None:
        return _newest_llvm(_programs_of(choice.build_image))
    found = installed_llvms()
    # Without a whole one the newest is asked again, so that the failure names what it lacks.
    chosen = next((llvm for llvm in found if llvm.whole), found[0] if found else None)
    return chosen.suffix if chosen is not None else ""


def _newest_llvm(programs: Collection[str]) -> str:
    """Returns the suffix of the newest clang that comes with llc and llvm-strip.

    The suffix is empty if only the unversioned clang has them, or none.
    """
    suffixes = {match[1] or "" for program in programs if (match := _CLANG.fullmatch(program))}
    whole = [suffix for suffix in suffixes if {f"llc{suffix}", f"llvm-strip{suffix}"} <= set(programs)]
    return max(whole, key=lambda suffix: int(suffix.removeprefix("-") or 0), default="")


def _programs_of(image: str) -> tuple[str, ...]:
    """Returns the names of the programs on PATH in an image; empty if the image cannot be started.

    In that case the later query for its tools reports the failure.
    """
    listing = 'IFS=:; for folder in $PATH; do ls "$folder" 2>/dev/null; done; true'
    try:
        ended = process.run([*_in_image(image), "sh", "-c", listing], deadline=5 * _ASK_SECONDS)
    except OSError:
        return ()
    return tuple(ended.output.split()) if ended.ok else ()


def _in_image(image: str) -> list[str]:
    return [container_engine() or "docker", "run", "--rm", "--network", "none", image]


def query_tool(name: str, program: str, image: str | None = None) -> Tool | Failure:
    """Returns a program with the version that it prints, in the container image if one is named."""
    engine = _in_image(image) if image else []
    try:
        ended = process.run([*engine, program, "--version"], deadline=_ASK_SECONDS * (5 if image else 1))
    except OSError:
        return _missing(name, program, image)
    if not ended.ok and image is not None:
        return _missing(name, program, image)
    if not ended.ok:
        return _broken_tool(program, ended)
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    # LLVM's tools begin with the project's name and print the version on a later line.
    line = next((line for line in lines if version_in(line)), lines[0] if lines else "")
    return Tool(name=name, program=program, version=parse_version(version_in(line)), version_line=line[:200])


def find_package(name: str) -> str:
    """Returns the package that contains a tool."""
    return _PACKAGES.get(name.removeprefix("bpf-"), name)


def _missing(name: str, program: str | None = None, image: str | None = None) -> Failure:
    if image is not None:
        return host_failed(
            f"{program or name} is missing in the image {image}",
            "build the image with it (images/toolchain has all), or check that the engine starts it",
        )
    package = find_package(name)
    return host_failed(f"{program or name} is missing", f"install {package}, or run `make packages`")


def _broken_tool(program: str, ended: process.Finished) -> Failure:
    how = "does not answer" if ended.timed_out else f"fails with status {ended.status}"
    return host_failed(
        f"{program} is installed, but `{program} --version` {how}",
        f"run `{program} --version` as this user, and install {program} again if it fails there too",
        ended.output[-2000:],
    )


def needs_of(mirror: Path, revision: Revision) -> Needs:
    """Returns the tool versions that the tree requires.

    Sources: scripts/min-tool-version.sh (gcc, llvm), and PAHOLE_VERSION in Kconfig files. No file states the
    needs of bench: kfunc prototypes reach vmlinux.h through pahole's decl_tag_kfuncs from 1.27 on, and the
    selftests of linux 7.0 and later declare no kfuncs themselves; their arena programs need a clang newer
    than 19.
    """
    script = read_blob(mirror, revision, "scripts/min-tool-version.sh") or ""
    versions = [("pahole", _BTF_PAHOLE, "CONFIG_DEBUG_INFO_BTF")]
    for tool, names in (("gcc", "gcc"), ("clang", "llvm")):
        _, _, after = f"\n{script}".partition(f"\n{names})\n")
        # The last branch is that of the common architectures.
        named = _ECHOED.findall(after.partition(";;")[0])
        if named:
            versions.append((tool, parse_version(named[-1]), "scripts/min-tool-version.sh"))
    if revision.major_minor >= (7, 0):
        versions.append(("pahole", (1, 27), "bench takes kfunc prototypes from vmlinux.h (decl_tag_kfuncs)"))
        versions.append(("bpf-clang", (20,), "bench's arena declarations"))
    return Needs(versions=tuple(versions))


def find_outdated_tools(needs: Needs, toolchain: Toolchain, revision: Revision) -> tuple[Failure, ...]:
    """Returns a failure for each tool that is too old for a tree, with the way to get a newer one."""
    least: dict[str, tuple[Version, str]] = {}
    for name, version, why in needs.versions:
        if name not in least or version > least[name][0]:
            least[name] = (version, why)
    failures: list[Failure] = []
    for tool in toolchain.tools:
        version, why = least.get(tool.name, ((), ""))
        if version and tool.version and tool.version < version:
            failures.append(_too_old(tool, version, why, revision))
    return tuple(failures)


def _too_old(tool: Tool, version: Version, why: str, revision: Revision) -> Failure:
    option = {"pahole": "--pahole", "bpf-clang": "--clang"}.get(tool.name, "--cc")
    wanted, have = (".".join(map(str, each)) for each in (version, tool.version))
    return host_failed(
        f"linux {revision.release} needs {tool.name.removeprefix('bpf-')} {wanted} or newer ({why});"
        f" {tool.program} is {have}",
        f"install a newer {_PACKAGES.get(tool.name.removeprefix('bpf-'), tool.name)} and name it with"
        f" {option}, or build in a container image that has one: --build-image IMAGE",
        tool.version_line,
    )


def _digest(*tools: Tool) -> str:
    text = "\n".join(f"{tool.name}: {tool.version_line}" for tool in tools)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
