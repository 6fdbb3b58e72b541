"""Builds kernels, named by a digest of tree, configuration and tools. No kernel is built twice."""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.values import Part
from cliffwatch_runner import clock
from cliffwatch_runner.build.kernel_config import Fragments, check_config
from cliffwatch_runner.build.kernel_make import (
    CONFIG,
    CONFIG_BYTES,
    Steps,
    configure,
    dump_btf,
    kernel_make,
)
from cliffwatch_runner.build.layouts.matched import Matched, relink_matched
from cliffwatch_runner.build.layouts.relink import layout_entry, prepare_relink, relink, remove_padding
from cliffwatch_runner.build.outputs import MIB, CacheRecipe, Output, save_failure_log
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BuildSettings, Worktree
from cliffwatch_runner.build.worktree_pool import lock_worktree
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree

_RECIPE = "1"
"""Increase it when a change to the build changes its result."""

OUTPUTS = (
    Output(path=CONFIG, name="config", bytes=CONFIG_BYTES),
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
    """Duration of the build, or of the link of an image in another layout."""
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
    """Has bzImage, config, btf and kernel.json; build.log and System.map if the kernel was built here."""
    was_there: bool
    """True if it came from the cache."""
    notes: tuple[str, ...]
    config_digest: str
    """SHA-256 of its configuration, hexadecimal."""
    release: str
    """Version of the source; for a prebuilt kernel the output of `uname -r`."""
    prebuilt: bool
    """True if it was built elsewhere. It has an initramfs if its drivers are modules."""
    shows_config: bool
    """True if the guest can read the kernel's configuration."""
    layouts: Mapping[int, Path] = field(default_factory=dict)
    """Entries of the images with code elsewhere, by seed (cliffwatch_runner.build.layouts)."""
    one_layout: str | None = None
    """Why it has no such images, if some were asked for."""
    matched: Mapping[int, Path] = field(default_factory=dict)
    """Entries of the images with base's addresses, by the seed of base's image."""
    unmatched: str | None = None
    """Why it has no such images, if some were asked for."""
    links: tuple[float, ...] = ()
    """Seconds of each link that was made now."""

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
    tree: Tree,
    revision: Revision,
    *,
    fragments: Fragments,
    toolchain: Toolchain,
    settings: BuildSettings,
    layouts: Sequence[int] = (),
    matched: Matched | None = None,
) -> Kernel | Failure:
    """Returns the kernel of a revision and its images in `layouts`, from the cache or built now.

    So are those `matched` to images of base, which must be in the cache. A kernel that cannot be linked in
    them is returned without, and says why. After a failure the log is kept in `failures/`, and the next call
    tries again: tools and memory may be others by then.

    Raises Stopped if the user asked to stop, OSError if the cache cannot be written.
    """
    digest = kernel_digest(revision, fragments, toolchain, settings.trust)
    folder = settings.built / "kernels" / digest
    build = _Build(tree, revision, fragments, toolchain, settings, folder, layouts, matched)
    kernel = build.cached()
    if kernel is not None:
        return kernel
    with settings.hold_lock(digest, "kernel"):
        return build.cached() or build.make()


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


def link_seconds(kernel: Kernel, settings: BuildSettings) -> float | None:
    """Returns how long a link of the kernel in another layout took, on average; None without any."""
    records = [_ENTRY.read(folder, settings.uses) for folder in kernel.layouts.values()]
    seconds = [record.seconds for record in records if record is not None]
    return sum(seconds) / len(seconds) if seconds else None


