"""Builds kernels, named by a digest of tree, configuration and tools. No kernel is built twice."""

import hashlib
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.values import Part
from cliffwatch_runner import clock
from cliffwatch_runner.build.kernel_config import Fragments, check_config
from cliffwatch_runner.build.outputs import MIB, CacheRecipe, Output, save_failure_log, unfit_output
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BUILD, BuildSettings, Worktree
from cliffwatch_runner.build.worktree_pool import lock_worktree
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree

_STEP = re.compile(
    r"(?m)^[^\S\n]++(?:CC|AS|LD|AR|HOSTCC|HOSTLD|OBJCOPY|BTF\w*|VDSO\w*|GEN|UPD|SYSMAP|BUILD)[^\S\n]++(?:\[M\][^\S\n]++)?(\S+)"
)
_FIRST_BUILD_STEPS = 1780
_RECIPE = "1"
"""Increase it when a change to the build changes its result."""

OUTPUTS = (
    Output(path=".config", name="config", bytes=4 * MIB),
    Output(path="arch/x86/boot/bzImage", name="bzImage", bytes=512 * MIB),
    Output(path="btf", name="btf", bytes=128 * MIB),
    Output(path="System.map", name="System.map", bytes=128 * MIB),
)
"""The limits are several times the sizes of any known kernel."""

RECORD = "kernel.json"
INITRAMFS = "initramfs"
"""File name in the entry of a kernel that needs an initramfs."""


class KernelRecord(Part, frozen=True, kw_only=True):
    """Record of a kernel's cache entry."""

    notes: tuple[str, ...]
    config_digest: str
    seconds: float
    """Duration of the build; only for people who inspect the cache."""
    release: str
    prebuilt: bool = False
    """See `Kernel`."""
    shows_config: bool = True
    """See `Kernel`."""