@dataclass(frozen=True, slots=True)
class _Build:
    """The build of one kernel, into the entry `folder`, and of its images in `layouts`."""

    tree: Tree
    revision: Revision
    fragments: Fragments
    toolchain: Toolchain
    settings: BuildSettings
    folder: Path
    layouts: Sequence[int]
    matched: Matched | None
    began: float = field(default_factory=clock.monotonic)
    links: list[float] = field(default_factory=list)
    """Seconds of each link so far."""
    host_failures: list[Failure] = field(default_factory=list)
    """Of links: they say nothing about the kernel."""

    def cached(self) -> Kernel | None:
        """Returns the kernel if it and all its images are in the cache."""
        kernel = cached_kernel(self.folder, self.settings)
        layouts, matched = self._found(self._layout_folders), self._found(self._matched_folders)
        if kernel is None or len(layouts) < len(self.layouts) or len(matched) < len(self._matched_folders):
            return None
        return replace(kernel, layouts=layouts, matched=matched)

    def make(self) -> Kernel | Failure:
        known = cached_kernel(self.folder, self.settings)
        with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
            given = Path(temporary)
            (given / "fragment").write_text(self.fragments.text)
            with lock_worktree(worktree_name(self.toolchain), self.settings, given) as worktree:
                log = worktree.log("build")
                failure = self._compile(worktree, log) or (
                    self._store(self.folder, worktree, log) if known is None else None
                )
                if failure is not None:
                    save_failure_log(failure, log, self.settings.cache, self.folder.name)
                    return failure
                why, unmatched = self._link_images(worktree)
                if self.host_failures:
                    return self.host_failures[0]
        kernel = cached_kernel(self.folder, self.settings, was_there=known is not None)
        assert kernel is not None
        return replace(
            kernel,
            layouts=self._found(self._layout_folders) if why is None else {},
            one_layout=why,
            matched=self._found(self._matched_folders) if unmatched is None else {},
            unmatched=unmatched,
            links=tuple(self.links),
        )

    def _compile(self, worktree: Worktree, log: Path) -> Failure | None:
        self.settings.report_progress(None, "checking out")
        failure = worktree.check_out(self.tree, self.revision)
        if failure is None:
            failure = remove_padding(worktree, log)
        if failure is None:
            failure = configure(worktree, self.fragments, self.toolchain, log)
        if failure is None:
            steps = Steps(worktree.folder / "steps", self.settings.report_progress)
            failure = worktree.make([*kernel_make(worktree, self.toolchain), "bzImage"], log, steps.count)
        if failure is None:
            steps.remember()
            failure = dump_btf(worktree, log)
        return failure

    def _link_images(self, worktree: Worktree) -> tuple[str | None, str | None]:
        """Links what is missing. Returns why its layouts cannot be linked, and why none matches base's."""
        layouts, matched = self._missing(self._layout_folders), self._missing(self._matched_folders)
        if not layouts and not matched:
            return None, None
        log, ended = worktree.log("relink"), [clock.monotonic()]

        def store(folders: Mapping[int, Path], seed: int) -> Failure | None:
            ended.append(clock.monotonic())
            self.links.append(ended[-1] - ended[-2])
            return self._store(folders[seed], worktree, log, self.links[-1])

        kernel = prepare_relink(worktree, kernel_make(worktree, self.toolchain), self.folder, log)
        if isinstance(kernel, Failure):
            why = self._reason(remove_padding(worktree, log) or kernel, log)
            return why, why
        failure = relink(kernel, layouts, partial(store, self._layout_folders))
        why = self._reason(failure, log)
        if failure is None and matched and self.matched is not None:
            wanted = replace(self.matched, seeds=matched)
            failure = relink_matched(kernel, wanted, partial(store, self._matched_folders))
        unmatched = self._reason(failure, log)
        return self._reason(remove_padding(worktree, log), log) or why, unmatched

    def _reason(self, failure: Failure | None, log: Path) -> str | None:
        if failure is None:
            return None
        if failure.whose == "host":
            self.host_failures.append(failure)
        save_failure_log(failure, log, self.settings.cache, f"{self.folder.name}-layouts")
        return failure.message

    def _store(
        self, folder: Path, worktree: Worktree, log: Path, seconds: float | None = None
    ) -> Failure | None:
        """Stores an image that took `seconds`; None for the time since the build began."""
        took = clock.monotonic() - self.began if seconds is None else seconds
        describe = partial(_record, self.fragments, self.revision, took)
        failure = _ENTRY.store(folder, worktree.output, log, describe)
        if failure is not None:
            worktree.distrust_output()
        return failure

    @property
    def _layout_folders(self) -> Mapping[int, Path]:
        return {seed: layout_entry(self.folder, str(seed)) for seed in self.layouts}

    @property
    def _matched_folders(self) -> Mapping[int, Path]:
        if self.matched is None:
            return {}
        return {seed: self.matched.entry(self.folder, seed) for seed in self.matched.seeds}

    def _found(self, folders: Mapping[int, Path]) -> Mapping[int, Path]:
        """Returns the entries that are in the cache."""
        in_cache = {seed: _ENTRY.read(folder, self.settings.uses) for seed, folder in folders.items()}
        return {seed: folders[seed] for seed, record in in_cache.items() if record is not None}

    def _missing(self, folders: Mapping[int, Path]) -> tuple[int, ...]:
        found = self._found(folders)
        return tuple(seed for seed in folders if seed not in found)


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