_ENTRY = CacheRecipe(outputs=OUTPUTS, record=RECORD, kind=KernelRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel in the cache."""

    digest: str
    folder: Path
    """Has bzImage, config, btf and kernel.json.

    Also build.log and System.map if the kernel was built here.
    """
    was_there: bool
    """True if it came from the cache."""
    notes: tuple[str, ...]
    config_digest: str
    """SHA-256 of its configuration, hexadecimal."""
    release: str
    """Version of the source; for a prebuilt kernel the output of `uname -r`."""
    prebuilt: bool
    """True if it was built elsewhere (cliffwatch_runner.build.prebuilt).

    It has an initramfs if its drivers are modules.
    """
    shows_config: bool
    """True if the guest can read the kernel's configuration."""

    @property
    def btf(self) -> Path:
        return self.folder / "btf"

    @property
    def given_config(self) -> Path | None:
        """Configuration file to check the guest with, if the kernel does not show its own; otherwise None."""
        return None if self.shows_config else self.folder / "config"

    @property
    def initramfs(self) -> Path | None:
        path = self.folder / INITRAMFS
        return path if path.exists() else None


def kernel_digest(revision: Revision, fragments: Fragments, toolchain: Toolchain, trust: Trust) -> str:
    """Returns the name of the image.

    Equal trees, configurations and tools share an image, whatever the commits.

    Trusts share none: a kernel built among trees from outside must not enter the history of a followed
    branch.
    """
    tools = (toolchain.kernel_identity, toolchain.image or "")
    parts = (_RECIPE, revision.tree, fragments.digest, *tools, *trust_names(trust))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def trust_names(trust: Trust) -> tuple[str, ...]:
    """Returns the parts that a trust adds to the digests of built things."""
    return () if trust == "local" else (trust,)


def worktree_name(toolchain: Toolchain) -> str:
    """Returns the name of a worktree, which all configurations share.

    kbuild knows which files depend on an option and rebuilds only these.
    """
    return toolchain.kernel_identity


def build_kernel(
    tree: Tree, revision: Revision, *, fragments: Fragments, toolchain: Toolchain, settings: BuildSettings
) -> Kernel | Failure:
    """Returns the kernel of a revision, from the cache or built now.

    After a failure the log is kept in `failures/`.

    Raises Stopped if the user asked to stop, OSError if the cache cannot be written.
    """
    digest = kernel_digest(revision, fragments, toolchain, settings.trust)
    folder = settings.built / "kernels" / digest
    kernel = cached_kernel(folder, settings)
    if kernel is not None:
        return kernel
    with settings.hold_lock(digest, "kernel"):
        return cached_kernel(folder, settings) or _build(
            tree, revision, fragments, toolchain, settings, folder
        )


def cached_kernel(folder: Path, settings: BuildSettings, *, was_there: bool = True) -> Kernel | None:
    """Returns the kernel of an entry and marks the entry as in use; None if there is none."""
    record = _ENTRY.read(folder, settings.uses)
    if record is None:
        return None
    return Kernel(
        digest=folder.name,
        folder=folder,
        was_there=was_there,
        notes=record.notes,
        config_digest=record.config_digest,
        release=record.release,
        prebuilt=record.prebuilt,
        shows_config=record.shows_config,
    )


def _build(
    tree: Tree,
    revision: Revision,
    fragments: Fragments,
    toolchain: Toolchain,
    settings: BuildSettings,
    folder: Path,
) -> Kernel | Failure:
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
        given = Path(temporary)
        (given / "fragment").write_text(fragments.text)
        with lock_worktree(worktree_name(toolchain), settings, given) as worktree:
            settings.report_progress(None, "checking out")
            failure = worktree.check_out(tree, revision)
            log = worktree.log("build")
            if failure is None:
                failure = _configure(worktree, fragments, toolchain, log)
            if failure is None:
                steps = _Steps(worktree.folder / "steps", settings.report_progress)
                failure = worktree.make([*_make(worktree, toolchain), "bzImage"], log, steps.count)
            if failure is None:
                steps.remember()
                failure = _dump_btf(worktree, log)
            if failure is None:
                describe = partial(_record, fragments, revision, clock.monotonic() - began)
                failure = _ENTRY.store(folder, worktree.output, log, describe)
                if failure is not None:
                    worktree.distrust_output()
            if failure is not None:
                save_failure_log(failure, log, settings.cache, folder.name)
                return failure
    kernel = cached_kernel(folder, settings, was_there=False)
    assert kernel is not None
    return kernel


def _record(fragments: Fragments, revision: Revision, seconds: float, copies: Path) -> KernelRecord | Failure:
    config = (copies / "config").read_bytes()
    failure, notes = check_config(fragments.wanted, config.decode(errors="replace"))
    if failure is not None:
        return failure
    return KernelRecord(
        seconds=round(seconds, 1),
        notes=tuple(notes),
        config_digest=hashlib.sha256(config).hexdigest(),
        release=revision.release,
    )


def _make(worktree: Worktree, toolchain: Toolchain) -> list[str]:
    cc = Path(toolchain.cc.program).name
    suffix = cc.removeprefix("clang")
    llvm = [f"LLVM={suffix or 1}"] if toolchain.cc.name == "clang" else []
    return [
        *("make", "-C", str(worktree.source), f"O={BUILD}", "ARCH=x86_64", *llvm),
        *(
            f"CC={worktree.compiler(toolchain.cc.program)}",
            f"PAHOLE={toolchain.pahole.program}",
            "LOCALVERSION=",
        ),
    ]


def _configure(worktree: Worktree, fragments: Fragments, toolchain: Toolchain, log: Path) -> Failure | None:
    """Generates the configuration and checks it before any time is spent on a build."""
    fragment = f"KCONFIG_ALLCONFIG={worktree.given('fragment')}"
    failure = worktree.make([*_make(worktree, toolchain), fragment, "allnoconfig"], log)
    if failure is not None:
        return failure
    config = worktree.output.read(OUTPUTS[0].path, limit=OUTPUTS[0].bytes)
    if isinstance(config, UnfitFile):
        worktree.distrust_output()
        return unfit_output(config)
    return check_config(fragments.wanted, config.decode(errors="replace"))[0]


def _dump_btf(worktree: Worktree, log: Path) -> Failure | None:
    """Keeps the types of vmlinux, from which bench is built, without its 200 MB of debug information."""
    clear = ["rm", "-rf", "--", f"{worktree.build}/btf"]
    dump = [
        "objcopy",
        "--dump-section",
        f".BTF={worktree.build}/btf",
        f"{worktree.build}/vmlinux",
        "/dev/null",
    ]
    return worktree.make(clear, log) or worktree.make(dump, log)


class _Steps:
    """Estimates the progress of a build from make's output lines.

    The first build is compared with a fixed count.
    """

    def __init__(self, memory: Path, report_progress: Callable[[float | None, str], None]) -> None:
        self._memory = memory
        self._report_progress = report_progress
        self._expected = _FIRST_BUILD_STEPS if not memory.exists() else None
        self._count = 0

    def count(self, output: str) -> None:
        steps = _STEP.findall(output)
        self._count += len(steps)
        if steps:
            share = min(0.99, self._count / self._expected) if self._expected else None
            self._report_progress(share, steps[-1])

    def remember(self) -> None:
        self._memory.write_text(f"{self._count}\n")
